"""Runs the measured process: `python -m streamlab.lab.trial SPEC.json EVIDENCE_FOLDER`.

Disables Python's garbage collector during imports, since imported objects stay until the end.
`streamlab.lab.trial.collector` enables it before an engine, an oracle or a generator starts.
"""

import gc
import sys

if __name__ == "__main__":
    gc.disable()
    from streamlab.lab.trial.process import main

    main(sys.argv[1:])
