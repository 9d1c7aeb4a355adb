"""The measured process: `python -m streamlab.lab.trial SPEC.json RESULT.json`.

What is imported here stays until the end, so Python's garbage collector need not look at it. Before
an engine, an oracle or a generator does anything, `streamlab.lab.trial.collector` switches it on again.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()
    from streamlab.lab.trial.process import main

    main(sys.argv[1:])
