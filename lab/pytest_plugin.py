"""Runs trials and the conformance suite from pytest, with two fixtures: `lab_trial` and `lab_conform`.

    def test_my_engine_keeps_up(lab_trial):
        row = lab_trial("event_window", engine="mine", workers=2, events=100_000)
        assert row["throughput_eps"] > 1e6

`lab run` runs the cell in its own process, so the test session does not disturb the measurement.
A trial whose answer is not verified fails the test with the reason.

    def test_my_engine_answers_right(lab_conform):
        lab_conform("mine", "event_window")

This test runs the conformance suite, as `lab conform` does. `pytest --lab-engine mine` needs no test
file: it collects one item per variant and workload, and skips unsupported workloads.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from streamlab.lab.conform.items import LabConform, collect_items
from streamlab.lab.matrix.toml_table import write_toml
from streamlab.results import schema
from streamlab.results.schema import columns_of
from streamlab.results.store import read_run
from streamlab.workloads.default_folders import catalogue

DATA_VARIABLE = "LAB_DATA"
"""Environment variable with the folder of datasets."""
LOG_LINES = 20
"""Number of lines, from the end of the lab's output, that a failure shows."""

Row = Mapping[str, object]


class LabTrial:
    """The fixture `lab_trial`: a function that runs one trial."""

    def __init__(self, data: Path, folders: pytest.TempPathFactory) -> None:
        self._data = data
        self._folders = folders

    def __call__(
        self,
        workload: str,
        *,
        engine: str = "multicore",
        variant: str | None = None,
        workers: int = 1,
        batch: int | None = None,
        events: int | None = None,
        params: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        seed: int | None = None,
        dataset: str | None = None,
        options: Mapping[str, object] | None = None,
        load: Mapping[str, object] | None = None,
        timeout_s: float = 120.0,
    ) -> Row:
        """Run one trial; fail the test if it cannot run or its answer is not verified.

        Arguments are as in a matrix; None means the matrix's default. `load` is a `[load]` table with
        one rate.
        """
        if load is not None and "search" in load:
            pytest.fail(
                "lab_trial runs one trial; put a search in a matrix, for `lab run`", pytrace=False
            )
        matrix = {
            "run": {"name": "pytest", "repetitions": 1, "timeout_s": timeout_s},
            "workload": [
                {
                    "name": workload,
                    "dataset": dataset,
                    "events": events,
                    "params": params,
                    "query": query,
                    "seed": seed,
                }
            ],
            "engine": [
                {
                    "name": engine,
                    "variants": None if variant is None else [variant],
                    "workers": [workers],
                    "batch": None if batch is None else [batch],
                    "options": options,
                }
            ],
            "load": load,
        }
        return _run(write_toml(matrix), self._folders.mktemp("lab_trial"), self._data)


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the items of `--lab-engine`."""
    engines = session.config.getoption("--lab-engine")
    if engines:
        items += collect_items(session, engines, session.config.getoption("--lab-workload"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("lab")
    group.addoption(
        "--lab-engine",
        metavar="NAME",
        action="append",
        default=[],
        help="run the conformance suite on this engine; repeatable",
    )
    group.addoption(
        "--lab-workload",
        metavar="NAME",
        action="append",
        default=[],
        help="with --lab-engine: only this workload; repeatable",
    )
    group.addoption(
        "--lab-data",
        metavar="DIR",
        type=Path,
        help=f"folder of datasets for lab_trial (default: ${DATA_VARIABLE}, else the default "
        "catalogue)",
    )


@pytest.fixture
def lab_trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LabTrial:
    """Run one cell in a fresh process and return its row; see `LabTrial`."""
    option: Path | None = request.config.getoption("--lab-data")
    data = option or catalogue(request.config.rootpath).path
    return LabTrial(data.absolute(), tmp_path_factory)


@pytest.fixture
def lab_conform() -> "LabConform":
    """Run the conformance suite on an engine; see `streamlab.lab.conform.items.LabConform`."""
    return LabConform()


def _run(matrix: str, folder: Path, data: Path) -> Row:
    """Run a matrix of one cell; return its row, or fail the test."""
    path = folder / "matrix.toml"
    path.write_text(matrix, encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "streamlab", "run", str(path), "--out", str(folder / "runs")],
        env={**os.environ, DATA_VARIABLE: str(data)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    lines = process.stdout.strip().splitlines()
    run_dir = Path(lines[-1]) if lines else None
    if run_dir is None or not run_dir.is_dir():
        output = "\n".join((process.stdout + process.stderr).strip().splitlines()[-LOG_LINES:])
        pytest.fail(f"lab run ended with code {process.returncode}:\n{output}", pytrace=False)
    rows = read_run(run_dir).rows
    if len(rows) != 1:
        pytest.fail(
            f"lab_trial runs one trial, but got {len(rows)}; give one rate in load", pytrace=False
        )
    row = columns_of(rows[0])
    if row["status"] not in schema.VERIFIED:
        pytest.fail(
            f"{row['cell']}: {row['status']}: {row['reason']} ({run_dir / str(row['log'])})",
            pytrace=False,
        )
    return row
