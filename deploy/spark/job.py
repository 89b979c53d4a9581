"""What spark-submit runs: the command line of callboard, with the words that follow."""

from callboard.cli import main

if __name__ == "__main__":
    main()
