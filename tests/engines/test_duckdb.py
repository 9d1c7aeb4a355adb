"""DuckDB in its own environment: right on every workload that it does not lack."""

import subprocess
import sys

from streamlab.engines.duckdb.adapter import DuckdbEngine
from tests.engines.own_environment import made

pytestmark = made(DuckdbEngine)

IN_A_PROCESS = """
import sys
from pathlib import Path
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.duckdb.adapter import DuckdbEngine
from streamlab.engines.environment import activate
from streamlab.engines.protocol import Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.registry import workload

activate("duckdb")
found, folder = workload("event_window"), Path(sys.argv[1])
task = Task(
    workload=found,
    dataset=write_dataset(ordinary_input(found), found.name, folder),
    variant="memory",
    workers=3,
    batch=1,
    scratch=folder,
)
_, connection = DuckdbEngine().load(task)
print(*connection.execute("SELECT current_setting('threads')").fetchone())
connection.close()
"""


def test_duckdb_has_as_many_threads_as_workers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "3"
