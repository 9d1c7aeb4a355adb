"""A key of several columns: exact, ordered, and a message where values have no room."""

from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import streamlab as lab
from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.declarative.declaration import Column
from streamlab.workloads.declarative.keys import Key
from streamlab.workloads.model import ModelError, Query
from tests.engines.tasks import run_task, task_of
from tests.workloads.declarative.declared_runs import (
    MINUTE,
    answer_of,
    assert_rows,
    random_rides,
    table_of,
)

WHOLE, TEXT, BOOL = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)
PAIR = ["station", "bike"]


@pytest.mark.parametrize(
    ("dtypes", "bits"),
    [
        ((WHOLE, WHOLE), (32, 32)),
        ((TEXT, WHOLE), (32, 32)),
        ((BOOL, WHOLE), (2, 62)),
        ((WHOLE, BOOL), (62, 2)),
        ((TEXT, TEXT, TEXT), (21, 21, 22)),
        ((TEXT, BOOL, WHOLE), (31, 2, 31)),
    ],
)
def test_values_come_back_from_a_key_and_keys_have_their_order(dtypes, bits):
    columns = tuple(Column(name=f"c{n}", dtype=dtype) for n, dtype in enumerate(dtypes))
    key = Key(columns=columns)
    function = key.function()
    values = [
        (False, True) if dtype == BOOL else (-(2 ** (width - 1)), -1, 0, 1, 2 ** (width - 1) - 1)
        for dtype, width in zip(dtypes, bits, strict=True)
    ]
    keys = []
    for row in product(*values):
        record = SimpleNamespace(**dict(zip(key.names, row, strict=True)))
        record.key = function(record)
        assert tuple(eval(text, {"s": record}) for text in key.state_expressions("s")) == row
        keys.append(record.key)
    assert all(before < after for before, after in pairwise(keys))
    assert keys[0] >= -(2**63) and keys[-1] < 2**63


def once(rides: pd.DataFrame) -> pd.DataFrame:
    rows = rides.drop_duplicates(PAIR)
    return rows.assign(ts=rows["at"])[["ts", *PAIR]]


def threes(rides: pd.DataFrame) -> pd.DataFrame:
    number = rides.groupby(PAIR).cumcount() // 3
    grouped = rides.assign(number=number, n=1).groupby([*PAIR, "number"])
    rows = grouped.agg(ts=("at", "max"), price=("price", "max"), n=("n", "sum")).reset_index()
    return rows[rows.n == 3][["ts", *PAIR, "price"]]


def visits(rides: pd.DataFrame) -> pd.DataFrame:
    found, pause = [], 10 * MINUTE
    for pair, rows in rides.groupby(PAIR):
        session = (rows["at"].diff() > pause).cumsum()
        for number, part in rows.groupby(session)["at"]:
            ts = (part.iloc[-1] // pause + 2) * pause
            if number < session.max() or ts <= rides["at"].max():
                found.append((ts, *pair, part.iloc[0], part.iloc[-1], len(part)))
    return pd.DataFrame(found, columns=["ts", *PAIR, "first", "last", "n"])


def dearest(rides: pd.DataFrame) -> pd.DataFrame:
    size = 30 * MINUTE
    rows = rides.assign(ts=rides["at"] // size * size + size)
    rows = rows.sort_values(["ts", "price", "at"], ascending=[True, False, True])
    rows = rows.groupby(["ts", *PAIR]).head(1).assign(rank=1)
    return rows[rows.ts <= rides["at"].max()][["ts", *PAIR, "rank", "price", "at"]]


def cheap(rides: pd.DataFrame) -> pd.DataFrame:
    found = []
    for pair, rows in rides.groupby(PAIR):
        for _, run in rows.groupby((rows.price >= 15).cumsum()):
            run = run[run.price < 15]
            late = run[run["at"] - run["at"].min() >= MINUTE]
            if len(late):
                found.append((late["at"].iloc[0], *pair, run["at"].iloc[0]))
    return pd.DataFrame(found, columns=["ts", *PAIR, "since"])


FORMS = {
    "deduplicate": (lambda **of: lab.deduplicate(columns=[], **of), once),
    "count window": (
        lambda **of: lab.count_window(3, result={"price": lab.max("price")}, **of),
        threes,
    ),
    "session": (lambda **of: lab.session("10 min", result={"n": lab.count()}, **of), visits),
    "top": (lambda **of: lab.top(1, by="price", size="30 min", **of), dearest),
    "alert": (lambda **of: lab.alert("price < 15", lasting="1 min", **of), cheap),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_pair_is_a_key(form, tmp_path):
    rides = random_rides(4)
    declare, expected = FORMS[form]
    subject = declare(key=PAIR, input=table_of(rides), name="pairs")
    assert_rows(answer_of(subject, tmp_path), expected(rides))


def test_a_class_reads_the_columns_of_its_key_and_another_step_has_a_pair(tmp_path):
    rides = random_rides(4)

    @lab.window("30 min", key=("bike", "paid"), input=table_of(rides), name="pairs")
    class Pairs:
        count: int

        def add(self, ride):
            self.count += 1

        def result(self):
            if self.key[0] < 20:
                return None
            return {"free": self.key[1] == 0, "rides": self.count}

    both = lab.window(
        "30 min", key=["bike", "free"], input=Pairs, result={"n": lab.sum("rides")}, name="both"
    )
    size = 30 * MINUTE
    rows = rides[rides.bike >= 20].assign(ts=rides["at"] // size * size + 2 * size)
    rows = rows.assign(free=~rows.paid, n=1)
    expected = rows.groupby(["ts", "bike", "free"]).n.sum().reset_index()
    assert_rows(answer_of(both, tmp_path), expected[expected.ts <= rides["at"].max()])


@pytest.mark.parametrize(
    "declare",
    [
        lambda **of: lab.window("1 h", result={"n": lab.count()}, **of),
        lambda **of: lab.deduplicate(**of),
    ],
)
def test_a_value_without_room_ends_the_run_with_the_remedy(declare, tmp_path):
    rides = random_rides(4, rows=20).assign(bike=lambda rides: rides.bike * 10**9)
    subject = declare(key=PAIR, input=table_of(rides), name="pairs")
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=tmp_path / "catalogue"))
    message = r"bike has a value beyond -2147483648 to 2147483647, .* \(types=\{'bike': str\}"
    with pytest.raises(ModelError, match=message):
        subject.oracle(dataset.load())
    variant = "vsn" if isinstance(subject.program, Query) else "ordered"
    with pytest.raises(EngineError, match=message):
        run_task(MulticoreEngine(), task_of(subject, dataset, tmp_path, variant))
    as_text = declare(key=PAIR, input=table_of(rides), name="pairs", types={"bike": str})
    assert len(answer_of(as_text, tmp_path / "text", workers=()))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ([], r"key is \[\]; give the name of a column, or a list"),
        (3, "key is 3; give the name of a column, or a list"),
        (["station", 3], "give the name of a column, or a list"),
        (["station", "price"], "key is price, a column of floats"),
        (["bike", "bike"], "a column 'bike', which is there twice"),
        (["bike", "bik"], "no column 'bik'; did you mean bike"),
        (None, "key is None; give the name of a column"),
    ],
)
def test_no_key(key, message):
    with pytest.raises(ModelError, match=message):
        lab.deduplicate(key=key, input=table_of(random_rides(1, rows=20)), columns=["paid"])


@pytest.mark.parametrize(
    ("key", "use", "message"),
    [
        (PAIR, "self.key", r"the key has 2 columns; write self.key\[0\] to self.key\[1\]"),
        (PAIR, "self.key[2]", r"the key has 2 columns; write self.key\[0\] to self.key\[1\]"),
        ("bike", "self.key[0]", r"self.key is one number; write self.key without"),
    ],
)
def test_a_class_reads_no_other_part_of_a_key(key, use, message, tmp_path):
    (tmp_path / "pairs.py").write_text(
        f"class Pairs:\n    n: int\n    def add(self, ride):\n        self.n += 1\n"
        f"    def result(self):\n        return {{'n': {use}}}\n"
    )
    names: dict[str, type] = {}
    path = str(tmp_path / "pairs.py")
    exec(compile((tmp_path / "pairs.py").read_text(), path, "exec"), {"__name__": "pairs"}, names)
    names["Pairs"].__module__ = "pairs"
    with pytest.raises(ModelError, match=message):
        lab.window("1 h", key=key, input=table_of(random_rides(1, rows=20)))(names["Pairs"])
