"""Polars in its own environment: right on every workload that it does not lack."""

import subprocess
import sys

from streamlab.engines.polars.adapter import PolarsEngine
from tests.engines.own_environment import made

pytestmark = made(PolarsEngine)

IN_A_PROCESS = """
import sys
from pathlib import Path
from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.environment import activate
from streamlab.engines.polars.adapter import PolarsEngine
from streamlab.workloads.registry import workload

activate("polars")
assert "polars" not in sys.modules

def run(workers):
    setting = Setting(variant="memory", workers=workers)
    folder = Path(sys.argv[1]) / str(workers)
    return run_case(PolarsEngine(), workload("event_window"), CASES[0], setting, folder)

found = run(3)
assert (found.unsupported, found.problems) == (None, ()), found
print(sys.modules["polars"].thread_pool_size())
print(run(2).unsupported)
"""


def test_polars_has_as_many_threads_as_workers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    threads, refusal = done.stdout.splitlines()
    assert threads == "3"
    assert refusal.startswith("polars already runs with 3 threads in this process, not 2")
