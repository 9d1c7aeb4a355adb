"""Variant `layers`: threads for all parts of a query; order by channels, operators, or none."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.conformance import CASES, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.layers.options import COMMUNICATION, NONE, OPERATOR, TIME, TURN
from streamlab.engines.multicore.layers.run import LayersRun, check_ties
from streamlab.engines.protocol import Task, default_variant
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.small_load import small_load
from streamlab.workloads.model import (
    Alphabet,
    Input,
    ListColumn,
    OutputType,
    Pipeline,
    Query,
    Stream,
    partitioned,
    stateful,
    stateless,
)
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.pipeline.reference import answer
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.engines.multicore.graph_run import run_graph
from tests.examples import examples

# Functions at module level, so that kernels are cached.
EVENT = np.dtype([("x", np.int32), ("y", np.float64)])
SCALED = np.dtype([("ts", np.int64), ("x", np.int32), ("half", np.float32), ("odd", np.bool_)])
COUNTED = np.dtype([("ts", np.int64), ("key", np.int64), ("count", np.int64), ("last", np.int64)])
SEEN = np.dtype([("count", np.int64), ("last", np.int64, (3,))])
LAYERS = (COMMUNICATION, OPERATOR)
FORMS = (
    {"determinism": COMMUNICATION},
    {"determinism": OPERATOR},
    {"determinism": COMMUNICATION, "channels": "scalegate"},
    {"determinism": OPERATOR, "merge_unit": "tuple"},
)
PUBLISHED = tuple(form | {"dealing": TURN} for form in FORMS[2:])


def scale(t, out):
    out.emit(t.x, t.y / 2, t.x % 2 == 1)


def some(t, out):
    if t.x > 0:
        out.emit(t.x, t.y, True)


def nothing(t, out):
    if t.x > 1_000_000:
        out.emit(t.x, t.y, False)


def many(t, out):
    for i in range(t.x % 4):
        out.emit(t.x, i, i == 1)


def by_x(t):
    return t.x % 5


def remember(s, t, out):
    s.last[s.count % 3] = t.x
    s.count += 1
    out.emit(t.x % 5, s.count, s.last[0] + 10 * s.last[1] + 100 * s.last[2])


def now_and_then(s, t, out):
    s.count += 1
    if s.count % 3 == 0:
        out.emit(t.x % 5, s.count, t.x)


def twice(s, t, out):
    s.count = 3 * s.count % 1_000_003 + t.x  # compiled numbers wrap around, Python's do not
    for i in range(2):
        out.emit(t.x % 5, s.count % 1009, i)


def pass_on(t, out):
    out.emit(t.key, t.count, -t.last)


def running(s, t, out):
    s.count = 3 * s.count % 1_000_003 + t.x
    out.emit(0, s.count, t.x)


def raises(s, t, out):
    if t.x == 11:
        raise ValueError("eleven")
    out.emit(t.x % 5, s.count, 0)


def plain(apply, output=SCALED, **given_):
    return stateless(name=apply.__name__, output=output, apply=apply, **given_)


def keyed(apply, **given_):
    return partitioned(
        name=apply.__name__, output=COUNTED, key=by_x, state=SEEN, apply=apply, **given_
    )


TOTAL = stateful(name="running", output=COUNTED, state=SEEN, apply=running)
STRICT = OutputType(kinds=("row",), depends=lambda a, b: True, sorted=True)
BY_KEY = OutputType(
    kinds=("row",), depends=lambda a, b: a.key == b.key, key_field="key", sorted=True
)


def pipeline(name, *stages):
    return Pipeline(name=name, record="reading", event=EVENT, stages=stages)


PIPELINES = {
    one.name: (one, output)
    for one, output in (
        (pipeline("stateless", plain(scale)), STRICT),
        (pipeline("many of few", plain(many, max_outputs=3)), STRICT),
        (pipeline("a total of some", plain(some), TOTAL), STRICT),
        (pipeline("nothing passes", plain(nothing), TOTAL), STRICT),
        (pipeline("keys first", keyed(remember)), BY_KEY),
        (pipeline("some, keys", plain(some), keyed(now_and_then)), BY_KEY),
        (pipeline("keys by range", plain(scale), keyed(remember, bounds=(-1, 1, 3))), BY_KEY),
        (
            pipeline("keys, passed on", keyed(twice, max_outputs=2), plain(pass_on, COUNTED)),
            BY_KEY,
        ),
    )
}


run = partial(run_graph, LayersRun)


def assert_same_trace(got, asked, data, output):
    difference = compare(answer(asked, data), got, output)
    assert difference.equal, difference.render()


def load_of(data, gap_ns):
    times = tuple(stream.ts for stream in data.streams)
    return small_load(times, gap_ns * np.arange(sum(map(len, times)), dtype=np.int64))


def readings(records, streams, seed, span=500):
    rng = np.random.default_rng(seed)
    return Input(
        alphabet=Alphabet(kinds=("reading",)),
        streams=tuple(
            Stream(
                name=f"reading-{index}",
                kinds=(0,),
                ts=np.sort(rng.integers(-span, span, records)),
                payload={
                    "x": rng.integers(-9, 99, records).astype(np.int32),
                    "y": rng.integers(-30, 40, records).astype(np.float64),
                },
            )
            for index in range(streams)
        ),
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("name", PIPELINES)
def test_random_inputs_are_answered_as_by_the_interpreter(name):
    asked, output = PIPELINES[name]
    layouts = st.lists(st.just(("reading",)), min_size=1, max_size=3).map(tuple)

    @settings(
        max_examples=examples(25),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(data=st.data())
    def check(data):
        given_input = data.draw(
            inputs(
                asked,
                layouts=[data.draw(layouts)],
                max_events=30,
                values=st.integers(-9, 9),
            )
        )
        got, _ = run(
            asked,
            given_input,
            workers=data.draw(st.sampled_from([1, 2, 5])),
            batch=data.draw(st.sampled_from([1, 3, 64])),
            load=load_of(given_input, 1000) if data.draw(st.booleans()) else None,
            channel_rows=data.draw(st.sampled_from([2, 4, 4096])),
            **data.draw(st.sampled_from(FORMS)),
        )
        assert_same_trace(got, asked, given_input, output)

    check()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize("instances", [1, 2, 4, 6])
@pytest.mark.parametrize("injectors", [1, 2, 4, 6])
def test_repeats_give_one_answer_in_either_layer(injectors, instances, batch):
    asked, output = PIPELINES["some, keys"]
    data = readings(600, injectors, 3, span=60)
    first = None
    for repeat in range(8):
        got, _ = run(
            asked,
            data,
            workers=instances,
            batch=batch,
            channel_rows=(4096, 16)[repeat // 4],
            **FORMS[repeat % 4],
        )
        rows = {name: column.tolist() for name, column in got.items()}
        if first is None:
            first = rows
            assert_same_trace(got, asked, data, output)
            assert len(got["ts"]) > 100
        # More than equal traces: the order of ties is one as well.
        assert rows == first


def side_by_side(records):
    """Return two streams with a record at each time: whichever comes first, blocks are late."""
    ts = np.arange(records, dtype=np.int64)
    return Input(
        alphabet=Alphabet(kinds=("reading",)),
        streams=tuple(
            Stream(
                name=f"reading-{index}",
                kinds=(0,),
                ts=ts,
                payload={"x": (ts % 90).astype(np.int32), "y": np.zeros(records)},
            )
            for index in range(2)
        ),
    )


def test_without_determinism_the_comparison_says_what_went_wrong():
    data = side_by_side(20_000)
    for name, fault in (("stateless", "out_of_order"), ("keys first", "wrong")):
        asked, output = PIPELINES[name]
        wanted = answer(asked, data)
        got, measured = run(asked, data, workers=2, batch=16, determinism=NONE, channel_rows=256)
        assert len(got["ts"]) == len(wanted["ts"])
        difference = compare(wanted, got, output)
        assert getattr(difference, fault) > 1000, difference.render()
        assert measured.counters["logs"] == measured.counters["mergers"] == 0
        for determinism in LAYERS:
            right, _ = run(
                asked, data, workers=2, batch=16, determinism=determinism, channel_rows=256
            )
            assert compare(wanted, right, output).equal


def test_counters_and_plan_tell_what_a_layer_costs():
    asked, _ = PIPELINES["keys first"]
    data = readings(4000, 2, 1)
    for determinism, threads, mergers, queues, logs in (
        (OPERATOR, 10, 4, 12, 0),
        (COMMUNICATION, 6, 0, 0, 4),
        (NONE, 6, 0, 8, 0),
    ):
        _, measured = run(asked, data, workers=2, batch=8, determinism=determinism)
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


def test_without_measuring_the_answer_is_the_same():
    asked, output = PIPELINES["some, keys"]
    data = readings(300, 2, 1)
    got, measured = run(asked, data, workers=2, batch=16, measure=False)
    assert measured.latency is None and measured.progress is None
    assert_same_trace(got, asked, data, output)


def test_under_a_load_an_output_does_not_wait_for_a_stream_that_is_silent():
    asked, output = PIPELINES["keys first"]
    whole = readings(400, 2, 2)
    quiet = replace(
        whole.streams[1],
        ts=whole.streams[1].ts[:1],
        payload={name: values[:1] for name, values in whole.streams[1].payload.items()},
    )
    data = replace(whole, streams=(whole.streams[0], quiet))
    load = load_of(data, 500_000)  # 0.2 s, with a heartbeat a millisecond
    for determinism in LAYERS:
        share_late = 1.0
        while share_late >= 0.1:  # on a busy machine an output may be late, not in every run
            got, measured = run(
                asked, data, workers=2, batch=16, load=load, determinism=determinism
            )
            assert_same_trace(got, asked, data, output)
            late = measured.latency.values_ns > 100_000_000
            # Without promises every output waits for the end of the load, 100 ms on average.
            share_late = measured.latency.counts[late].sum() / len(got["ts"])
        assert measured.service_latency.counts.sum() == measured.latency.counts.sum()
        assert measured.sent.lag.counts.sum() == data.events


# What compiled code raises is printed by Numba's own hook, on the instance's thread.
def test_failures_name_the_operator():
    failing = pipeline("raises", keyed(raises))
    data = readings(500, 2, 1)
    with pytest.raises(
        EngineCrashError, match="operator raises: its function or its key function raised"
    ):
        run(failing, data, workers=2, batch=4)


def test_what_channels_cannot_take_is_refused():
    wide = np.dtype([("ts", np.int64), ("last", np.int64, (3,))])
    with pytest.raises(UnsupportedError, match="operator scale forwards field last"):
        run(pipeline("wide", plain(scale, wide)), readings(5, 1, 1))
    data = readings(5, 1, 1)
    lists = ListColumn(np.arange(6, dtype=np.int64), np.arange(5, dtype=np.int32))
    stream = replace(data.streams[0], payload={"x": lists})
    with pytest.raises(UnsupportedError, match="column x holds lists"):
        run(PIPELINES["stateless"][0], replace(data, streams=(stream,)))
    with pytest.raises(UnsupportedError, match="at most 64 streams, got 65"):
        run(PIPELINES["stateless"][0], readings(2, 65, 1))
    with pytest.raises(
        EngineError, match="determinism is one of communication, operator, none, not both"
    ):
        run(PIPELINES["stateless"][0], data, determinism="both")


# ---- The adapter ------------------------------------------------------------------------------


@pytest.fixture
def task(tmp_path):
    return Task(
        workload=workload("linear_road_new_seg"),
        dataset=write_dataset(readings(5, 2, 1), "nothing", tmp_path),
        variant="layers",
        workers=2,
        batch=64,
        scratch=tmp_path,
    )


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
    finding = run_load_case(
        MulticoreEngine(), workload("linear_road_new_seg"), case, setting, tmp_path
    )
    assert finding.unsupported is None
    _as_well_as_dealing_allows(finding, form, case)


def test_it_is_a_variant_for_pipelines_and_queries_but_not_their_default(task):
    engine = MulticoreEngine()
    assert default_variant(engine.variants(), Pipeline).name == "ordered"
    assert default_variant(engine.variants(), Query).name == "vsn"
    layers = next(variant for variant in engine.variants() if variant.name == "layers")
    assert layers.uses_batch and layers.takes_load and layers.models == (Pipeline, Query)
    assert layers.source == "generator"
    assert all(held.holds for held in engine.properties("x", "layers").values())
    assert engine.unsupported(task) is None
    refused = engine.unsupported(replace(task, workload=workload("event_window")))
    assert refused == "event_window is a DGS program; give variants = ['dgs']"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"determinism": "both"}, "determinism is one of communication, operator, none"),
        ({"channels": "heap"}, "channels is one of log, scalegate"),
        ({"merge_unit": "row"}, "merge_unit is one of run, tuple"),
        ({"dealing": "random"}, "dealing is one of time, turn"),
        ({"scheduler": "ct"}, "variant layers has no option 'scheduler'"),
    ],
)
def test_wrong_options_are_refused_with_what_is_right(task, options, reason):
    refused = MulticoreEngine().unsupported(replace(task, options=options))
    assert refused is not None and reason in refused


@pytest.mark.parametrize("determinism", LAYERS)
def test_ties_that_find_no_room_are_counted(determinism):
    asked, _ = PIPELINES["keys first"]
    data = readings(4000, 1, 0, span=1)
    _, measured = run(asked, data, workers=2, channel_rows=2, determinism=determinism)
    assert measured.counters["spilled_rows"] >= measured.counters["spilled_rows_peak"] > 10


def test_answers_that_depend_on_ties_between_instances_are_refused(task):
    engine = MulticoreEngine()
    strict = replace(task, workload=workload("items_sold_together"))
    refused = engine.unsupported(strict)
    assert refused is not None and "in the order of the 2 instances" in refused
    assert "run variant 'ordered'" in refused
    assert engine.unsupported(replace(strict, workers=1)) is None
    two_keyed = pipeline(
        "two", keyed(remember), stateful(name="after", output=COUNTED, state=SEEN, apply=running)
    )
    refused = check_ties(two_keyed, BY_KEY, 2)
    assert refused is not None and refused.startswith("operator after has a state")
    assert check_ties(PIPELINES["keys first"][0], STRICT, 2) is not None
    for asked, output in PIPELINES.values():
        assert check_ties(asked, output, 4) is None


def test_plan_and_counters_tell_the_published_forms():
    asked, _ = PIPELINES["stateless"]
    data = readings(2000, 2, 1)
    for form, threads, logs, said in (
        (PUBLISHED[0], 6, 4, "communication (ScaleGate as channels; dealt in turn)"),
        (
            PUBLISHED[1],
            10,
            0,
            "operator (merge-sorting operators, a tuple at a time; dealt in turn)",
        ),
    ):
        got, measured = run(asked, data, workers=2, batch=8, **form)
        assert len(got["ts"]) == data.events
        assert (measured.counters["threads"], measured.counters["logs"]) == (threads, logs)
        assert measured.counters["merges_by_producers"] == 0
        assert said in measured.plan


def test_dealing_in_turn_is_refused_where_an_answer_hangs_on_ties():
    def refused(name, dealing):
        return check_ties(*PIPELINES[name], 2, dealing)

    assert refused("stateless", TIME) is None  # of strict output
    assert "outputs of different keys depend on each other" in refused("stateless", TURN)
    assert "operator running has a state" in refused("a total of some", TURN)
    assert check_ties(*PIPELINES["stateless"], 1, TURN) is None
    toll = workload("linear_road_toll")
    assert check_ties(toll.program, toll.output, 4, TURN) is None
    assert check_ties(toll.program, toll.output, 4, TIME) is None
    remembers = replace(toll.program.stages[2], ties_commute=False)
    stages = (*toll.program.stages[:2], remembers, toll.program.stages[3])
    reason = check_ties(replace(toll.program, stages=stages), toll.output, 2)
    assert reason is not None and "operator count has a state" in reason
