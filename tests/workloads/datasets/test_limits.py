"""Limits on an input: numbers that no field can represent are refused before a measurement."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.matrix import WorkloadEntry
from streamlab.lab.runner.datasets import find_dataset
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.limits import first_violation
from streamlab.workloads.model import Alphabet, Input, ModelError, Stream, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.limits import Limit
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload

LARGEST = 2**63 - 1
HUGE = st.sampled_from([-(2**63), -(2**62), -1, 0, 1, 2**62 - 1, 2**62, LARGEST])
DAY_MS = 86_400_000


def events(of: Workload, *streams: tuple[str, Mapping[str, Any]]) -> Input:
    """Return an input of some streams, each with its kind and columns; others are 0."""
    kinds = of.program.kinds
    made = []
    for index, (kind, columns) in enumerate(streams):
        ts = np.asarray(columns["ts"], dtype=np.int64)
        payload = {
            name: np.broadcast_to(columns.get(name, 0), len(ts)).astype(of.program.event[name])
            for name in of.program.event.names or ()
        }
        stream = Stream(name=f"{kind}-{index}", kinds=(kinds.index(kind),), ts=ts, payload=payload)
        made.append(stream)
    return Input(alphabet=Alphabet(kinds=kinds, keys=1), streams=tuple(made))


def refused(of: Workload, data: Input) -> str:
    return next(filter(None, (first_violation(limit, data) for limit in of.limits)), "")


WINDOWS = events(
    workload("event_window"),
    ("value", {"ts": [1, 2, 3, 5], "value": [2**62, 2**62, 2**62, -5]}),
    ("barrier", {"ts": [4, 6]}),
)


def test_a_sum_that_wraps_is_refused_with_row_field_value_and_remedy():
    assert refused(workload("event_window"), WINDOWS) == (
        f"stream value-0, row 1 (ts 2), value = {2**62}: the sum of the values since the last "
        f"barrier is {2**63}, but the maximum is {LARGEST}; give values of a "
        "coarser unit, or barriers at shorter distances"
    )


def test_sums_start_over_behind_a_barrier():
    data = events(
        workload("event_window"),
        ("value", {"ts": [1, 3, 5], "value": [LARGEST, LARGEST, LARGEST]}),
        ("barrier", {"ts": [2, 4, 6]}),
    )
    assert refused(workload("event_window"), data) == ""
    assert workload("event_window").oracle(data)["sum"].tolist() == [LARGEST] * 3


@pytest.mark.parametrize("name", ["event_window", "fraud_detection"])
@given(data=st.data())
@settings(max_examples=25)
def test_input_within_the_limits_has_one_answer(name: str, data: st.DataObject):
    subject = workload(name)
    drawn = data.draw(inputs(subject.program, values=HUGE, max_events=6))
    if not refused(subject, drawn):
        answer = answer_of(subject.program, drawn)  # raises where a Python integer leaves its field
        assert compare(subject.oracle(drawn), answer, subject.output).equal


@given(terms=st.lists(HUGE, max_size=8), groups=st.integers(1, 3))
def test_a_sum_is_refused_exactly_when_some_order_of_its_terms_leaves_64_bits(
    terms: list[int], groups: int
):
    limit = Limit(
        field="value",
        quantity="it",
        remedy="",
        groups=lambda events: np.asarray(events.ts % groups),
    )
    subject = workload("event_window")
    data = events(subject, ("value", {"ts": range(len(terms)), "value": terms}))
    parts = [terms[part::groups] for part in range(groups)]
    fits = all(
        sum(term for term in part if term > 0) <= LARGEST
        and sum(term for term in part if term < 0) >= -LARGEST - 1
        for part in parts
    )
    assert (first_violation(limit, data) == "") == fits


def test_a_days_sales_are_refused_where_a_slope_would_not_fit():
    subject = workload("declining_categories")
    begin = 15_000 * DAY_MS
    days = {"first_day": "2011-01-26", "days": 365}
    most = LARGEST // 365**3
    for paid, fits in ((most, True), (most + 1, False)):
        bound = subject.bound(days)
        ts = [begin + day * DAY_MS for day in range(3)]
        sales = {"ts": ts, "category": 1, "store": 10, "net_paid": paid}
        message = refused(bound, events(bound, ("sale", sales)))
        assert (message == "") == fits, message
        if not fits:
            assert f"row 0 (ts {begin}), net_paid = {paid}: the sales of the category" in message


@pytest.mark.parametrize(
    ("name", "kind", "columns", "message"),
    [
        ("scale_join", "left", {"x": [1, 2**31 - 1]}, "x = 2147483647: the attribute"),
        ("scale_join", "right", {"a": [1, -(2**31)]}, "a = -2147483648: the attribute"),
        ("parametric", "record", {"id": [0, 2**63 - 1]}, "id = 9223372036854775807: the id"),
        (
            "sensor_interpolation",
            "reading",
            {"watts": [1, -(2**31)] * 1200},
            "watts = -2147483648: the sum of the readings of its plug is",
        ),
    ],
)
def test_values_that_would_wrap_are_refused(
    name: str, kind: str, columns: dict[str, list[int]], message: str
):
    query = {"longest_gap_s": 3600} if name == "sensor_interpolation" else {}
    subject = workload(name).bound({"selectivity": "2"} if name == "parametric" else query)
    rows = len(next(iter(columns.values())))
    data = events(subject, (kind, {"ts": range(rows), **columns}))
    assert message in refused(subject, data)
    assert refused(subject, events(subject, (kind, {"ts": range(rows)}))) == ""


def test_a_band_join_at_its_limit_has_the_answer_of_its_oracle():
    subject = workload("scale_join")
    data = events(
        subject,
        ("left", {"ts": [1, 2], "x": [2**30 - 1, -(2**30)]}),
        ("right", {"ts": [1, 2], "a": [-(2**30), 2**30 - 1]}),
    )
    assert refused(subject, data) == ""
    assert len(subject.oracle(data)["ts"]) == 2


def test_counts_beyond_their_limit_are_refused():
    limit = Limit(field=None, quantity="the number of rows", remedy="take fewer", highest=2)
    data = events(workload("event_window"), ("value", {"ts": [1, 2, 3]}))
    grouped = Limit(
        field=None,
        quantity="the number of rows",
        remedy="take fewer",
        highest=2,
        groups=lambda events: events.ts * 0,
    )
    assert first_violation(limit, data) == ""
    assert first_violation(grouped, data) == (
        "stream value-0, row 2 (ts 3), the number of rows is 3, but the maximum is 2; take fewer"
    )


def test_a_program_that_leaves_its_field_is_an_error_that_names_field_and_value():
    with pytest.raises(ModelError, match="field sum of window is of type int64 and got"):
        answer_of(workload("event_window").program, WINDOWS)


def test_a_run_with_such_a_dataset_is_refused_before_any_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    dataset = write_dataset(WINDOWS, "event_window", tmp_path)
    monkeypatch.setattr(Catalog, "get", lambda self, dataset_id: dataset)
    entry = WorkloadEntry(name="event_window", dataset=dataset.id)
    with pytest.raises(MatrixError, match=r"workload event_window.*value = 4611686018427387904"):
        find_dataset(entry, master="local")
