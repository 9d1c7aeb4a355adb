"""Rows out of order: sorted in up to a bound, and beyond it left out or refused, as a few plain loops say."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.lab.cli.data import data
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import late_rows, late_words
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import arrays, csv, rows
from streamlab.workloads.datasets.tables.lateness import Lateness
from tests.examples import examples
from tests.workloads.datasets.tables.programs import COUNTER, REPORTS, made, text

TIMES = st.lists(st.integers(0, 40) | st.integers(-(2**60), 2**60), min_size=1, max_size=30)


def lateness_of(times):
    """How much earlier than any row before it each row is: every pair is compared."""
    return [
        max([0, *(earlier - ts for earlier in times[:place])]) for place, ts in enumerate(times)
    ]


@settings(deadline=None, max_examples=examples(200))
@given(TIMES, st.integers(0, 50) | st.integers(0, 2**61), st.lists(st.integers(1, 9), max_size=6))
def test_lateness_is_that_of_all_pairs_however_rows_come_in_chunks(times, bound, lengths):
    lateness, found, begin = Lateness(bound=bound), [], 0
    for length in [*lengths, len(times)]:
        found += lateness.measure(np.array(times[begin : begin + length], np.int64)).tolist()
        begin += length
    assert found == lateness_of(times)
    assert (lateness.largest, lateness.latest) == (max(found), max(times))


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=25),
    st.none() | st.integers(0, 31),
    st.integers(1, 3),
)
def test_the_stream_has_the_rows_in_time_sorted_and_the_record_counts_the_others(
    events, bound, block
):
    """Blocks of a function are read apart, so lateness goes across them."""

    def blocks():
        for begin in range(0, len(events), block):
            part = events[begin : begin + block]
            yield {"ts": [ts for ts, _ in part], "page": [page for _, page in part]}

    declared = None if bound is None else f"{bound} ms"
    table = rows(blocks, key="page", kind="=increment", out_of_order=declared)
    late = [
        bound is not None and behind > bound for behind in lateness_of([ts for ts, _ in events])
    ]
    in_time = [event for event, out in zip(events, late, strict=True) if not out]
    with tempfile.TemporaryDirectory() as folder:
        dataset = made(table, COUNTER, Catalog(root=Path(folder)))
        stream = dataset.load().streams[0]
        tags = [0] * len(stream) if stream.tag is None else stream.tag.tolist()
        pages = [tag // len(COUNTER.kinds) for tag in tags]
        names = {page: place for place, page in enumerate(dict.fromkeys(p for _, p in in_time))}
        whole = sorted(in_time, key=lambda event: event[0])
        assert stream.ts.tolist() == [ts for ts, _ in whole]
        # Few small numbers are their own keys; a single key leaves no tag.
        if stream.tag is not None:
            assert pages in ([page for _, page in whole], [names[page] for _, page in whole])
        origin = dataset.origin
        assert origin["largest_lateness"] == max(lateness_of([ts for ts, _ in events]))
        assert origin["rows"] == len(in_time)
        assert origin.get("late_rows") == (None if bound is None else sum(late))
        assert bool(late_words(origin)) == any(late)


def test_late_rows_that_stay_have_their_lateness_in_a_field(tmp_path):
    """The row without a time is bad and makes no other late."""
    lines = (
        "ts,vid,speed,share,slow",
        "10,1,1,0.5,0",
        "x,9,1,0.5,0",
        "4,3,1,0.5,0",
        "12,2,1,0.5,0",
    )
    names = {"vid": "@late", "speed": "speed", "share": "share", "slow": "slow"}
    how = {"ts": "ts", "time_format": "ms", "max_bad": 1, "out_of_order": "5 ms", "late": "keep"}
    path = text(tmp_path / "a.csv", *lines)
    program = replace(REPORTS, event=np.dtype([("vid", np.int64), *REPORTS.event.descr[1:]]))
    dataset = made(csv(path, columns=names, **how), program, Catalog(root=tmp_path / "data"))
    stream = dataset.load().streams[0]
    assert (stream.ts.tolist(), stream.payload["vid"].tolist()) == ([4, 10, 12], [6, 0, 0])
    counts = ("rows", "bad_rows", "late_rows", "late", "lines_in_late_rows")
    assert [dataset.origin[name] for name in counts] == [3, 1, 1, "keep", 0]
    assert (late_rows(dataset.origin), late_words(dataset.origin)) == (None, "")
    words = "1 of 3 rows of a.csv kept by the import: more than 5 ms late"
    assert late_words(dataset.origin, with_kept=True) == words
    with pytest.raises(DatasetError, match="column @late needs a field of int64, not int32"):
        made(csv(path, columns=names, **how), REPORTS, Catalog(root=tmp_path / "more"))


def test_a_bound_changes_neither_an_input_in_time_nor_the_key_of_a_table_without_one(tmp_path):
    catalog = Catalog(root=tmp_path)
    columns = {"ts": [3, 1, 7], "page": [1, 2, 1]}
    plain = arrays(columns, ts="ts", key="page", kind="=increment")
    bound = arrays(columns, ts="ts", key="page", kind="=increment", out_of_order="2 ms")
    assert "out_of_order" not in plain.to_json() and "late" not in plain.to_json()
    assert made(plain, COUNTER, catalog).id == made(bound, COUNTER, catalog).id
    assert late_words(made(bound, COUNTER, catalog).origin) == ""


REPORT = ("ts,vid,speed,share,slow", "10,1,1,0.5,0", "12,2,1,0.5,0", "4,3,1,0.5,0", "11,4,1,0.5,0")


def reports(path, **how):
    names = {name: name for name in ("vid", "speed", "share", "slow")}
    return csv(path, ts="ts", columns=names, time_format="ms", **how)


def test_late_rows_are_an_error_with_row_bound_and_remedy(tmp_path):
    table = reports(text(tmp_path / "a.csv", *REPORT), out_of_order="5 ms", late="error")
    said = (
        r"a\.csv: row 4: time 4 is 8 before the latest time above; 1 of 4 rows are later than "
        r"out_of_order='5 ms', at most by 8 ms; give a longer out_of_order, or leave late rows out"
    )
    with pytest.raises(DatasetError, match=said):
        made(table, REPORTS, Catalog(root=tmp_path / "data"))
    enough = reports(tmp_path / "a.csv", out_of_order="8 ms", late="error")
    dataset = made(enough, REPORTS, Catalog(root=tmp_path / "data"))
    assert dataset.load().streams[0].ts.tolist() == [4, 10, 11, 12]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"out_of_order": "soon"}, "out_of_order is 'soon'; give a duration such as"),
        ({"out_of_order": "5"}, "out_of_order is '5'; give a duration such as"),
        ({"out_of_order": "500 us"}, "not a multiple of 1 ms"),
        ({"out_of_order": "99999999999999 d"}, "give 0 ms or more"),
        ({"out_of_order": "1 s", "late": "sort"}, "late is 'sort'; give drop, keep or error"),
        ({"key": "@late"}, "key cannot be @late; use @late only for a field"),
        ({"late": "error"}, "out_of_order is missing, so no row is late; give out_of_order"),
    ],
)
def test_declarations_without_meaning_are_refused(how, message, tmp_path):
    with pytest.raises(DatasetError, match=message):
        reports(tmp_path / "a.csv", **how)


def test_the_command_states_lateness_and_left_out_rows(tmp_path):
    lines = ("at,who", "2024-01-01T10:00:00Z,a", "2024-01-01T10:01:00Z,b", "2024-01-01T09:59:00Z,a")
    file = text(tmp_path / "a.csv", *lines, "2024-01-01T10:00:58Z,c")
    given = ("--workload", "keyed_counter", "--columns", "ts=at,key=who,kind=increment")
    command = ["import", "table", "--file", str(file), *given, "--root", str(tmp_path / "data")]

    def said(*more):
        return CliRunner().invoke(data, [*command, *more], catch_exceptions=False)

    assert "so all rows were sorted; largest lateness 120,000 ms" in said().stderr
    bounded = said("--out-of-order", "5 s")
    assert (
        "3 rows, 0 bad, 1 out of order, so all rows were sorted; largest lateness 120,000 ms; "
        "later than 5 s and left out: 1"
    ) in bounded.stderr
    assert "a.csv: row 4: time 1704103140000 is 120000 before" in bounded.stderr
    show = ["show", bounded.stdout.strip(), "--root", str(tmp_path / "data")]
    shown = CliRunner().invoke(data, show, catch_exceptions=False).stdout
    assert "1 of 4 rows of a.csv left out by the import: more than 5 s late" in shown
