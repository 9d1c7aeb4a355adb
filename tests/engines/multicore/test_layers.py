"""Variant `layers`: threads for all parts of a query; order by channels, operators, or none."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.layers.run import (
    COMMUNICATION,
    NONE,
    OPERATOR,
    TIME,
    TURN,
    check_ties,
)
from streamlab.workloads.model import ListColumn
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.engines.inputs import head, input_of
from tests.engines.multicore.native_runs import even_load, run_native
from tests.engines.multicore.pipelines import (
    BY_KEY,
    GRAPHS,
    IN_ORDER,
    RUNNING,
    each,
    keyed,
    pipeline,
    raises,
    readings,
    remember,
    scale,
)
from tests.engines.tasks import assert_equal, task_of

LAYERS = (COMMUNICATION, OPERATOR)
FORMS = (
    {"determinism": COMMUNICATION},
    {"determinism": OPERATOR},
    {"determinism": COMMUNICATION, "channels": "scalegate"},
    {"determinism": OPERATOR, "merge_unit": "tuple"},
)
PUBLISHED = tuple(form | {"dealing": TURN} for form in FORMS[2:])

run = partial(run_native, "layers", ring_blocks=1 << 12)


def check_graph(asked, output, data, **how):
    measured, got = run(asked, data, **how)
    assert_equal(answer_of(asked, data), got, output)
    return measured, got


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("instances", [1, 2, 4, 6])
@pytest.mark.parametrize("injectors", [1, 2, 4, 6])
def test_repeats_give_one_answer_in_either_layer(injectors, instances, batch):
    asked, output = GRAPHS["some, keys"]
    data = readings(600, injectors, 3, span=60)
    how = {"workers": instances, "batch": batch}
    _, first = check_graph(asked, output, data, **how, **FORMS[0])
    assert len(first["ts"]) > 100
    for repeat in range(1, 8):
        rows = (4096, 16)[repeat // 4]
        _, got = run(asked, data, **how, link_rows=rows, **FORMS[repeat % 4])
        # More than equal traces: the order of ties is one as well.
        for name, column in first.items():
            np.testing.assert_array_equal(got[name], column, err_msg=name)


def side_by_side(records):
    """Return two streams with a record at each time: whichever comes first, blocks are late."""
    ts = np.arange(records)
    columns = {"x": (ts % 90).astype(np.int32), "y": np.zeros(records)}
    return input_of(("reading",), (0, ts, columns), (0, ts, columns))


def test_without_determinism_the_comparison_names_the_difference():
    data = side_by_side(20_000)
    for name, fault in (("stateless", "out_of_order"), ("keys first", "wrong")):
        asked, output = GRAPHS[name]
        expected = answer_of(asked, data)
        how = {"workers": 2, "batch": 16, "link_rows": 256}
        measured, got = run(asked, data, determinism=NONE, **how)
        assert len(got["ts"]) == len(expected["ts"])
        difference = compare(expected, got, output)
        assert getattr(difference, fault) > 1000, difference.render()
        assert measured.counters["logs"] == measured.counters["mergers"] == 0
        for determinism in LAYERS:
            assert_equal(expected, run(asked, data, determinism=determinism, **how)[1], output)


def test_counters_and_plan_show_the_cost_of_a_layer():
    asked, _ = GRAPHS["keys first"]
    data = readings(4000, 2, 1)
    for determinism, threads, mergers, queues, logs in (
        (OPERATOR, 10, 4, 12, 0),
        (COMMUNICATION, 6, 0, 0, 4),
        (NONE, 6, 0, 8, 0),
    ):
        measured, _ = run(asked, data, workers=2, batch=8, determinism=determinism)
        counters = measured.counters
        assert (counters["threads"], counters["mergers"]) == (threads, mergers)
        assert (counters["queues"], counters["logs"]) == (queues, logs)
        assert counters["injectors"] == counters["instances"] == counters["sinks"] == 2
        assert counters["graph_cpu_s"] > 0
        assert counters["graph_cpu_s_per_mtuple"] == pytest.approx(
            counters["graph_cpu_s"] / data.events * 1e6
        )
        assert (counters["merger_cpu_share"] > 0) == (mergers > 0)
        switches = counters["voluntary_switches"] + counters["involuntary_switches"]
        assert counters["switches_per_mtuple"] == pytest.approx(switches / data.events * 1e6)
        assert counters["sleeps"] == 0 or switches > 0
        merges = counters["merges_by_producers"] + counters["merges_by_readers"]
        assert (merges > 0) == (logs > 0)
        assert "2 injectors -> remember (partitioned) x 2 -> 2 sinks" in measured.plan
        assert f"determinism: {determinism}" in measured.plan
        assert f"{threads} threads, including {mergers} merge-sorting operators" in measured.plan


def test_under_a_load_an_output_does_not_wait_for_a_stream_that_is_silent():
    data = readings(400, 2, 2)
    data = replace(data, streams=(data.streams[0], head(data.streams[1], 1)))
    load = even_load(data, 500_000)  # 0.2 s, with a heartbeat a millisecond
    how = {"workers": 2, "batch": 16, "load": load}
    for determinism in LAYERS:
        share_late = 1.0
        while share_late >= 0.1:  # on a busy machine an output may be late, not in every run
            measured, got = check_graph(*GRAPHS["keys first"], data, determinism=determinism, **how)
            late = measured.latency.values_ns > 100_000_000
            # Without promises every output waits for the end of the load, 100 ms on average.
            share_late = measured.latency.counts[late].sum() / len(got["ts"])
        assert measured.service_latency.counts.sum() == measured.latency.counts.sum()
        assert measured.sent.lag.counts.sum() == data.events


# What compiled code raises is printed by Numba's own hook, on the instance's thread.
def test_failures_name_the_operator():
    message = "operator raises: its function or its key function raised"
    with pytest.raises(EngineCrashError, match=message):
        run(pipeline("raises", keyed(raises)), readings(500, 2, 1), workers=2, batch=4)


def test_queries_that_channels_cannot_run_are_refused():
    asked, _ = GRAPHS["stateless"]
    data = readings(5, 1, 1)
    wide = np.dtype([("ts", np.int64), ("last", np.int64, (3,))])
    with pytest.raises(UnsupportedError, match="operator scale forwards field last"):
        run(pipeline("wide", each(scale, wide)), data)
    lists = ListColumn(np.arange(6, dtype=np.int64), np.arange(5, dtype=np.int32))
    stream = replace(data.streams[0], payload={"x": lists})
    with pytest.raises(UnsupportedError, match="column x holds lists"):
        run(asked, replace(data, streams=(stream,)))
    message = "determinism must be one of communication, operator, none, not both"
    with pytest.raises(EngineError, match=message):
        run(asked, data, determinism="both")


@pytest.mark.parametrize("determinism", LAYERS)
def test_ties_that_find_no_room_are_counted(determinism):
    asked, _ = GRAPHS["keys first"]
    data = readings(4000, 1, 0, span=1)
    measured, _ = run(asked, data, workers=2, link_rows=2, determinism=determinism)
    assert measured.counters["spilled_rows"] >= measured.counters["spilled_rows_peak"] > 10


@pytest.mark.parametrize(
    ("form", "threads", "logs", "message"),
    [
        (PUBLISHED[0], 6, 4, "communication (ScaleGate as channels; dealt in turn)"),
        (
            PUBLISHED[1],
            10,
            0,
            "operator (merge-sorting operators, a tuple at a time; dealt in turn)",
        ),
    ],
    ids=LAYERS,
)
def test_plan_and_counters_tell_the_published_forms(form, threads, logs, message):
    data = readings(2000, 2, 1)
    measured, got = run(GRAPHS["stateless"][0], data, workers=2, batch=8, **form)
    assert len(got["ts"]) == data.events
    assert (measured.counters["threads"], measured.counters["logs"]) == (threads, logs)
    assert measured.counters["merges_by_producers"] == 0
    assert message in measured.plan


# ---- The adapter ------------------------------------------------------------------------------


@pytest.mark.some(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [*FORMS[:2], *PUBLISHED], ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize("name", ["linear_road_pos_rep", "linear_road_new_seg", "linear_road_toll"])
def test_linear_road_conforms(name, form, case, tmp_path):
    setting = Setting(variant="layers", options=form)
    finding = run_case(MulticoreEngine(), workload(name), case, setting, tmp_path)
    assert finding.unsupported is None
    _as_well_as_dealing_allows(finding, form, case)


def _as_well_as_dealing_allows(finding, form, case):
    """Dealt in turn, two records of a vehicle and a time change places, and that is told (0034)."""
    told = "\n".join(finding.problems)
    if form.get("dealing") != TURN or "ties in event time" not in case.name:
        assert not told, told
    elif told:
        assert "0 missing, 0 duplicate" in told, told
        assert "0 wrong" in told, told


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [*FORMS[:2], *PUBLISHED], ids=lambda form: "-".join(form.values()))
def test_linear_road_conforms_under_a_load(form, case, tmp_path):
    setting = Setting(variant="layers", options=form)
    chosen = workload("linear_road_new_seg")
    finding = run_load_case(MulticoreEngine(), chosen, case, setting, tmp_path)
    assert finding.unsupported is None
    _as_well_as_dealing_allows(finding, form, case)


def test_answers_that_depend_on_ties_between_instances_are_refused(tmp_path):
    engine = MulticoreEngine()
    strict = task_of("items_sold_together", readings(5, 2, 1), tmp_path, "layers", workers=2)
    refused = engine.unsupported(strict)
    assert refused is not None and "in the order of the 2 instances" in refused
    assert "or variant 'ordered'" in refused
    assert engine.unsupported(replace(strict, workers=1)) is None
    after = replace(RUNNING, name="after")
    refused = check_ties(pipeline("two", keyed(remember), after), BY_KEY, 2)
    assert refused is not None and refused.startswith("operator after has a state")
    assert check_ties(GRAPHS["keys first"][0], IN_ORDER, 2) is not None
    for asked, output in GRAPHS.values():
        assert check_ties(asked, output, 4) is None


def test_dealing_in_turn_is_refused_where_an_answer_hangs_on_ties():
    def refused(name, dealing):
        return check_ties(*GRAPHS[name], 2, dealing)

    assert refused("stateless", TIME) is None  # of strict output
    assert "outputs of different keys depend on each other" in refused("stateless", TURN)
    assert "operator running has a state" in refused("a total of some", TURN)
    assert check_ties(*GRAPHS["stateless"], 1, TURN) is None
    toll = workload("linear_road_toll")
    assert check_ties(toll.program, toll.output, 4, TURN) is None
    assert check_ties(toll.program, toll.output, 4, TIME) is None
    remembers = replace(toll.program.stages[3], ties_commute=False)
    stages = (*toll.program.stages[:3], remembers, toll.program.stages[4])
    reason = check_ties(replace(toll.program, stages=stages), toll.output, 2)
    assert reason is not None and "operator count has a state" in reason
