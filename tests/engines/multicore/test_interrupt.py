"""Ctrl-C during a native run ends it at once, whatever the family, and leaves no thread behind."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.engines.multicore import long_runs
from tests.engines.multicore.long_runs import NAMES
from tests.processes import Popen

PATIENCE_S = 600
"""For one run, which would last minutes; it takes some milliseconds."""


def give_up(process, told):
    """End a process that says nothing; first have it say on stderr where it is."""
    for task in sorted(Path(f"/proc/{process.pid}/task").iterdir()):
        state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        told.append(f"thread {task.name}: {state}, {(task / 'schedstat').read_text().strip()}")
    process.send_signal(signal.SIGUSR1)
    time.sleep(1)
    process.kill()


def test_ctrl_c_ends_a_native_run_of_every_family_at_once():
    with Popen(
        [sys.executable, "-m", long_runs.__name__],
        cwd=Path(long_runs.__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None

        def expect(wanted):
            told = []
            watch = threading.Timer(PATIENCE_S, give_up, [process, told])
            watch.start()
            output = process.stdout.readline().rstrip()
            watch.cancel()
            if output != wanted:
                process.kill()
                _, err = process.communicate(timeout=PATIENCE_S)
                pytest.fail(f"it said {output!r} and not {wanted!r}; {err}\n" + "\n".join(told))

        for name in NAMES:
            expect(f"running {name}")
            process.send_signal(signal.SIGINT)
            expect(f"interrupted {name}")
        expect(f"running {NAMES[0]}")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt"), err
