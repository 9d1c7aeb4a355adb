"""A pytest plugin: `lab_trial` runs one cell of the lab inside a test, `lab_conform` the suite.

    def test_my_engine_keeps_up(lab_trial):
        row = lab_trial("event_window", engine="mine", workers=2, events=100_000)
        assert row["throughput_eps"] > 1e6

The cell is run by `lab run` in a process of its own, which starts the trial's: neither Spark, nor a
warning filter, nor a thread of the test session touches what is measured. The answer has been
compared with the oracle's; a trial that was not verified fails the test with its reason.

    def test_my_engine_answers_right(lab_conform):
        lab_conform("mine", "event_window")

runs the conformance suite, as `lab conform` does. Without any test, `pytest --lab-engine mine` has
an item for every variant of an engine on every workload; what it does not support is skipped.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from streamlab.lab.conform.items import LabConform

# The lab's name for where datasets are kept.
DATA_VARIABLE = "LAB_DATA"
LOG_LINES = 20
"""Last lines of the lab's messages that a failure shows."""

Row = Mapping[str, Any]


class LabTrial:
    """What the fixture `lab_trial` is: a function that runs one trial."""

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
        params: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        seed: int | None = None,
        dataset: str | None = None,
        options: Mapping[str, Any] | None = None,
        load: Mapping[str, Any] | None = None,
        timeout_s: float = 120.0,
    ) -> Row:
        """Run one trial; fail the test when it is not verified or cannot be run.

        What is None is as in a matrix that does not say it.

        Args:
            workload: its name.
            engine: its name.
            variant: of the engine.
            workers: degree of parallelism.
            batch: events per hand-over.
            events: of generated input, about.
            params: of the generator.
            query: query parameters of the workload.
            seed: of the generator.
            dataset: id of an input in the catalogue, instead of events, params and seed.
            options: of the engine.
            load: a `[load]` table of a matrix with one rate; None: catch-up.
            timeout_s: of the trial; generating its input is not part of it.

        Returns:
            The columns of `streamlab.results.schema` by name; the status is one of its VERIFIED.
        """
        if load is not None and "search" in load:
            pytest.fail("lab_trial runs one trial; a search belongs in a matrix", pytrace=False)
        tables: dict[str, Mapping[str, Any]] = {
            "[run]": {"name": "pytest", "repetitions": 1, "timeout_s": timeout_s},
            "[[workload]]": {
                "name": workload,
                "dataset": dataset,
                "events": events,
                "params": params,
                "query": query,
                "seed": seed,
            },
            "[[engine]]": {
                "name": engine,
                "variants": None if variant is None else [variant],
                "workers": [workers],
                "batch": None if batch is None else [batch],
                "options": options,
            },
        }
        if load is not None:
            tables["[load]"] = load
        return _run(_matrix(tables), self._folders.mktemp("lab_trial"), self._data)


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the items of `--lab-engine`."""
    engines = session.config.getoption("--lab-engine")
    if engines:
        from streamlab.lab.conform.items import collected

        items += collected(session, engines, session.config.getoption("--lab-workload"))


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
        help=f"where lab_trial keeps datasets (default: ${DATA_VARIABLE}, else the usual "
        "catalogue); generating one takes seconds, finding it none",
    )


@pytest.fixture
def lab_trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LabTrial:
    """Run one cell in a fresh process and return its row; see `LabTrial`."""
    given: Path | None = request.config.getoption("--lab-data")
    from streamlab.workloads.default_folders import catalogue  # not in every session

    data = given or catalogue(request.config.rootpath).path
    return LabTrial(data.absolute(), tmp_path_factory)


@pytest.fixture
def lab_conform() -> "LabConform":
    """Run the conformance suite on an engine; see `streamlab.lab.conform.items.LabConform`."""
    from streamlab.lab.conform.items import LabConform  # heavy, and this plugin is in every session

    return LabConform()


def _matrix(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables as TOML, without what is None."""
    lines: list[str] = []
    for head, table in tables.items():
        lines.append(head)
        for key, value in table.items():
            if value is not None:
                lines.append(f"{json.dumps(key)} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a value as TOML, which writes texts, numbers and truth values as JSON does."""
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def _run(matrix: str, folder: Path, data: Path) -> Row:
    """Run a matrix of one cell; return its row, or fail the test."""
    from streamlab.results import schema
    from streamlab.results.store import read_run

    path = folder / "matrix.toml"
    path.write_text(matrix, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "streamlab", "run", str(path), "--out", str(folder / "runs")],
        env={**os.environ, DATA_VARIABLE: str(data)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    run_dir = Path(lines[-1]) if lines else None
    if run_dir is None or not run_dir.is_dir():
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-LOG_LINES:])
        pytest.fail(f"lab run ended with code {done.returncode}:\n{said}", pytrace=False)
    rows = read_run(run_dir).rows
    if len(rows) != 1:
        pytest.fail(
            f"lab_trial runs one trial, this asks for {len(rows)}; give one rate", pytrace=False
        )
    row: Row = rows[0]
    if row["status"] not in schema.VERIFIED:
        pytest.fail(
            f"{row['cell']}: {row['status']}: {row['reason']} ({run_dir / str(row['log'])})",
            pytrace=False,
        )
    return row
