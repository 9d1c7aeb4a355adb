"""Arguments of tables: wrong ones are reported, and `help` lists the right ones."""

import inspect
import re

import pytest

import streamlab as lab
from streamlab.workloads.datasets.errors import DatasetError

TABLES = ("csv", "parquet", "arrow", "frame", "arrays", "rows")
SHARED = {
    *("key", "kind", "columns", "ids", "time_format"),
    *("zone", "unit", "streams", "max_bad"),
}


@pytest.mark.parametrize("name", TABLES)
def test_help_lists_and_explains_every_argument(name: str):
    table = getattr(lab, name)
    parameters = inspect.signature(table).parameters
    assert parameters.keys() >= {"ts", *SHARED}
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
    assert (parameters["unit"].default, parameters["max_bad"].default) == ("ms", 0)
    for argument in ("ts", *SHARED):
        assert re.search(rf"^ +{argument}: \w", table.__doc__, re.MULTILINE)


@pytest.mark.parametrize("name", TABLES)
def test_a_misspelt_argument_gets_a_suggestion(name: str):
    said = f"lab.{name}: there is no argument 'colums'; did you mean columns? `help(lab.{name})`"
    with pytest.raises(DatasetError, match=re.escape(said)):
        getattr(lab, name)(object(), ts="t", colums={})


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (("a.csv",), {"ts": "t", "x": 1}, "no argument 'x'; there are path, ts, delimiter, "),
        (("a.csv",), {}, "lab.csv: ts is missing; give ts=...; `help(lab.csv)`"),
        ((), {"ts": "t"}, "lab.csv: path is missing"),
        (("a.csv", "t"), {}, "lab.csv: only path may be positional, got 2 values;"),
        (("a.csv",), {"path": "b", "ts": "t"}, "lab.csv: multiple values for argument 'path';"),
    ],
)
def test_wrong_calls_are_reported_with_the_remedy(given, named, message):
    with pytest.raises(DatasetError, match=re.escape(message)):
        lab.csv(*given, **named)
