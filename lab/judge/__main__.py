"""Runs the judge's server: `python -m streamlab.lab.judge`; see `streamlab.lab.judge.server`."""

from streamlab.lab.judge.server import serve

if __name__ == "__main__":
    serve()
