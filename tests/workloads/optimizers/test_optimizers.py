"""Every optimizer: its plans are valid and right, and what each of them prefers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Alphabet, DGSProgram, Input, PlanError
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.dgs.plan import ImplTag
from streamlab.workloads.model.dgs.plan_interpreter import run_plan
from streamlab.workloads.model.dgs.plan_text import plan_text
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, profile
from streamlab.workloads.model.dgs.validity import check_plan
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.optimizers import Choice, Costs, PlanRequest, choose, names
from streamlab.workloads.optimizers.appendix_b import INNER_NODES
from streamlab.workloads.optimizers.cost import plan_workers
from streamlab.workloads.optimizers.prediction import predict
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from streamlab.workloads.suite.keyed_counter.program import PROGRAM as KEYED_COUNTER
from streamlab.workloads.suite.page_view_join.program import PROGRAM as PAGE_VIEW_JOIN
from tests.across import PLUGS
from tests.examples import examples
from tests.workloads.model.plans import BAG, PROGRAMS, leaves, stream

COSTS = Costs(
    update_ns=1,
    order_ns=60,
    fork_join_ns=50,
    handover_ns=200,
    skip_ns=0.3,
    start_ns=50_000,
    cores=64,
)
OPTIMIZERS = ("appendix-b", "balanced", "by-stream", "cost", "leaf-per-stream")


def request(
    program: DGSProgram, streams: list[StreamProfile], workers: int, **given: object
) -> PlanRequest:
    alphabet = Alphabet(kinds=program.kinds, keys=len(streams[0].counts))
    return PlanRequest(
        program=program,
        alphabet=alphabet,
        streams=tuple(streams),
        workers=workers,
        **{"costs": lambda: COSTS, **given},
    )


def window(values: int, per_barrier: int, streams: int = 2) -> list[StreamProfile]:
    found = [stream(EVENT_WINDOW, f"value-{i}", (0,), [[values, 0]]) for i in range(streams)]
    barriers = values // per_barrier
    return [*found, stream(EVENT_WINDOW, "barrier", (1,), [[0, barriers]])]


def test_the_labs_own_optimizers_are_announced():
    assert set(OPTIMIZERS) <= set(names())


def test_an_unknown_optimizer_is_refused_with_the_known_ones():
    with pytest.raises(ModelError, match="no optimizer 'costs'; did you mean cost\\?"):
        choose("costs", request(EVENT_WINDOW, window(10, 1), 2))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_impossible_requests_are_refused(name):
    with pytest.raises(PlanError, match="workers is 0"):
        choose(name, request(EVENT_WINDOW, window(10, 1), 0))


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_plans_are_valid_and_give_the_sequential_answer(name, program):
    @settings(deadline=None, max_examples=examples(30))
    @given(inputs(program, max_events=8), st.integers(1, 6), st.randoms())
    def holds(data: Input, workers: int, rng: object) -> None:
        free = replace(COSTS, handover_ns=0, fork_join_ns=0, start_ns=0)
        asked = PlanRequest(
            program=program,
            alphabet=data.alphabet,
            streams=profile(data),
            workers=workers,
            costs=lambda: free,
        )
        plan = choose(name, asked).plan
        difference = compare(answer_of(program, data), run_plan(plan, data, rng), BAG)
        assert difference.equal, difference.render()

    holds()


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("keys", [1, 500])
def test_64_streams_and_1000_tags_are_planned(name, keys):
    """64 streams of an unkeyed program, and 1,000 tags (two kinds of 500 keys) in 64 streams.

    `make bench` times the same.
    """
    if keys == 1:
        program, streams = EVENT_WINDOW, window(10**9, 10**6, 63)
    else:
        program, rng = PAGE_VIEW_JOIN, np.random.default_rng(1)
        counts = rng.integers(0, 10**6, size=(64, keys))
        tables = [np.stack([c, np.zeros(keys, int)], axis=1) for c in counts[:63]]
        streams = [stream(program, f"view-{i}", (0,), table) for i, table in enumerate(tables)]
        updates = np.stack([np.zeros(keys, int), counts[63]], axis=1)
        streams.append(stream(program, "update", (1,), updates))
    check_plan(choose(name, request(program, streams, 64)).plan, streams)


def example_b1() -> list[StreamProfile]:
    """Figure 3's streams: r(2) at node 0, r(1) and i(1) at 1, i(2) at 2 and once more at 3."""
    increment, reset = 0, 1
    tables = [
        ("r2", (reset,), [[0, 0], [0, 10]]),
        ("r1", (reset,), [[0, 15], [0, 0]]),
        ("i1", (increment,), [[100, 0], [0, 0]]),
        ("i2a", (increment,), [[0, 0], [200, 0]]),
        ("i2b", (increment,), [[0, 0], [300, 0]]),
    ]
    assert KEYED_COUNTER.kinds == ("increment", "read_reset")
    return [stream(KEYED_COUNTER, name, kinds, table) for name, kinds, table in tables]


def test_appendix_b_makes_figure_3_of_example_b1():
    streams = example_b1()
    asked = request(KEYED_COUNTER, streams, 4, nodes=(0, 1, 1, 2, 3))
    plan = choose("appendix-b", asked).plan
    root_of = {key: tree.root for tree in plan.trees for key in tree.keys.tolist()}

    def occurring(tags: frozenset[ImplTag], key: int) -> set[str]:
        return {streams[t.stream].name for t in tags if streams[t.stream].counts[key, t.kind]}

    assert not root_of[0].children
    assert occurring(root_of[0].tags, 0) == {"r1", "i1"}
    assert root_of[0].worker == 1
    assert occurring(root_of[1].tags, 1) == {"r2"}
    assert root_of[1].worker == 0  # where r2 arrives
    assert [(leaf.worker, occurring(leaf.tags, 1)) for leaf in leaves(root_of[1])] == [
        (2, {"i2a"}),
        (3, {"i2b"}),
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "words"),
    [
        ("appendix-b", (0, 1), "2 nodes are given for 5 streams"),
        ("appendix-b", (0, 1, 1, 2, 4), "each must be a worker from 0 to 3"),
        ("by-stream", (0, 1, 1, 2, 3), "'by-stream' does not use nodes"),
    ],
)
def test_nodes_that_no_plan_can_follow_are_refused(name, nodes, words):
    with pytest.raises(PlanError, match=words):
        choose(name, request(KEYED_COUNTER, example_b1(), 4, nodes=nodes))


def test_appendix_b_takes_out_tags_one_by_one_where_by_stream_takes_out_a_kind():
    """A stream of values that are rarer than barriers goes above the others, with the barriers."""
    counts = [("rare", 0, 10), ("v1", 0, 300), ("v2", 0, 200), ("barrier", 1, 50)]
    streams = [
        stream(EVENT_WINDOW, name, (kind,), np.bincount([kind] * rate, minlength=2))
        for name, kind, rate in counts
    ]
    for name, above in (("appendix-b", {0, 3}), ("by-stream", {3})):
        root = choose(name, request(EVENT_WINDOW, streams, 3)).plan.trees[0].root
        assert {tag.stream for tag in root.tags} == above


def test_appendix_b_keeps_what_it_took_out_where_all_the_rest_is_on_one_node():
    streams = [
        stream(EVENT_WINDOW, "v0", (0,), [[100, 0]]),
        stream(EVENT_WINDOW, "barrier", (1,), [[0, 5]]),
        stream(EVENT_WINDOW, "v1", (0,), [[100, 0]]),
    ]
    root = choose("appendix-b", request(EVENT_WINDOW, streams, 2)).plan.trees[0].root
    assert not root.children
    assert root.tags == {ImplTag(0, 0), ImplTag(1, 1), ImplTag(0, 2)}
    assert root.worker == 0


def test_appendix_b_places_an_inner_node_without_tags_at_its_first_child():
    streams = window(1_000, 100, 4)
    nodes = (3, 2, 1, 0, 2)
    found = choose("appendix-b", request(EVENT_WINDOW, streams, 4, nodes=nodes))
    root = found.plan.trees[0].root
    assert root.worker == 2
    assert [(child.tags, child.worker) for child in root.children] == [
        (frozenset(), child.children[0].worker) for child in root.children
    ]
    check_plan(found.plan)
    assert "join/fork on worker 2" in plan_text(found.plan)
    assert found.reasons == (INNER_NODES,)


def test_an_inner_node_on_a_worker_that_the_plan_lacks_is_refused():
    plan = choose("appendix-b", request(EVENT_WINDOW, window(1_000, 100, 2), 2)).plan
    (tree,) = plan.trees
    outside = replace(plan, trees=(replace(tree, root=replace(tree.root, worker=2)),))
    with pytest.raises(PlanError, match=r"an inner node .* is on worker 2; workers are 0 to 1"):
        check_plan(outside)


def test_balanced_gives_each_key_to_one_worker():
    views = [
        stream(PAGE_VIEW_JOIN, f"view-{i}", (0,), [[90, 0], [50, 0], [45, 0]]) for i in range(2)
    ]
    updates = stream(PAGE_VIEW_JOIN, "update", (1,), [[0, 1], [0, 1], [0, 1]])
    plan = choose("balanced", request(PAGE_VIEW_JOIN, [*views, updates], 2)).plan
    assert {tree.root.worker: tree.keys.tolist() for tree in plan.trees} == {0: [0], 1: [1, 2]}
    assert all(not tree.root.children for tree in plan.trees)


@pytest.mark.parametrize(("per_barrier", "used"), [(10, 1), (100, 1), (1_000, 2), (10_000, 2)])
def test_cost_uses_a_second_worker_where_synchronizations_are_rare(per_barrier, used):
    choice = choose("cost", request(EVENT_WINDOW, window(10**7, per_barrier), 2))
    assert plan_workers(choice.plan) == used
    assert f"it uses {used} of 2 workers" in choice.reasons[-1]


def test_cost_takes_no_more_workers_than_cores():
    few = replace(COSTS, cores=2)
    choice = choose("cost", request(EVENT_WINDOW, window(10**7, 10**5, 8), 8, costs=lambda: few))
    assert choice.plan.workers == 2
    assert choice.reasons[-1].endswith("it uses 2 of 8 workers (2 cores)")


def test_cost_passes_over_keys_where_that_is_cheaper_than_to_synchronize():
    counts = np.zeros((50, 2), dtype=np.int64)
    counts[:, 0] = 1_000_000
    rare = np.zeros((50, 2), dtype=np.int64)
    rare[:, 1] = 200_000
    streams = [stream(PAGE_VIEW_JOIN, f"view-{i}", (0,), counts) for i in range(2)]
    streams.append(stream(PAGE_VIEW_JOIN, "update", (1,), rare))
    choice = choose("cost", request(PAGE_VIEW_JOIN, streams, 2))
    assert "chosen: 2 workers, balanced" in choice.reasons[-1]
    dear = replace(COSTS, skip_ns=100)
    choice = choose("cost", request(PAGE_VIEW_JOIN, streams, 2, costs=lambda: dear))
    assert "chosen: 1 worker;" in choice.reasons[-1]


def test_cost_does_not_measure_for_one_worker():
    def never() -> Costs:
        raise AssertionError

    choice = choose("cost", request(EVENT_WINDOW, window(100, 10), 1, costs=never))
    assert choice == Choice(plan=choice.plan)


def test_a_prediction_adds_up_what_the_slowest_worker_does():
    streams = [
        stream(EVENT_WINDOW, "value-0", (0,), [[1_000, 0]]),
        stream(EVENT_WINDOW, "value-1", (0,), [[400, 0]]),
        stream(EVENT_WINDOW, "barrier", (1,), [[0, 10]]),
    ]
    alone = predict(choose("by-stream", request(EVENT_WINDOW, streams, 1)).plan, streams, COSTS)
    assert alone.duration_ns == 1_400 * 1 + 10 * 60
    assert alone.synchronizations == 0
    both = predict(choose("by-stream", request(EVENT_WINDOW, streams, 2)).plan, streams, COSTS)
    assert both.duration_ns == 1_000 * 1 + 10 * (50 + 200) + 50_000
    assert both.synchronizations == 10


def test_events_across_keys_cost_what_they_concern_and_whom_they_make_wait():
    costs = replace(COSTS, cross_ns=10)
    loads = [[100, 0, 0, 0]] * 4
    nobody = [[0, 0, 0, 0]] * 4
    houses = [[0, 0, 3, 0], [0, 0, 0, 0], *nobody[2:]]  # of house 0, plugs 0 and 1
    slices = [[0, 0, 0, 5], *nobody[1:]]
    streams = [
        stream(PLUGS, "read", (0,), loads),
        stream(PLUGS, "house", (2,), houses),
        stream(PLUGS, "slice", (3,), slices),
    ]
    alone = predict(choose("by-stream", request(PLUGS, streams, 1)).plan, streams, costs)
    assert alone.duration_ns == 400 + 10 * (3 * 2 + 5 * 4)
    assert alone.synchronizations == 8
    both = predict(choose("balanced", request(PLUGS, streams, 2)).plan, streams, costs)
    slowest = 200 + 10 * (3 * 2 + 5 * 4) + 5 * (50 + 200) + 200 * 0.3  # passes over the others'
    assert both.duration_ns == slowest + 50_000
    assert both.synchronizations == 8


def test_a_deeper_tree_hands_over_at_each_level():
    streams = window(1_000, 100, 4)
    found = predict(choose("by-stream", request(EVENT_WINDOW, streams, 4)).plan, streams, COSTS)
    assert found.duration_ns == 1_000 + 10 * 2 * (50 + 200) + 3 * 50_000


def test_a_leaf_for_each_stream_is_a_deeper_tree_on_the_same_workers():
    streams = window(1_000, 100, 8)
    found = choose("leaf-per-stream", request(EVENT_WINDOW, streams, 2)).plan
    (tree,) = found.trees
    assert found.workers == 2
    assert [node.worker for node in leaves(tree.root)] == [0, 1] * 4
    assert {len(node.tags) for node in leaves(tree.root)} == {1}
    # A barrier climbs three levels, at each of which both workers meet.
    shallow = choose("by-stream", request(EVENT_WINDOW, streams, 2)).plan
    times = [predict(plan, streams, COSTS).steps[0].shared_joins for plan in (shallow, found)]
    assert times == [10, 30]


def test_a_leaf_for_each_stream_spreads_no_keys_and_with_more_workers_is_by_stream():
    streams = [
        stream(PAGE_VIEW_JOIN, "view-0", (0,), [[50, 0], [60, 0]]),
        stream(PAGE_VIEW_JOIN, "view-1", (0,), [[70, 0], [80, 0]]),
        stream(PAGE_VIEW_JOIN, "update", (1,), [[0, 3], [0, 4]]),
    ]
    found = choose("leaf-per-stream", request(PAGE_VIEW_JOIN, streams, 1)).plan
    assert [node.worker for tree in found.trees for node in leaves(tree.root)] == [0, 0]
    for workers in (2, 4):
        asked = request(PAGE_VIEW_JOIN, streams, workers)
        deep, usual = (choose(name, asked).plan for name in ("leaf-per-stream", "by-stream"))
        assert [tree.root for tree in deep.trees] == [tree.root for tree in usual.trees]
