"""`python -m lab.judge`: see `lab.judge.server`."""

from lab.judge.server import serve

if __name__ == "__main__":
    serve()
