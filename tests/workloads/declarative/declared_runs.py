"""Runs declared workloads on tables in memory, on the reference engine and on multicore."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from streamlab import frame
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.protocol import default_variant
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.decoded_answer import decode_answer
from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.model import Workload
from tests.engines.tasks import assert_equal, run_task, task_of

STATIONS = ("Pier 40", "Broadway", "Hudson St", "5 Av")
SECOND, MINUTE = 1_000, 60_000


def random_rides(seed: int, rows: int = 400, span_s: int = 7_200) -> pd.DataFrame:
    """Return rides in order of time, with ties; `at` is in ms since 1970."""
    chance = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "at": 1_772_900_000_000 + np.sort(chance.integers(0, span_s, rows)) * SECOND,
            "station": chance.choice(STATIONS, rows),
            "duration": chance.integers(30, 4_000, rows),
            "price": chance.integers(0, 2_000, rows) / 100,
            "bike": chance.integers(1, 40, rows),
            "paid": chance.integers(0, 2, rows).astype(bool),
        }
    )


def table_of(rides: pd.DataFrame, **meaning: Any) -> Table:
    """Return rides as a table in memory."""
    return frame(rides, ts="at", time_format="ms", **meaning)


def answer_of(
    subject: Workload, folder: Path, *, workers: Sequence[int] = (1, 2), events: int = 0
) -> pd.DataFrame:
    """Return the reference's answer, decoded except for times, after comparing multicore's with it."""
    dataset = ensure(
        subject, subject.params({}), events, 1, catalog=Catalog(root=folder / "catalogue")
    )
    expected = subject.oracle(dataset.load())
    variant = default_variant(MulticoreEngine().variants(), type(subject.program)).name
    for number in workers:
        task = task_of(subject, dataset, folder, variant, workers=number, batch=64)
        _, answer = run_task(MulticoreEngine(), task)
        assert_equal(expected, answer, subject.output)
    decoded = decode_answer(subject, dataset, expected)
    times = {column.name for column in subject.declaration.output if column.is_time}
    return pd.DataFrame(
        {name: expected[name] if name in times else values for name, values in decoded.items()}
    )


def assert_rows(
    actual: pd.DataFrame, expected: pd.DataFrame, *, ordered: bool = False, rtol: float = 1e-12
) -> None:
    """Compare two frames by value; the order of rows counts if `ordered`."""
    assert list(actual.columns) == list(expected.columns)
    assert len(expected), "an empty answer shows nothing"
    if not ordered:
        by = list(expected.columns)
        actual, expected = actual.sort_values(by), expected.sort_values(by)
    pd.testing.assert_frame_equal(
        actual.reset_index(drop=True),
        expected.reset_index(drop=True),
        check_dtype=False,
        rtol=rtol,
    )
