"""Operators O+ that change under a load, and readers of their outputs: the oracle's answer."""

import itertools
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.oplus.elastic.controller import BUILT_IN
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.mapping import instance_set
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.engines.inputs import sorted_rows
from tests.engines.multicore.chains import QUERIES, readings
from tests.engines.multicore.native_runs import check_native, even_load, make_run, option_error
from tests.engines.tasks import assert_equal, check_task, task_of

MS = 1_000_000
SPAN_NS = 400 * MS
SCRIPT = {"kind": "script", "period_ms": 10.0, "steps": [[0.05, 4], [0.15, 1], [0.25, 3]]}
CHANGES = [(2, 4), (4, 1), (1, 3)]
"""From how many instances to how many the script goes, where two are there at first."""
NAMED = {
    "kind": "script",
    "period_ms": 10.0,
    "steps": [[0.05, [2]], [0.15, [1, 3]], [0.25, [0, 3]]],
}
SETS = [(0, 1), (2,), (1, 3), (0, 3)]
"""The active instances in that script, one set after another."""
FORMS = {
    "wordcount vsn": ("wordcount", {}),
    "wordcount sn": ("wordcount", {"shared_nothing": True}),
    "forward vsn": ("forward", {}),
    "forward sn": ("forward", {"shared_nothing": True}),
    "scale_join fused": ("scale_join", {}),
    "scale_join operator10": ("scale_join", {"join_form": "operator10"}),
    "scale_join sn": ("scale_join", {"join_form": "operator10", "shared_nothing": True}),
}


def elastic_run(program, data, controller, *, workers=2, **options):
    """Return a run of up to four instances, under a load of `SPAN_NS`."""
    load = even_load(data, SPAN_NS / data.events)
    how = {"batch": 16, "ring_blocks": 1 << 14, "load": load, "max_instances": 4} | options
    return make_run("vsn", program, data, workers=workers, controller=controller, **how)


def check_elastic(name, controller, **how):
    """Compare a run with the oracle; return what was measured, the answer and the switches."""
    subject = workload(name)
    data = ordinary_input(subject)
    with closing(elastic_run(subject.program, data, controller, **how)) as run:
        measured, got = run.run(), run.answer()
        assert_equal(subject.oracle(data), got, subject.output)
        assert measured.events == data.events
        return measured, got, run.switches()


def counts_of(switches):
    """Return the numbers of instances before and after each switch."""
    return [(len(before), len(after)) for _, _, before, after, _, _ in switches]


def sets_of(switches):
    """Return the active instances before each switch, and after the last."""
    return [before for _, _, before, _, _, _ in switches] + [switches[-1][3]]


@pytest.mark.parametrize(
    ("name", "options"),
    [("wordcount", {}), ("scale_join", {}), ("scale_join", {"join_form": "operator10"})],
)
def test_a_script_is_followed_and_changes_no_answer(name, options):
    done = ()
    while len(done) < 3:  # on a busy machine the last look may come after the last tuple
        measured, _, switches = check_elastic(name, SCRIPT, **options)
        done = measured.elasticity.reconfigurations
    assert [(change.before, change.after) for change in done] == CHANGES
    assert counts_of(switches) == CHANGES
    for change, called in zip(done, (0.05, 0.15, 0.25), strict=True):
        assert change.at_ns >= called * 1e9
        assert change.duration_ns >= 0 and change.moved_bytes == 0


@pytest.mark.parametrize("readers", [0, 1])
@pytest.mark.parametrize("log", ["order", "scalegate"])
@pytest.mark.parametrize("form", FORMS)
def test_named_instances_replace_others_and_change_no_answer(form, log, readers):
    name, options = FORMS[form]
    done = ()
    while len(done) < 3:  # on a busy machine the last look may come after the last tuple
        how = {"tuple_buffer": log, "downstream": readers, **options}
        measured, _, switches = check_elastic(name, NAMED, **how)
        done = measured.elasticity.reconfigurations
    assert [change.active for change in done] == SETS[1:]
    assert sets_of(switches) == SETS
    assert set(measured.elasticity.instances.tolist()) <= {1, 2}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            [[0.0, [0, 4]]],
            "instance 4 does not exist; name instances from 0 to 3, or raise max_inst",
        ),
        ([[0.0, [0, 1, 2, 3, 4]]], "5 named instances are not within the bounds 1 and 4"),
    ],
)
def test_named_instances_beyond_the_threads_are_refused(steps, message):
    script = {"kind": "script", "period_ms": 10.0, "steps": steps}
    with pytest.raises(EngineError, match=f"controller script: {message}"):
        check_elastic("wordcount", script)


def test_without_a_change_the_instances_are_those_of_the_start():
    script = {"kind": "script", "period_ms": 10.0, "steps": [[60.0, 3]]}
    measured, *_ = check_elastic("scale_join", script)
    assert measured.elasticity.reconfigurations == ()
    assert set(measured.elasticity.instances.tolist()) == {2}


@pytest.mark.parametrize("name", ["wordcount", "scale_join"])
def test_thresholds_change_no_answer(name):
    controller = {"kind": "thresholds", "period_ms": 10.0, "min": 1, "max": 4}
    measured, *_ = check_elastic(name, controller, workers=4)
    # So little to do that instances are given up.
    assert [change.after for change in measured.elasticity.reconfigurations][:1] < [4]


class RandomMappings:
    """Requests random mappings, to the same instances as before or others, named or numbered."""

    def __init__(self, *, seed: int = 0):
        self.rng = np.random.default_rng(seed)

    def decide(self, observation):
        active = observation.active
        if self.rng.random() < 0.5:
            n = int(self.rng.integers(1, observation.maximum + 1))
            chosen = self.rng.choice(observation.maximum, n, replace=False).tolist()
            active = chosen if self.rng.random() < 0.7 else n
        members = np.array(instance_set(active))
        mapping = self.rng.choice(members, len(observation.mapping))
        return Decision(instances=active, why="at random", mapping=mapping)


@pytest.mark.parametrize("form", FORMS)
def test_random_mappings_change_no_answer(form, monkeypatch):
    monkeypatch.setitem(BUILT_IN, "random", RandomMappings)
    name, options = FORMS[form]
    changes = set()
    for seed in itertools.count():  # how many changes come in time is the scheduler's to say
        chosen = {"kind": "random", "period_ms": 10.0, "seed": seed}
        measured, *_ = check_elastic(name, chosen, downstream=seed % 2, **options)
        done = measured.elasticity.reconfigurations
        changes |= {change.before == change.after for change in done}
        if changes == {True, False}:
            break


class StartOnly:
    """Gives all buckets to the last instance at the start, and changes nothing."""

    def map_start(self, buckets, instances):
        return [instances - 1] * buckets

    def decide(self, observation):
        return None


class StartBeyond(StartOnly):
    def map_start(self, buckets, instances):
        return [instances] * buckets


@pytest.mark.parametrize("form", FORMS)
def test_the_mapping_at_the_start_is_the_controllers(form, monkeypatch):
    monkeypatch.setitem(BUILT_IN, "start", StartOnly)
    name, options = FORMS[form]
    data = ordinary_input(workload(name))
    with closing(
        elastic_run(workload(name).program, data, {"kind": "start"}, workers=3, **options)
    ) as run:
        assert set(run.mapping.tolist()) == {2}
        run.run()
        assert set(run.mapping.tolist()) == {2}
        assert_equal(workload(name).oracle(data), run.answer(), workload(name).output)


def test_a_start_beyond_the_instances_is_refused(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "beyond", StartBeyond)
    found = workload("wordcount")
    with pytest.raises(EngineError, match="bucket 0 belongs to instance 2; give instances from 0"):
        elastic_run(found.program, ordinary_input(found), {"kind": "beyond"})


@pytest.mark.parametrize("name", ["aggregate thrice", "emit twice then aggregate"])
def test_random_mappings_of_its_first_operator_change_no_answer_of_a_chain(name, monkeypatch):
    monkeypatch.setitem(BUILT_IN, "random", RandomMappings)
    query, data = QUERIES[name], readings(400, 2, 3)
    with closing(elastic_run(query, data, {"kind": "random", "period_ms": 10.0})) as run:
        run.run()
        got = run.answer()
    assert sorted_rows(got) == sorted_rows(answer_of(query, data))


def test_there_are_threads_for_every_request_of_a_controller(tmp_path):
    options = {"controller": {"kind": "thresholds", "max": 3}}
    data = ordinary_input(workload("scale_join"))
    task = task_of("scale_join", data, tmp_path, "vsn", batch=16, options=options)
    engine = MulticoreEngine()
    assert engine.unsupported(task) is None
    check_task(engine, task)
    reason = engine.unsupported(replace(task, options={**options, "max_instances": 2}))
    assert "max is 3, but the run has threads for 2 instances; raise max_instances" in str(reason)


def test_a_script_that_names_an_instance_without_a_thread_is_refused_at_once(tmp_path):
    options = {"controller": {"kind": "script", "steps": [[1, 2], [2, [0, 5]]]}}
    data = ordinary_input(workload("wordcount"))
    task = task_of("wordcount", data, tmp_path, "vsn", batch=16, options=options)
    reason = MulticoreEngine().unsupported(task)
    assert "a step names instance 5, but the run has instances 0 to " in str(reason)
    assert (
        MulticoreEngine().unsupported(replace(task, options={**options, "max_instances": 6}))
        is None
    )


@pytest.mark.pairwise
@pytest.mark.parametrize("batch", [1, 64, 4096])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("log", ["order", "scalegate"])
@pytest.mark.parametrize("form", FORMS)
def test_readers_downstream_take_the_oracles_answer(form, log, workers, batch):
    name, options = FORMS[form]
    subject = workload(name)
    data = ordinary_input(subject)
    how = {"workers": workers, "batch": batch, "ring_blocks": 16, "link_rows": 64, **options}
    for readers in (1, 2):
        _, got = check_native("vsn", subject, data, downstream=readers, tuple_buffer=log, **how)
        assert (np.diff(got["ts"]) >= 0).all()


@pytest.mark.some(4)
@pytest.mark.parametrize(("log", "batch"), [("order", 16), ("scalegate", 1)])
@pytest.mark.parametrize("form", FORMS)
def test_changes_lose_nothing_on_its_way_to_the_readers(form, log, batch):
    name, options = FORMS[form]
    how = {"downstream": 1, "tuple_buffer": log, "batch": batch}
    measured, got, _ = check_elastic(name, SCRIPT, **how, **options)
    changes = measured.elasticity.reconfigurations
    assert [(change.before, change.after) for change in changes] == CHANGES
    assert measured.elasticity.load_cov.shape == measured.elasticity.instances.shape
    for counted in (measured.latency, measured.service_latency):
        assert counted.counts.sum() == len(got["ts"])
    assert measured.progress.outputs.sum() == len(got["ts"])


@pytest.mark.parametrize("readers", [0, 1])
@pytest.mark.parametrize(
    "name", ["aggregate thrice", "emit twice then aggregate", "aggregate, keep times, aggregate"]
)
def test_all_operators_of_a_chain_change(name, readers):
    query, data = QUERIES[name], readings(400, 2, 3)
    with closing(elastic_run(query, data, SCRIPT, downstream=readers)) as run:
        measured = run.run()
        switches = [run.switches(op) for op in range(len(query.operators))]
        got = run.answer()
    assert sorted_rows(got) == sorted_rows(answer_of(query, data))
    changes = measured.elasticity.reconfigurations
    assert [(change.before, change.after) for change in changes] == CHANGES
    for of_operator in switches:
        assert counts_of(of_operator) == CHANGES
    counted = measured.latency.counts.sum() + measured.warm_up_latency.counts.sum()
    assert counted == len(got["ts"])


@pytest.mark.parametrize("readers", [0, 1])
@pytest.mark.parametrize("log", ["order", "scalegate"])
@pytest.mark.parametrize(
    "name", ["aggregate thrice", "emit twice then aggregate", "aggregate, keep times, aggregate"]
)
def test_all_operators_of_a_chain_change_to_the_named_instances(name, log, readers):
    query, data = QUERIES[name], readings(400, 2, 3)
    switches = [[]]
    while len(switches[-1]) < 3:  # on a busy machine the last look may come after the last tuple
        how = {"downstream": readers, "tuple_buffer": log}
        with closing(elastic_run(query, data, NAMED, **how)) as run:
            run.run()
            switches = [run.switches(op) for op in range(len(query.operators))]
            got = run.answer()
        assert sorted_rows(got) == sorted_rows(answer_of(query, data))
    for of_operator in switches:
        assert sets_of(of_operator) == SETS


def test_a_wrong_number_of_readers_is_refused():
    assert option_error("vsn", {"downstream": 64}) is None
    expected = "option downstream is 257; it must be a whole number from 0 to 256"
    assert option_error("vsn", {"downstream": 257}) == expected
    subject = workload("wordcount")
    with pytest.raises(EngineError, match="downstream must be between 0 and 256"):
        make_run("vsn", subject.program, ordinary_input(subject), downstream=-1)
