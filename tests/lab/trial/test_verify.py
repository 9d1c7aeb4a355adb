"""The text of a row about floats: their comparison, their distance, and why bits differ."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamlab import rows as table
from streamlab import workload
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.judge.verdict import NOT_DETERMINISTIC, check_answer
from streamlab.reports.summary import rounded_answers
from streamlab.results.schema import COLUMNS
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import EXACT, Alphabet, Columns, Input, Stream, Tolerance, Workload
from tests.results.records import trial_row
from tests.workloads.model.float_programs import EXACTLY, ROUNDED


def nothing() -> list[dict[str, Any]]:
    return []


def of(program: Any = ROUNDED, **declared: Any) -> Workload:
    return workload(program, input=table(nothing), **declared)


def written(folder: Path, *numbers: float) -> Dataset:
    """Return a dataset of numbers in one stream, and a mark behind them in another."""
    count = len(numbers)
    added = Stream(
        name="add",
        kinds=(0,),
        ts=np.arange(count),
        payload={"v": np.array(numbers, dtype=np.float64)},
    )
    mark = Stream(name="mark", kinds=(1,), ts=np.array([count]), payload={"v": np.zeros(1)})
    data = Input(alphabet=Alphabet(kinds=("add", "mark"), keys=1), streams=(added, mark))
    return write_dataset(data, "rounded_sum", folder)


def summed(ts: int, value: float) -> Columns:
    return {"ts": np.array([ts]), "sum": np.array([value])}


def checked(folder: Path, found: Workload, value: float, *numbers: float) -> dict[str, Any]:
    """Return the columns of the comparison of a sum with the reference engine's."""
    result: dict[str, Any] = {"warnings": None}
    check_answer(found, written(folder, *numbers), summed(len(numbers), value), result)
    assert set(result) <= {column.name for column in COLUMNS}
    return result


NUMBERS = 0.8, 0.7, 0.4
"""Of which the sum is 1.9 in this order, and 1.9000000000000001 in another."""


def test_a_sum_in_another_order_is_right_and_the_row_states_the_bound(tmp_path: Path):
    row = checked(tmp_path, of(), 0.8 + (0.7 + 0.4), *NUMBERS)
    assert row["difference"] is None
    assert row["floats"] == (
        "sum within 8.9e-16 of its size (4 events), largest difference 1.2e-16 of its size"
    )
    assert row["float_deviation"] == pytest.approx(2**-52 / (4 * 2**-52 * 1.9), rel=1e-6)


def test_the_same_sum_has_no_deviation(tmp_path: Path):
    row = checked(tmp_path, of(), 0.8 + 0.7 + 0.4, *NUMBERS)
    assert row["floats"].endswith("largest difference 0")
    assert row["float_deviation"] == 0


def test_a_wrong_sum_is_wrong_whatever_the_bound(tmp_path: Path):
    row = checked(tmp_path, of(), 1.9 - 0.4, *NUMBERS)
    assert row["wrong"] == 1
    assert json.loads(row["warnings"]) == [NOT_DETERMINISTIC]


def test_last_bits_that_must_be_equal_blame_the_order_and_no_random_numbers(tmp_path: Path):
    row = checked(tmp_path, of(tolerances={"sum": EXACT}), 0.8 + (0.7 + 0.4), *NUMBERS)
    assert row["floats"] == "exact"
    assert row["float_deviation"] is None
    assert "sum differs by 1 ulp (1.2e-16 of it)" in row["difference"]
    (why,) = json.loads(row["warnings"])
    assert why.startswith("the answers differ only in the last bits of floats, although")
    assert "random" not in why


def test_beyond_the_bound_the_exact_sum_and_a_tolerance_are_named(tmp_path: Path):
    row = checked(tmp_path, of(), 1.9 * (1 + 1e-12), *NUMBERS)
    (why,) = json.loads(row["warnings"])
    assert "the bound (sum within 8.9e-16 of its size (4 events)) if values cancel; add" in why
    assert "streamlab.workloads.model.exact_sum" in why


def test_a_declared_tolerance_stands_in_the_row(tmp_path: Path):
    found = of(tolerances={"sum": Tolerance(absolute=1e-3)})
    row = checked(tmp_path, found, 1.9005, *NUMBERS)
    assert row["difference"] is None
    assert row["floats"] == "sum within 0.001, largest difference 0.0005"


def test_sums_that_cancel_are_compared_at_the_size_of_the_input(tmp_path: Path):
    row = checked(tmp_path, of(), 0.1 + (0.2 - 0.3), 0.1, 0.2, -0.3)
    assert 0.1 + 0.2 - 0.3 != 0.1 + (0.2 - 0.3)
    assert row["difference"] is None


def test_an_exact_sum_is_exact_in_any_order(tmp_path: Path):
    row = checked(tmp_path, of(EXACTLY), math.fsum(NUMBERS), *NUMBERS)
    assert (row["difference"], row["floats"]) == (None, "exact")


def test_the_table_states_how_floats_were_compared():
    rows = [
        trial_row({"workload": "one", "floats": "exact", "float_deviation": None}),
        trial_row({"workload": "two", "floats": "sum within 1", "float_deviation": 0.5}),
        trial_row({"workload": "two", "floats": "sum within 2", "float_deviation": 0.25}),
        trial_row({"workload": "of an older lab"}),
    ]
    assert rounded_answers(rows) == {"two": "sum within 1"}
