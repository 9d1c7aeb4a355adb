"""Fields that a function computes from texts, called once for each distinct text."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab import join
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, content_key, csv
from tests.workloads.datasets.tables.programs import columns, made, pipeline, text

LINES = ("t,plan,title", "1,pro-1,Ab", "2,free,c d", "3,pro-1,Ab", "4,pro-20,E")


def is_paid(plan: str) -> bool:
    return plan.startswith("pro")


def number(plan: str) -> int:
    return int(plan.partition("-")[2] or 0)


def derived(folder: Path, *lines: str, **derive: Any) -> Table:
    return csv(
        text(folder / "a.csv", *(lines or LINES)),
        ts="t",
        derive=derive,
        ids=("word",) if "word" in derive else (),
    )


def test_results_are_columns_of_each_type(catalog: Catalog, tmp_path: Path):
    table = derived(
        tmp_path,
        paid=("plan", is_paid),
        number=("plan", number),
        half=("plan", lambda plan: number(plan) / 2),
        word=("title", lambda title: title.lower().split()[0]),
    )
    fields = {"paid": np.bool_, "number": np.int32, "half": np.float64, "word": np.int32}
    answer = columns(table, catalog, **fields)
    assert answer == {
        "ts": [1, 2, 3, 4],
        "paid": [True, False, True, True],
        "number": [1, 0, 1, 20],
        "half": [0.5, 0.0, 0.5, 10.0],
        "word": [0, 1, 0, 2],
    }
    dataset = made(table, pipeline(**fields), catalog)
    (path,) = (file.path for file in dataset.dictionaries if file.name == "word")
    assert pq.read_table(path)["text"].to_pylist() == ["ab", "c", "e"]


def test_the_function_is_called_once_for_each_distinct_text(catalog: Catalog, tmp_path: Path):
    calls: list[str] = []

    def length(text_: str) -> int:
        calls.append(text_)
        return len(text_)

    lines = ("t,plan", *(f"{n},{'x' * (n % 3 + 1)}" for n in range(200_000)))
    dataset = made(
        derived(tmp_path, *lines, size=("plan", length)), pipeline(size=np.int8), catalog
    )
    assert sorted(calls) == ["x", "xx", "xxx"]
    (stream,) = dataset.load().streams
    assert stream.payload["size"].tolist() == [n % 3 + 1 for n in range(200_000)]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (
            lambda plan: {}[plan],
            "cannot be derived from 'free': KeyError: 'free', in .*test_derived",
        ),
        (
            lambda plan: 1.5 if plan == "free" else 1,
            "derived from 'free' is 1.5, which is not a valid",
        ),
        (lambda plan: plan, "derived from 'pro-1' is 'pro-1', which is not a valid int32"),
        (lambda plan: None, "derived from 'pro-1' is None, which"),
    ],
)
def test_an_error_names_file_row_and_value(
    catalog: Catalog, tmp_path: Path, function: Any, why: str
):
    def checked(plan: str) -> Any:
        return 1 if plan != "free" and "free" in why else function(plan)

    row = 3 if "free" in why else 2
    with pytest.raises(DatasetError, match=rf"a\.csv: row {row}, column plan: size {why}"):
        made(derived(tmp_path, size=("plan", checked)), pipeline(size=np.int32), catalog)


def test_a_missing_text_has_no_result(catalog: Catalog, tmp_path: Path):
    lines = ("t,plan", "1,pro", "2,", "3,free")
    table = derived(tmp_path, *lines, size=("plan", len))
    with pytest.raises(DatasetError, match="row 3, column plan: is empty"):
        made(table, pipeline(size=np.int32), catalog)
    fields = {"size": np.int32, "size_missing": np.bool_}
    assert columns(table, catalog, **fields)["size"] == [3, 0, 4]


def test_the_code_of_the_function_is_part_of_the_content(tmp_path: Path):
    def other(plan: str) -> bool:
        return plan.startswith(("pro", "team"))

    first, again = (derived(tmp_path, paid=("plan", is_paid)) for _ in range(2))
    assert content_key(first) == content_key(again)
    assert content_key(first) != content_key(derived(tmp_path, paid=("plan", other)))


def test_a_join_reads_them_and_finds_their_types(tmp_path: Path):
    left = derived(tmp_path, paid=("plan", is_paid), price=("plan", lambda p: number(p) / 4))
    right = csv(text(tmp_path / "b.csv", "u,name", "2,pro-1", "2,free"), ts="u")
    select = {"paid": "left.paid", "cost": "left.price"}
    subject = join(left, right, on=("plan", "name"), within=9, select=select, name="n")
    data = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data")).load()
    answer = subject.oracle(data)
    assert sorted(zip(answer["paid"].tolist(), answer["cost"].tolist(), strict=True)) == [
        (False, 0.0),
        (True, 0.25),
        (True, 0.25),
    ]


def test_wrong_declarations_are_refused(catalog: Catalog, tmp_path: Path):
    with pytest.raises(
        DatasetError, match="derive has 'plan' for size; give a column and a function"
    ):
        derived(tmp_path, size="plan")
    with pytest.raises(DatasetError, match="derive names other, which is not a field"):
        made(derived(tmp_path, other=("plan", len)), pipeline(size=np.int32), catalog)
    with pytest.raises(DatasetError, match="no column shape for field size"):
        made(derived(tmp_path, size=("shape", len)), pipeline(size=np.int32), catalog)
