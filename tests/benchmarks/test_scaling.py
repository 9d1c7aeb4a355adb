"""The scaling program: its output for a run, and its needs on a bare machine."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution

import pytest

from benchmarks.keyed_count import WORKLOAD
from benchmarks.scaling import MATRIX, NEEDED, TREE, curves, missing, write_entry_points
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix
from streamlab.workloads.control_group import usable_cores_here
from tests.results.records import trial_row


def row(workers, eps, *, workload="wordcount", status="ok", apart_ns=40.0):
    columns = {
        "workload": workload,
        "workload_label": None,
        "variant": "vsn",
        "workers": workers,
        "status": status,
        "throughput_eps": eps if status == "ok" else None,
        "cpu_s": 2.0,
        "events": 1_000_000,
        "core_to_core_before_ns": apart_ns,
    }
    return trial_row(columns)


def test_a_curve_has_rates_speed_up_cpu_time_and_the_distance_of_cores():
    lines = curves([row(1, 1e6), row(1, 3e6), row(1, 2e6), row(2, 3e6)])
    assert lines[1] == "wordcount on vsn"
    assert " ".join(lines[3].split()) == "1 2,000,000 1,000,000 3,000,000 1.00 2000.0 40 3"
    assert lines[4].split()[4] == "1.50"
    assert lines[5].startswith("no fit: the law needs")


def test_four_numbers_of_workers_are_fitted_and_a_wrong_answer_is_left_out():
    rows = [row(n, 1e6 * n / (1 + 0.1 * (n - 1))) for n in (1, 2, 4, 8, 16)]
    law = curves([*rows, row(32, 1e12, status="wrong_output")])[-1]
    assert law.startswith("law: contention 0.1000 [")
    assert law.endswith("farthest from the law 0%")


def test_a_package_that_is_not_there_is_named():
    assert missing((*NEEDED, "no_such_package")) == ["no_such_package"]


def test_a_source_tree_announces_what_an_installed_lab_does(tmp_path):
    write_entry_points(tmp_path / "stream_lab-0.dist-info")
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = Distribution.at(tmp_path / "stream_lab-0.dist-info").entry_points
    for group, entries in project["entry-points"].items():
        if group.startswith("lab."):
            assert {e.name: e.value for e in found.select(group=group)} == entries


def test_every_engine_of_the_matrix_has_cells_and_workers_double():
    cells = expand(read_matrix(MATRIX), ())
    assert {cell.workers for cell in cells} >= {1, max(1, int(usable_cores_here()))}
    assert {cell.variant for cell in cells} == {"dgs", "vsn", "sn", "ordered"}
    assert all(cell.refusal is None for cell in cells)


@pytest.mark.parametrize("package", ["msgspec", "numba"])
def test_a_machine_that_lacks_a_package_gets_the_command_that_installs_it(package, tmp_path):
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    command = [sys.executable, "-m", "benchmarks.scaling"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=TREE, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == f"missing: {package}; remedy: pip install {package}\n"


def test_the_keyed_count_is_what_a_dictionary_counts():
    from streamlab.workloads.datasets.builder import generate_input

    params = WORKLOAD.params({"keys": 7, "streams": 3})
    data = generate_input(WORKLOAD, params, 700_000, seed=3)
    counts = {}
    for stream in data.streams:
        for ts, key in zip(stream.ts.tolist(), stream.payload["id"].tolist(), strict=True):
            at = (ts // 100_000 + 1) * 100_000, key
            counts[at] = counts.get(at, 0) + 1
    last = max(int(stream.ts[-1]) for stream in data.streams)
    answer = WORKLOAD.oracle(data)
    found = zip(*(answer[name].tolist() for name in ("ts", "key", "count")), strict=True)
    assert {(ts, key): n for ts, key, n in found} == {
        at: n for at, n in counts.items() if at[0] <= last
    }
