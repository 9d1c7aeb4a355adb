"""Declared joins give the answers of pandas, on the reference engine and on all cores."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from streamlab import frame, join
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns, DGSProgram, Workload
from tests.engines.multicore.native_runs import check_native
from tests.workloads.join_tables import (
    latest_before,
    left_within,
    pairs_within,
    random_rows,
    records,
)

SELECT = {
    "left_at": "left.at",
    "amount": "left.amount",
    "amount_text": "left.amount_text",
    "right_at": "right.at",
    "price": "right.price",
    "price_text": "right.price_text",
    "price_part": "right.price_part",
}
PANDAS = ["user", "at", "amount", "amount_text", "at_right", "price", "price_text", "price_part"]


def tables(left: pd.DataFrame, right: pd.DataFrame) -> dict[str, Any]:
    return {"left": frame(left, ts="at"), "right": frame(right, ts="at")}


def joined(left: pd.DataFrame, right: pd.DataFrame, **how: Any) -> Workload:
    return join(**tables(left, right), on="user", select=SELECT, name="joined", **how)


def texts(dataset: Dataset, name: str) -> list[str]:
    paths = [file.path for file in dataset.dictionaries if file.name == name]
    return pq.read_table(paths[0]).column("text").to_pylist() if paths else []


def decoded(subject: Workload, dataset: Dataset, answer: Columns) -> list[tuple[Any, ...]]:
    """The answer in the columns of `PANDAS`, with texts, and None for what a missing partner lacks."""
    columns = {name: values.tolist() for name, values in answer.items()}
    for name in ("user", "amount_text", "price_text"):
        known = texts(dataset, name)
        columns[name] = [known[i] if i >= 0 else None for i in columns[name]]
    for row, matched in enumerate(columns.get("matched", [])):
        if not matched:
            # The columns of a table without rows are texts.
            price = 0 if texts(dataset, "price_text") else -1
            assert (columns["right_at"][row], columns["price"][row]) == (0, price)
            for name in ("right_at", "price", "price_part"):
                columns[name][row] = None
    names = ["user", *SELECT]
    return sorted(zip(*(columns[name] for name in names), strict=True), key=repr)


def check(
    subject: Workload, tmp_path: Path, expected: pd.DataFrame, *, native: bool = True
) -> Columns:
    """Run on both engines; all answers equal the expected rows."""
    dataset = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data"))
    data = dataset.load()
    answer = subject.oracle(data)
    assert decoded(subject, dataset, answer) == records(expected, PANDAS)
    variant = "dgs" if isinstance(subject.program, DGSProgram) else "vsn"
    if native:  # compiling takes seconds
        check_native(variant, subject, data, answer, workers=2)
    return answer


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("within", "before", "after"), [(20, 20, 20), ((0, 35), 0, 35), ((7, 0), 7, 0)]
)
def test_an_inner_join_gives_all_pairs_in_the_bounds(tmp_path, seed, within, before, after):
    left, right = random_rows(seed, 60, 300, "amount"), random_rows(seed + 9, 50, 300, "price")
    expected = pairs_within(left, right, before, after)
    assert len(expected) > 5
    answer = check(joined(left, right, within=within), tmp_path, expected, native=seed == 0)
    later = [max(pair) + 1 for pair in zip(answer["left_at"], answer["right_at"], strict=True)]
    assert answer["ts"].tolist() == later


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("within", "before", "after", "every"),
    [(20, 20, 20, 2), ((0, 15), 0, 15, 4), ((9, 0), 9, 0, 1)],
)
def test_a_left_join_also_gives_rows_without_partner_when_their_bound_has_passed(
    tmp_path, seed, within, before, after, every
):
    left, right = random_rows(seed, 60, 300, "amount"), random_rows(seed + 9, 30, 300, "price")
    expected = left_within(left, right, before, after, every)
    assert expected["at_right"].isna().sum() > 3
    subject = joined(left, right, how="left", within=within, every=every)
    answer = check(subject, tmp_path, expected, native=seed == 0)
    alone = ~answer["matched"]
    leaves = (answer["left_at"] + after) // every * every + every
    assert answer["ts"][alone].tolist() == leaves[alone].tolist()


@pytest.mark.parametrize("every", [1, 7])
def test_a_flushed_left_join_gives_every_left_row(tmp_path, every):
    left, right = random_rows(5, 60, 300, "amount"), random_rows(6, 30, 300, "price")
    pairs = pairs_within(left, right, 20, 20)
    alone = left[~left.index.isin(pairs["row"])]
    expected = pd.concat([pairs, alone]).drop(columns="row")
    assert len(expected) > len(left_within(left, right, 20, 20, every))
    subject = joined(left, right, how="left", within=20, every=every, at_end="flush")
    check(subject, tmp_path, expected, native=False)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bound", [None, 25, 0])
def test_an_as_of_join_gives_each_left_row_its_latest_right_row(tmp_path, seed, bound):
    left, right = random_rows(seed, 60, 200, "amount"), random_rows(seed + 9, 40, 200, "price")
    expected = latest_before(left, right, bound)
    assert 0 < expected["at_right"].isna().sum() < len(left)
    subject = joined(left, right, how="asof", within=bound)
    answer = check(subject, tmp_path, expected, native=seed == 0)
    assert sorted(answer["ts"]) == sorted(left["at"])


@pytest.mark.parametrize("how", ["inner", "left", "asof"])
@pytest.mark.parametrize("empty", ["left", "right"])
def test_an_empty_side_has_no_partners(tmp_path, how, empty):
    left, right = random_rows(1, 20, 100, "amount"), random_rows(2, 20, 100, "price")
    left, right = (left[:0], right) if empty == "left" else (left, right[:0])
    within = {"within": 10} if how != "asof" else {}
    nothing = pairs_within(left, right, 10, 10)
    expected = {
        "inner": nothing,
        "left": left_within(left, right, 10, 10, 1),
        "asof": latest_before(left, right, None),
    }[how]
    check(joined(left, right, how=how, **within), tmp_path, expected, native=empty == "right")


def test_a_table_without_times_is_a_side_table(tmp_path):
    left = random_rows(3, 30, 100, "amount")
    right = random_rows(4, 4, 1, "price").assign(user=["ann", "bob", "cleo", "eve"])
    subject = join(
        frame(left, ts="at"),
        frame(right.drop(columns="at"), ts="@start"),
        on="user",
        how="asof",
        select={k: v for k, v in SELECT.items() if k != "right_at"} | {"right_at": "right.@start"},
        name="joined",
    )
    expected = left.merge(right.drop(columns="at"), on="user", how="left")
    expected["at_right"] = expected["price"].where(expected["price"].isna(), left["at"].min())
    assert expected["price"].isna().any() and expected["price"].notna().any()
    check(subject, tmp_path, expected)


def test_a_right_row_of_the_same_time_is_a_partner_and_the_last_of_them_wins(tmp_path):
    left = pd.DataFrame({"at": [5, 9], "user": ["a", "a"], "x": [1, 2]})
    right = pd.DataFrame({"at": [5, 5, 10], "user": ["a", "a", "a"], "y": [7, 8, 9]})
    subject = join(**tables(left, right), on="user", how="asof", name="ties")
    dataset = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data"))
    answer = subject.oracle(dataset.load())
    assert list(answer) == ["ts", "user", "at", "x", "right_at", "y", "matched"]
    assert answer["y"].tolist() == [8, 8] and answer["right_at"].tolist() == [5, 5]


def test_more_partners_than_declared_end_a_compiled_run(tmp_path):
    rows = 400_000  # more than a block of outputs holds
    left = pd.DataFrame({"at": [5], "user": ["a"], "x": [1]})
    right = pd.DataFrame({"at": [1] * rows, "user": ["a"] * rows, "y": range(rows)})
    subject = join(**tables(left, right), on="user", how="left", within=9, most=2, name="many")
    data = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data")).load()
    with pytest.raises(Exception, match="beyond max_outputs"):
        check_native("vsn", subject, data, workers=1)
