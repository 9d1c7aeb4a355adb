"""Processes that a test starts, which end with it whatever becomes of it.

`with subprocess.Popen(...)` waits for its child on the way out. Where an assertion fails before the
child was told to end, that lasts until somebody ends all tests.
"""

import os
import subprocess
import sys
from contextlib import suppress

import psutil

_started: "list[Popen]" = []


def run_python(*words, environ=None, **more) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with words to its end, its output captured, with more in its environment.

    `more` is as for `subprocess.run`.
    """
    command = [sys.executable, *map(str, words)]
    env = {**os.environ, **(environ or {})}
    defaults = {"capture_output": True, "text": True, "check": False, "env": env}
    return subprocess.run(command, **{**defaults, **more})


class Popen(subprocess.Popen):
    """As `subprocess.Popen`; killed with all below it when its `with` or its test is left.

    Below it at that moment: what it started and what has lost its parent since is not found.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        _started.append(self)

    def __exit__(self, *raised):
        self.end()
        super().__exit__(*raised)

    def end(self):
        """Kill it and all below it, if it runs; wait until it has ended."""
        if self.poll() is None:
            root = psutil.Process(self.pid)
            with suppress(psutil.NoSuchProcess):
                for process in [*root.children(recursive=True), root]:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
            self.wait()
        _started.remove(self)


def end_started():
    """End what a test has started, and close the pipes to it."""
    for process in _started.copy():
        with process:
            pass
