"""Open windows at the end of an input: dropped, flushed, or cut; on the reference and on multicore."""

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.registry import engine
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.datasets.oracle_cache import expected, stored_outputs_at_end
from streamlab.workloads.datasets.time_cutoff import event_times, truncate, truncate_answer
from streamlab.workloads.model import ProgramError, Window
from streamlab.workloads.model.check import check
from streamlab.workloads.model.operators.program import FLUSH, MULTI, SINGLE
from streamlab.workloads.model.operators.windows import flushed
from streamlab.workloads.model.reference import answer_of, outputs_at_end
from tests.engines.multicore.native_runs import run_native
from tests.examples import examples
from tests.workloads.model import naive
from tests.workloads.model.queries import chain, joined, panes
from tests.workloads.model.rides import (
    WORKLOAD,
    by_pandas,
    frame_of,
    keep_totals,
    rides,
    rides_workload,
    rows_of,
    some_rides,
)


@pytest.mark.parametrize(("advance", "size"), [(10, 10), (7, 20)])
def test_a_flushed_answer_has_every_window_of_pandas(advance, size):
    query, data = rides(Window(advance=advance, size=size)), some_rides()
    windows = by_pandas(data, advance, size)
    assert rows_of(answer_of(query, data)) == windows
    for variant in ("vsn", "sn", "sn-map", "layers"):
        for workers in (1, 2):
            ended = flushed(query, data)
            _, answer = run_native(variant, query, ended, workers=workers, pin=False)
            assert rows_of(answer) == windows, (variant, workers)


def test_a_single_window_that_keeps_its_state_is_reported_once_after_the_last_tuple():
    query = rides(Window(advance=10, size=10, type=SINGLE), slide=keep_totals)
    data = some_rides()
    frame = frame_of(data).sort_values("ts", kind="stable")
    last_right = (int(frame.ts.max()) // 10 + 1) * 10
    answer = answer_of(query, data)
    assert answer["ts"].max() == last_right
    at_end = pd.DataFrame(answer).query("ts == @last_right").set_index("station")["sum"]
    assert at_end.to_dict() == frame.groupby("station").minutes.sum().to_dict()
    for variant in ("vsn", "sn"):
        _, native = run_native(variant, query, flushed(query, data), workers=2, pin=False)
        assert rows_of(native) == rows_of(answer)


@settings(deadline=None, max_examples=examples(150))
@given(st.data(), naive.shapes(MULTI), naive.shapes(MULTI))
def test_a_flush_closes_all_windows_of_a_chain_and_counts_their_outputs(data, first, second):
    streams, ordered, _ = data.draw(naive.inputs(1))
    everything = naive.HUGE * 2
    between = [
        naive.Tuple(ts, 0, (key % 2,), count)
        for ts, key, count, _ in naive.totals(ordered, first, everything)
    ]
    query = replace(chain(first, second), at_end=FLUSH)
    whole = naive.input_of(streams, 1)
    assert rows_of(answer_of(query, whole)) == naive.totals(between, second, everything)
    dropped = answer_of(replace(query, at_end="drop"), whole)
    added = len(answer_of(query, whole)["ts"]) - len(dropped["ts"])
    assert outputs_at_end(query, whole) == added


def test_outputs_at_the_end_are_not_counted_where_that_takes_too_long():
    assert outputs_at_end(rides(Window(advance=1, size=600)), some_rides()) is None
    assert outputs_at_end(rides(Window(advance=1, size=10)), some_rides()) > 0
    joins = naive.query(joined(Window(advance=1, size=5, type=SINGLE)))
    assert outputs_at_end(joins, naive.input_of([[naive.Tuple(0, 0, (), 1)]], 2)) == 0


def test_an_input_without_events_flushes_nothing():
    query = rides(Window(advance=10, size=10))
    assert len(answer_of(query, some_rides(events=0))["ts"]) == 0
    assert flushed(query, some_rides(events=0)).until_ts is None


def test_an_unknown_end_is_refused():
    with pytest.raises(ProgramError, match="at_end is 'close'; expected drop or flush"):
        rides(Window(advance=1, size=1), at_end="close")


@pytest.mark.parametrize(
    "query",
    [
        naive.query(naive.counting(Window(advance=2, size=4), 2)),
        naive.query(panes(Window(advance=2, size=4, type=SINGLE))),
        chain(Window(advance=2, size=4), Window(advance=3, size=5)),
        naive.query(joined(Window(advance=1, size=4, type=SINGLE))),
        rides(Window(advance=3, size=3, type=SINGLE), slide=keep_totals),
    ],
    ids=lambda query: query.operators[0].name,
)
def test_the_law_of_the_flush_holds(query):
    report = check(replace(query, at_end=FLUSH), examples=examples(40))
    assert report.ok, report.render()
    assert any("flush" in line for line in report.render().splitlines())


def test_a_state_that_stays_before_another_operator_breaks_the_law_of_the_flush():
    source = replace(panes(Window(advance=2, size=4, type=SINGLE)), slide=lambda w: None)
    query = chain(Window(advance=2, size=4), Window(advance=3, size=5), source)
    report = check(replace(query, at_end=FLUSH), examples=40)
    assert "flush" in {violation.condition for violation in report.violations}
    assert "windows of an operator go on after the last tuple" in report.render()


def test_a_cut_input_has_not_ended_so_its_answer_is_the_cut_of_the_flushed_one(tmp_path):
    found = rides_workload(30)
    dataset = write_dataset(some_rides(), "rides", tmp_path)
    whole = expected(found, dataset)
    dropped = answer_of(rides(Window(advance=10, size=30), "drop"), some_rides())
    assert stored_outputs_at_end(found, dataset) == len(whole["ts"]) - len(dropped["ts"]) > 0
    last = max(stream.ts_max for stream in dataset.streams)
    for until_ts in (-100, 0, last, last + 1):
        cut = truncate(dataset, event_times(dataset), until_ts)
        assert cut.flushed(found.program) == cut
        assert stored_outputs_at_end(found, cut) is None
        answer = answer_of(found.program, cut.load())
        assert rows_of(answer) == rows_of(truncate_answer(whole, until_ts, found.output))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(
    ("name", "variant"), [("reference", "sequential"), ("multicore", "vsn"), ("multicore", "sn")]
)
def test_engines_flush_all_inputs(name, variant, case, tmp_path):
    setting = Setting(variant=variant, workers=1 if name == "reference" else 2)
    done = run_case(engine(name), WORKLOAD, case, setting, tmp_path)
    assert done.problems == ()
