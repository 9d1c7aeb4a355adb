"""The measured process: `python -m lab.trial SPEC.json RESULT.json`."""

import sys

from lab.trial.process import main

if __name__ == "__main__":
    main(sys.argv[1:])
