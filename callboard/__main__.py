"""``python -m callboard`` is the command line."""

from callboard.cli import main

if __name__ == "__main__":
    main()
