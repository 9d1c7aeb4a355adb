"""Runs the command line as `python -m streamlab`."""

from streamlab.lab.cli import main

if __name__ == "__main__":
    main()
