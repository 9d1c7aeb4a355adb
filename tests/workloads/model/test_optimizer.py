"""The optimizer: where tags go, that plans are valid, and that they compute the right answer."""

import random
from dataclasses import replace

import numpy as np
import pytest

from streamlab.workloads.model import (
    Alphabet,
    DGSProgram,
    Input,
    PlanError,
    Stream,
)
from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.model.dgs.placement import lpt
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode
from streamlab.workloads.model.dgs.plan_interpreter import run_plan
from streamlab.workloads.model.dgs.stream_profile import StreamProfile, profile
from streamlab.workloads.model.dgs.validity import check_plan
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.suite.event_window.program import PROGRAM as EVENT_WINDOW
from streamlab.workloads.suite.page_view_join.program import PROGRAM as PAGE_VIEW_JOIN
from tests.across import PLUGS
from tests.workloads.model.plans import leaves, stream


def plan_of(program: DGSProgram, streams: list[StreamProfile], workers: int) -> Plan:
    alphabet = Alphabet(kinds=program.kinds, keys=len(streams[0].counts))
    plan = choose_plan(program, alphabet, streams, workers)
    check_plan(plan, streams)
    return plan


def window_streams(*sizes: int, barriers: int = 1) -> list[StreamProfile]:
    values = [stream(EVENT_WINDOW, f"value-{i}", (0,), [[size, 0]]) for i, size in enumerate(sizes)]
    return [*values, stream(EVENT_WINDOW, "barrier", (1,), [[0, barriers]])]


def test_with_events_across_keys_each_worker_reads_its_own_streams():
    def read(name: str, *counts: int) -> StreamProfile:
        return stream(PLUGS, name, (0,), [[count, 0, 0, 0] for count in counts])

    slices = stream(PLUGS, "slice", (3,), [[0, 0, 0, 9], *[[0, 0, 0, 0]] * 5])
    parted = [read("read-0", 5, 0, 5, 0, 0, 0), read("read-1", 0, 0, 0, 0, 7, 0), slices]
    trees = plan_of(PLUGS, parted, 2).trees
    # A plug that is never heard of goes with the one before.
    assert {(*tree.keys.tolist(), *tree.root.tags) for tree in trees} == {
        (0, 1, 2, 3, ImplTag(0, 0)),
        (4, 5, ImplTag(0, 1)),
    }
    assert {leaf.worker for tree in trees for leaf in leaves(tree.root)} == {0, 1}
    shared = [read("read-0", 5, 0, 5, 0, 0, 0), read("read-1", 5, 5, 5, 5, 5, 5), slices]
    for tree in plan_of(PLUGS, shared, 2).trees:
        tags = frozenset().union(*(node.tags for node in tree.root.walk()))
        assert ImplTag(0, 1) in tags
    mixed = [read("read-0", 5, 0, 5, 0, 1, 1), read("read-1", 0, 5, 5, 5, 0, 1), slices]
    mixed += [read("read-2", 0, 0, 5, 5, 5, 0)]
    for tree in plan_of(PLUGS, mixed, 2).trees:
        assert frozenset().union(*(node.tags for node in tree.root.walk())) == {
            ImplTag(0, index) for index in (0, 1, 3)
        }


def test_values_go_to_leaves_and_barriers_above_them():
    root = plan_of(EVENT_WINDOW, window_streams(100, 100), 2).trees[0].root
    assert root.tags == {ImplTag(1, 2)}
    assert [leaf.tags for leaf in leaves(root)] == [{ImplTag(0, 0)}, {ImplTag(0, 1)}]
    assert [leaf.worker for leaf in leaves(root)] == [0, 1]


def test_one_worker_gets_a_single_leaf_that_orders_by_the_rare_kind():
    root = plan_of(EVENT_WINDOW, window_streams(100, 100), 1).trees[0].root
    assert not root.children
    assert root.tags == {ImplTag(0, 0), ImplTag(0, 1), ImplTag(1, 2)}
    assert root.ordering == {ImplTag(1, 2)}


def test_streams_of_one_worker_share_a_leaf_and_loads_are_balanced():
    root = plan_of(EVENT_WINDOW, window_streams(60, 30, 30), 2).trees[0].root
    assert {leaf.tags for leaf in leaves(root)} == {
        frozenset({ImplTag(0, 0)}),
        frozenset({ImplTag(0, 1), ImplTag(0, 2)}),
    }


def test_workers_without_independent_work_stay_idle():
    plan = plan_of(EVENT_WINDOW, window_streams(10, 10), 64)
    assert plan.workers == 64
    assert len(leaves(plan.trees[0].root)) == 2


def test_trees_are_balanced():
    root = plan_of(EVENT_WINDOW, window_streams(*[10] * 64), 64).trees[0].root

    def depth(node: PlanNode) -> int:
        return 1 + max((depth(child) for child in node.children), default=0)

    assert depth(root) == 7
    assert sum(len(node.tags) for node in root.walk() if node.children) == 1


def test_input_without_events_keeps_barriers_above_values():
    root = plan_of(EVENT_WINDOW, window_streams(0, 0, barriers=0), 2).trees[0].root
    assert root.tags == {ImplTag(1, 2)}


def test_keys_of_one_stream_are_spread_over_the_workers_by_their_events():
    views = stream(PAGE_VIEW_JOIN, "view", (0,), [[90, 0], [50, 0], [45, 0]])
    updates = stream(PAGE_VIEW_JOIN, "update", (1,), [[0, 1], [0, 1], [0, 1]])
    plan = plan_of(PAGE_VIEW_JOIN, [views, updates], 2)
    keys_of = {tree.root.worker: tree.keys.tolist() for tree in plan.trees}
    assert keys_of == {0: [0], 1: [1, 2]}
    assert all(not tree.root.children for tree in plan.trees)


def test_a_key_that_occurs_in_one_stream_only_needs_no_synchronization():
    counts = [[[5, 0], [0, 0]], [[0, 0], [5, 0]]]
    streams = [stream(PAGE_VIEW_JOIN, f"view-{i}", (0,), table) for i, table in enumerate(counts)]
    plan = plan_of(PAGE_VIEW_JOIN, streams, 2)
    assert [tree.keys.tolist() for tree in plan.trees] == [[0], [1]]
    assert all(not tree.root.children for tree in plan.trees)


def test_a_self_dependent_kind_in_two_streams_stays_in_one_leaf():
    streams = [stream(PAGE_VIEW_JOIN, f"update-{i}", (1,), [[0, 9 - i]]) for i in range(2)]
    root = plan_of(PAGE_VIEW_JOIN, streams, 2).trees[0].root
    assert root.tags == {ImplTag(1, 0), ImplTag(1, 1)}
    assert len(root.ordering) == 1


def test_independent_parts_of_an_unkeyed_program_meet_in_a_root_without_tags():
    apart = replace(EVENT_WINDOW, depends=lambda a, b: a.kind == b.kind == 1)
    root = plan_of(apart, window_streams(10, barriers=10), 2).trees[0].root
    assert root.tags == frozenset()
    assert {leaf.tags for leaf in leaves(root)} == {
        frozenset({ImplTag(0, 0)}),
        frozenset({ImplTag(1, 1)}),
    }


def test_a_program_without_fork_join_gets_one_leaf():
    alone = replace(EVENT_WINDOW, parallel=())
    root = plan_of(alone, window_streams(10, 10), 2).trees[0].root
    assert not root.children
    assert len(root.tags) == 3


def test_state_types_follow_the_kinds_that_they_can_process():
    first = EVENT_WINDOW.states[0]
    part = replace(first, name="part", kinds=frozenset({"value"}))
    pair = replace(EVENT_WINDOW.parallel[0], first="part", second="part")
    back = replace(pair, parent="part")
    program = replace(EVENT_WINDOW, states=(first, part), parallel=(pair, back))
    root = plan_of(program, window_streams(10, 10, 10), 3).trees[0].root
    assert [node.state for node in root.walk()] == ["window", "part", "part", "part", "part"]


def test_a_forest_of_many_keys_has_each_key_once():
    keys = 35_000
    rng = np.random.default_rng(1)

    def counts(kind: int) -> np.ndarray:
        table = np.zeros((keys, 2), dtype=np.int64)
        table[:, kind] = np.minimum(rng.zipf(1.5, keys), 10**6) * (rng.random(keys) < 0.8)
        return table

    streams = [stream(PAGE_VIEW_JOIN, f"view-{i}", (0,), counts(0)) for i in range(2)]
    streams.append(stream(PAGE_VIEW_JOIN, "update", (1,), counts(1)))
    plan = choose_plan(PAGE_VIEW_JOIN, Alphabet(kinds=PAGE_VIEW_JOIN.kinds, keys=keys), streams, 8)
    check_plan(plan, streams)
    assert sum(len(tree.keys) for tree in plan.trees) == keys


def test_lpt_is_within_its_bound_of_a_perfect_split():
    loads = np.random.default_rng(3).integers(1, 1000, size=500)
    bins = lpt(loads, 7)
    sums = np.bincount(bins, weights=loads, minlength=7)
    assert sums.max() <= (4 / 3) * max(loads.sum() / 7, loads.max())


@pytest.mark.parametrize(
    ("workers", "streams", "keys", "message"),
    [
        (0, window_streams(1), 1, "workers is 0; it must be at least 1"),
        (1, [], 1, "no streams"),
        (1, window_streams(1), 2, "not keyed"),
    ],
)
def test_impossible_requests_are_refused(workers, streams, keys, message):
    with pytest.raises(PlanError, match=message):
        choose_plan(EVENT_WINDOW, Alphabet(kinds=EVENT_WINDOW.kinds, keys=keys), streams, workers)


def test_a_wrong_join_gives_a_wrong_answer_under_some_plan():
    def forgetful(first: object, second: object, state: object) -> None:
        state.sum = first.sum

    pair = replace(EVENT_WINDOW.parallel[0], join=forgetful)
    program = replace(EVENT_WINDOW, parallel=(pair,))
    one = np.array([1], dtype=np.int64)
    streams = tuple(
        Stream(name=f"value-{i}", kinds=(0,), ts=one, payload={"value": one}) for i in range(2)
    )
    data = Input(
        alphabet=Alphabet(kinds=program.kinds),
        streams=(*streams, Stream(name="barrier", kinds=(1,), ts=one + 1)),
    )
    plan = choose_plan(program, data.alphabet, profile(data), 2)
    assert run_plan(plan, data, random.Random(0))["sum"].tolist() == [1]
    assert answer_of(program, data)["sum"].tolist() == [2]
