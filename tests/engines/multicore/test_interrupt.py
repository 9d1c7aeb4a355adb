"""Ctrl-C during a native run ends it at once, whatever the family, and leaves no thread behind."""

import signal
import subprocess
import sys
import threading

from tests.engines.multicore import long_runs
from tests.engines.multicore.long_runs import NAMES
from tests.processes import Popen

PATIENCE_S = 60
"""For one run, which would last minutes; it takes some milliseconds."""


def test_ctrl_c_ends_a_native_run_of_every_family_at_once():
    with Popen(
        [sys.executable, long_runs.__file__],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None

        def expect(wanted):
            watch = threading.Timer(PATIENCE_S, process.kill)
            watch.start()
            said = process.stdout.readline().rstrip()
            watch.cancel()
            assert said == wanted, (said, process.poll())

        for name in NAMES:
            expect(f"running {name}")
            process.send_signal(signal.SIGINT)
            expect(f"interrupted {name}")
        expect(f"running {NAMES[0]}")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt"), err
