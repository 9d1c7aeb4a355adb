"""The measured process: `python -m lab.trial SPEC.json RESULT.json`.

What is imported here stays until the end, so Python's garbage collector need not look at it. Before
an engine, an oracle or a generator does anything, `lab.trial.collector` switches it on again.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()
    from lab.trial.process import main

    main(sys.argv[1:])
