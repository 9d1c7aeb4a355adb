"""The measured process: `python -m lab.trial SPEC.json RESULT.json`.

What is imported and prepared stays until the end, so Python's garbage collector need not look at
it: a tenth of the time of a short trial. `lab.trial.drive` has it run with the engine.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()
    from lab.trial.process import main

    main(sys.argv[1:])
