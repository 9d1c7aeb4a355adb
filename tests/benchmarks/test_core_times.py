"""`make bench` times the core by pytest-benchmark, in a file that gates read."""

import os
from pathlib import Path

from streamlab.engines.multicore import _bench
from streamlab.results.exchange.pytest_benchmark_file import read_pytest_benchmark
from tests.processes import run_python

ROOT = Path(__file__).parents[2]


def test_a_structure_of_the_core_is_timed_and_its_file_is_read(tmp_path):
    name = f"benchmarks/test_core.py::test_core[{_bench.names()[0]}]"
    file = tmp_path / "bench.json"
    # A worker of xdist passes its own variables on, and pytest-benchmark times nothing there.
    environ = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    words = ("-m", "pytest", "-n", "0", name, f"--benchmark-json={file}")
    done = run_python(*words, cwd=ROOT, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = read_pytest_benchmark(file).trials[name]
    assert trial.seconds > 0
