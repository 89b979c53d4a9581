"""What spark-submit runs: callboard's command line, with the given arguments."""

from callboard.cli import main

if __name__ == "__main__":
    main()
