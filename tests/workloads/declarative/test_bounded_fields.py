"""Sets and largest values as fields of a class, against pandas, and what refuses them."""

import heapq
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamlab as lab
from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.declarative.state_functions import (
    contains,
    insert,
    insert_largest,
    largest_at,
    set_shape,
    size_of,
)
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import workload
from tests.engines.tasks import run_task, task_of
from tests.workloads.declarative.declared_runs import (
    MINUTE,
    answer_of,
    assert_rows,
    random_rides,
    table_of,
)

FILE = """\
import streamlab as lab

rides = lab.csv("rides.csv", ts="at")

@lab.window("30 min", input=rides)
class Bikes:
    bikes = lab.BoundedSet(most=64)
    longest = lab.LargestValues(int, most=3)

    def add(self, ride):
        self.bikes.add(ride.bike)
        self.longest.add(ride.duration)

    def result(self):
        return {"bikes": len(self.bikes), "second": self.longest[1], "is_7": 7 in self.bikes}
"""


def bikes_of(rows: pd.DataFrame) -> pd.Series:
    longest = sorted(rows.duration, reverse=True)[:3]
    first = rows.drop_duplicates("bike")
    return pd.Series(
        {
            "bikes": rows.bike.nunique(),
            "stations": rows.station.nunique(),
            "second": longest[1] if len(longest) > 1 else -1,
            "least": longest[-1],
            "without_7": 7 not in set(rows.bike),
            "dearest": rows.price.nlargest(2).sum(),
            "first_prices": round(first.price.sum() * 100),
        }
    )


def declare(form, **of):
    @form(key="station", input=of.pop("table"), name="bikes", **of)
    class Bikes:
        bikes = lab.BoundedSet(most=39)
        stations: lab.BoundedSet = lab.BoundedSet(most=1)
        longest = lab.LargestValues(int, most=3)
        dearest: lab.LargestValues[float] = lab.LargestValues(float, most=2)
        first_prices: float

        def add(self, ride):
            if ride.bike not in self.bikes:
                self.first_prices += ride.price
            self.bikes.add(ride.bike)
            self.stations.add(ride.station)
            seconds = ride.duration
            self.longest.add(seconds)
            self.dearest.add(ride.price)

        def result(self):
            total = 0.0
            for place in range(len(self.dearest)):
                total += self.dearest[place]
            return {
                "bikes": len(self.bikes),
                "stations": len(self.stations),
                "second": self.longest[1] if len(self.longest) > 1 else -1,
                "least": self.longest[-1],
                "without_7": 7 not in self.bikes,
                "dearest": float(total),
                "first_prices": round(self.first_prices * 100),
            }

    return Bikes


def test_a_sliding_window_has_sets_and_largest_values(tmp_path):
    rides = random_rides(6)
    subject = declare(
        lambda **of: lab.window("30 min", every="10 min", **of), table=table_of(rides)
    )
    first = rides["at"] // (10 * MINUTE) * 10 * MINUTE
    copies = pd.concat([rides.assign(ts=first + n * 10 * MINUTE) for n in (1, 2, 3)])
    copies = copies[copies.ts <= rides["at"].max()].sort_values("at", kind="stable")
    grouped = copies.groupby(["ts", "station"])
    expected = [{"ts": ts, "station": place, **bikes_of(rows)} for (ts, place), rows in grouped]
    assert_rows(answer_of(subject, tmp_path), pd.DataFrame(expected))


def test_a_count_window_empties_them(tmp_path):
    rides = random_rides(6)
    subject = declare(lambda **of: lab.count_window(5, **of), table=table_of(rides))
    number = rides.groupby("station").cumcount() // 5
    expected = [
        {"ts": rows["at"].max(), "station": station, **bikes_of(rows)}
        for (station, _), rows in rides.groupby(["station", number])
        if len(rows) == 5
    ]
    assert_rows(answer_of(subject, tmp_path), pd.DataFrame(expected))


def test_a_session_empties_them(tmp_path):
    rides = random_rides(6, rows=200)
    subject = declare(lambda **of: lab.session("3 min", **of), table=table_of(rides))
    pause, found = 3 * MINUTE, []
    for station, rows in rides.groupby("station"):
        session = (rows["at"].diff() > pause).cumsum()
        for number, part in rows.groupby(session):
            ts = (part["at"].iloc[-1] // pause + 2) * pause
            if number < session.max() or ts <= rides["at"].max():
                ends = {"first": part["at"].iloc[0], "last": part["at"].iloc[-1]}
                found.append({"ts": ts, "station": station, **ends, **bikes_of(part)})
    assert_rows(answer_of(subject, tmp_path), pd.DataFrame(found))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("most=64", "most=3", "bikes has more than 3 different values; raise most=3"),
        ("longest[1]", "longest[-3]", r"LargestValues has fewer values than the place .* len\("),
    ],
)
def test_a_field_beyond_its_bound_ends_the_run_with_the_remedy(before, after, message, tmp_path):
    rides = random_rides(1, rows=50)
    rows = pd.concat([rides[:2], rides[2:].assign(at=lambda rides: rides["at"] + 60 * MINUTE)])
    rows.to_csv(tmp_path / "rides.csv", index=False)
    (tmp_path / "rides.py").write_text(FILE.replace(before, after))
    subject = workload(str(tmp_path / "rides.py"))
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=tmp_path / "catalogue"))
    with pytest.raises(ModelError, match=message):
        subject.oracle(dataset.load())
    with pytest.raises(EngineError, match=message):
        run_task(MulticoreEngine(), task_of(subject, dataset, tmp_path, "vsn"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("bikes.add(ride.bike)", "bikes.add(ride.price)", "py:11.* ride.price is a float, and bik"),
        (
            "longest.add(ride.duration)",
            "longest.add(ride.price)",
            r"declare longest = lab.LargestValues\(float, most=3\)",
        ),
        ("add(ride.bike)", "add(hash(ride.bike))", r"type of hash\(ride.bike\) is not clear"),
        (
            "len(self.bikes)",
            "self.bikes",
            r"py:15.*bikes, a BoundedSet, is used .* than self.bikes.a",
        ),
        ("longest[1]", "longest[3]", r"self.longest\[3\] of at most 3 values; places are 0 to 2"),
        ("longest[1]", "longest[0:1][0]", r"longest, a LargestValues, is used in another way"),
        ("7 in self.bikes", "7 in self.longest", "longest, a LargestValues, is used in another"),
        ("self.bikes.add", "n = self.bikes.add", "bikes, a BoundedSet, is used in another way"),
        ("most=64", "most=0", r"lab.BoundedSet: most is 0; give 1 to 65536"),
        ("most=64", "mots=64", r"lab.BoundedSet: there is no argument 'mots'; did you mean most"),
        ("int, most", "str, most", r"lab.LargestValues: the type is <class 'str'>; give int or fl"),
        (
            "bikes = lab.BoundedSet(most=64)",
            "bikes: set",
            r"field bikes is of type set; .* bikes = lab.BoundedSet\(most=64\)",
        ),
        ("    bikes =", "    byke =", "self.bikes is not a field"),
        ("bikes", "key", "field key has a reserved name"),
    ],
)
def test_other_uses_are_refused(before, after, message, tmp_path):
    random_rides(1, rows=50).to_csv(tmp_path / "rides.csv", index=False)
    assert before in FILE
    (tmp_path / "rides.py").write_text(FILE.replace(before, after))
    with pytest.raises(ModelError, match=message):
        workload(str(tmp_path / "rides.py"))


def test_a_bound_belongs_to_the_code(tmp_path: Path):
    random_rides(1, rows=50).to_csv(tmp_path / "rides.csv", index=False)
    codes = set()
    for text in (FILE, FILE.replace("64", "65"), re.sub("most=3", "most=4", FILE)):
        (tmp_path / "rides.py").write_text(text)
        codes.add(workload(str(tmp_path / "rides.py")).code())
    assert len(codes) == 3


@given(st.lists(st.integers(-3, 60) | st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_a_set_has_what_was_inserted(values):
    field = np.zeros(set_shape(40), np.int64)
    for place, value in enumerate(values):
        assert contains(field, value) == (value in values[:place])
        insert(field, value)
    assert size_of(field) == len(set(values))
    assert all(contains(field, value) for value in values)
    assert not any(contains(field, value) for value in range(100, 140) if value not in values)


@given(st.lists(st.integers(-9, 9) | st.just(float("nan"))), st.integers(1, 5))
def test_the_largest_values_do_not_depend_on_the_order(values, most):
    field = np.zeros(most + 1)
    for value in values:
        insert_largest(field, value)
    numbers = [value for value in values if value == value]
    expected = (heapq.nlargest(most, numbers) + [np.nan] * len(values))[: min(most, len(values))]
    np.testing.assert_array_equal([largest_at(field, n) for n in range(size_of(field))], expected)
