"""Declaring the join of two tables: names, types and mistakes. `test_table_joins` checks the answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamlab import csv, join
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, TableSet
from streamlab.workloads.datasets.tables.header_types import read_header
from streamlab.workloads.model import ModelError
from streamlab.workloads.model.check import check
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.datasets.tables.programs import text

VIEWS = ("time,user,page id,ts,left", "2024-01-01 09:00,7,home,1,a", "2024-01-01 09:01,8,shop,2,b")
CLICKS = ("at,user,page id,paid", "2024-01-01 09:02,7,cart,true")


def views(folder: Path, **meaning: Any) -> Table:
    return csv(text(folder / "views.csv", *VIEWS), ts="time", **meaning)


def clicks(folder: Path, **meaning: Any) -> Table:
    return csv(text(folder / "clicks.csv", *CLICKS), ts="at", **meaning)


def test_a_file_of_four_lines_is_a_workload_with_paths_relative_to_it(tmp_path: Path):
    views(tmp_path)
    clicks(tmp_path)
    file = text(
        tmp_path / "clicked.py",
        "import streamlab as lab",
        'views, clicks = lab.csv("views.csv", ts="time"), lab.csv("clicks.csv", ts="at")',
        'WORKLOAD = lab.join(views, clicks, on="user", within="10 min")',
    )
    subject = workload(str(file))
    assert (subject.name, subject.title) == ("clicked", "inner join of views.csv and clicks.csv")
    assert isinstance(subject.source, TableSet)
    dataset = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data"))
    assert [stream.name for stream in dataset.streams] == ["left", "right"]
    answer = subject.oracle(dataset.load())
    assert list(answer) == [
        *("ts", "user", "time", "page_id", "ts_", "left_", "at", "right_page_id", "paid")
    ]
    assert answer["user"].tolist() == [7]
    assert (answer["at"] - answer["time"]).tolist() == [120_000]
    assert (answer["ts"] - answer["at"]).tolist() == [1]
    assert answer["paid"].tolist() == [True]
    dictionaries = {file.name for file in dataset.dictionaries}
    assert dictionaries == {"page_id", "left_", "right_page_id"}


def test_keys_of_other_names_and_types_are_joined_as_texts(tmp_path: Path):
    left = csv(text(tmp_path / "a.csv", "t,user", "1,7", "2,8"), ts="t")
    right = csv(text(tmp_path / "b.csv", "t,who", "3,8", "3,x"), ts="t")
    subject = join(left, right, on=("user", "who"), within=5, name="n")
    data = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data")).load()
    answer = subject.oracle(data)
    assert (answer["t"].tolist(), answer["right_t"].tolist()) == ([2], [3])


def test_declared_types_have_precedence(tmp_path: Path):
    left = csv(text(tmp_path / "a.csv", "t,user,n", "1,7,1", "2,8,2"), ts="t")
    right = csv(text(tmp_path / "b.csv", "u,user,code", "3,8,12"), ts="u")
    subject = join(left, right, on="user", within=5, name="n", types={"n": float, "code": str})
    dataset = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data"))
    answer = subject.oracle(dataset.load())
    assert (answer["n"].dtype, answer["code"].dtype) == (np.float64, np.int32)
    assert {file.name for file in dataset.dictionaries} == {"code"}


@pytest.mark.parametrize("how", ["inner", "left", "asof"])
def test_the_laws_of_the_model_hold(tmp_path: Path, how: str):
    subject = join(views(tmp_path), clicks(tmp_path), on="user", within=3, how=how)  # type: ignore[arg-type]
    report = check(subject.program, examples=examples(30))
    assert report.ok, report.render()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "within is missing"),
        ({"within": "10 parsecs"}, "within is '10 parsecs'; give a duration"),
        ({"within": "1 us"}, "not a multiple of 1 ms"),
        ({"within": ("1 s",)}, "give a duration, or a pair of durations for inner and left"),
        ({"within": 1, "how": "outer"}, "give 'inner', 'left' or 'asof'"),
        (
            {"within": 1, "select": {"x": "page"}},
            "give 'left.COLUMN', 'right.COLUMN' or an expression of them",
        ),
        ({"within": 1, "select": {"key": "left.ts"}}, "a Python name other than"),
        ({"within": 1, "select": {"user": "left.ts"}}, "has the name of a key"),
        ({"within": 1, "on": "page"}, "0 columns are called page; the columns are time, user"),
        ({"within": 1, "on": ["user", "page"]}, "0 columns are called page"),
        (
            {"within": 1, "on": [("user", "page id"), ("user", "user")]},
            "has user of the left table twice",
        ),
        ({"within": 1, "on": ("user", "page id", "ts")}, "or a list of them"),
        ({"within": 1, "on": []}, "or a list of them"),
        ({"within": 1, "select": {"x": "left.ts - right.pay"}}, "0 columns are called pay"),
        ({"within": 1, "select": {"x": "left.ts - ts"}}, "or an expression of them"),
        ({"within": 1, "select": {"x": "left.left + 1"}}, "column left.left holds texts"),
        ({"within": 1, "select": {"x": "left.ts - middle.ts"}}, "or an expression of them"),
        ({"within": 1, "select": {"x": "7"}}, "or an expression of them"),
        ({"within": 1, "on": ("user", "paid")}, "column paid of clicks.csv holds bool"),
        ({"within": 1, "types": {"pad": int}}, "types has <class 'int'> for pad; give int"),
        ({"withni": 1}, "no argument 'withni'"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, arguments: dict[str, Any], message: str):
    with pytest.raises((ModelError, DatasetError), match=message):
        join(views(tmp_path), clicks(tmp_path), **{"on": "user", **arguments})


def test_declarations_of_the_join_are_refused_in_its_tables(tmp_path: Path):
    with pytest.raises(ModelError, match="key='user', which the join declares"):
        join(views(tmp_path, key="user"), clicks(tmp_path), on="user", within=1)
    with pytest.raises(ModelError, match='has late="keep", but joins cannot read late rows'):
        late = views(tmp_path, out_of_order="1 s", late="keep")
        join(late, clicks(tmp_path), on="user", within=1)
    with pytest.raises(ModelError, match="is a str; give a table"):
        join("views.csv", clicks(tmp_path), on="user", within=1)  # type: ignore[arg-type]
    side = csv(tmp_path / "views.csv", ts="@start")
    with pytest.raises(ModelError, match="only the right table of how='asof'"):
        join(side, clicks(tmp_path), on="user", within=1)


def test_types_are_those_of_the_first_rows(tmp_path: Path):
    lines = ("i,f,b,t,zip,none", "1,1.5,true,a,01234,", ",2,False,,1,", "-3,,,1,2,")
    header = read_header(csv(text(tmp_path / "a.csv", *lines), ts="i"))
    kinds = {name: dtype and dtype.type for name, dtype in header.types.items()}
    assert kinds == {
        "i": np.int64,
        "f": np.float64,
        "b": np.bool_,
        "t": None,
        "zip": None,
        "none": None,
    }


def test_missing_values_are_filled_or_left_out_by_column(tmp_path: Path):
    lines = ("t,user,page,n", "1,a,,3", "2,,x,4", "3,a,y,")
    left = csv(
        text(tmp_path / "a.csv", *lines), ts="t", fill={"page": "none"}, skip_missing=["user", "n"]
    )
    right = csv(text(tmp_path / "b.csv", "u,who", "1,a"), ts="u")
    for how in ("inner", "asof"):
        subject = join(left, right, on=("user", "who"), within=9, how=how, name="n")  # type: ignore[arg-type]
        dataset = ensure(subject, {}, 0, 0, catalog=Catalog(root=tmp_path / "data"))
        answer = subject.oracle(dataset.load())
        assert (answer["t"].tolist(), answer["n"].tolist()) == ([1], [3])
        assert dataset.origin["tables"]["left"]["skipped_by_field"] == {"user": 1, "n": 1}
        assert dataset.origin["filled_by_field"] == {"page": 1}
    unread = csv(tmp_path / "a.csv", ts="t", skip_missing="other")
    with pytest.raises(DatasetError, match="skip_missing names other, which is not a field"):
        made = join(unread, right, on=("user", "who"), within=9, name="n")
        ensure(made, {}, 0, 0, catalog=Catalog(root=tmp_path / "data"))
