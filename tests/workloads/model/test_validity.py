"""Validity: every rule of Definition 3.2 is enforced, with the tags that break it."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.workloads.model import Alphabet, PlanError
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.model.dgs.validity import check_plan
from streamlab.workloads.suite.event_window.program import PROGRAM
from streamlab.workloads.suite.keyed_counter.program import PROGRAM as KEYED

VALUE_0, VALUE_1, BARRIER = ImplTag(0, 0), ImplTag(0, 1), ImplTag(1, 2)


def leaf(*tags: ImplTag, worker: int = 0, ordering: frozenset[ImplTag] = frozenset()) -> PlanNode:
    return PlanNode(state="window", tags=frozenset(tags), ordering=ordering, worker=worker)


def inner(*children: PlanNode, tags: frozenset[ImplTag] = frozenset({BARRIER})) -> PlanNode:
    return PlanNode(state="window", tags=tags, children=children)


def plan(root: PlanNode, **changes: object) -> Plan:
    good = Plan(
        program=PROGRAM,
        alphabet=Alphabet(kinds=PROGRAM.kinds),
        streams=("value-0", "value-1", "barrier"),
        workers=2,
        trees=(Tree(root=root, keys=np.array([0], dtype=np.int32)),),
    )
    return replace(good, **changes)


GOOD = inner(leaf(VALUE_0), leaf(VALUE_1, worker=1))


def test_a_valid_plan_passes():
    check_plan(plan(GOOD))


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (
            inner(leaf(VALUE_0), leaf(BARRIER, worker=1), tags=frozenset()),
            r"V2: value \(stream value-0\) in the leaf on worker 0 .* and barrier \(stream "
            r"barrier\) in the leaf on worker 1 .* depend on each other",
        ),
        (
            inner(leaf(VALUE_0), leaf(VALUE_0, worker=1)),
            r"V2: value \(stream value-0\) is owned by both the leaf on worker 0",
        ),
        (
            inner(leaf(VALUE_0, BARRIER, ordering=frozenset({BARRIER})), leaf(worker=1)),
            r"V2: barrier \(stream barrier\) is owned by both an inner node",
        ),
        (replace(GOOD, state="nothing"), "V1: the root of tree 0 has state type nothing"),
        (
            inner(leaf(VALUE_0), replace(leaf(VALUE_1), state="nothing")),
            r"V1: .* needs a fork-join from window to \(window, nothing\)",
        ),
        (inner(leaf(VALUE_0)), "V1: .* has 1 children; it needs none or two"),
        (
            inner(leaf(VALUE_0), leaf(ImplTag(0, 7))),
            "V1: ImplTag.* does not exist; there are 2 kinds and 3 streams",
        ),
        (
            inner(leaf(VALUE_0), leaf(VALUE_1, worker=2)),
            "worker rule: .* is on worker 2; workers are 0 to 1",
        ),
        (
            leaf(VALUE_0, BARRIER),
            r"ordering rule: value \(stream value-0\) and barrier \(stream barrier\) depend",
        ),
        (leaf(VALUE_0, ordering=frozenset({BARRIER})), "V1: .* orders barrier .* does not own"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_refused_with_the_tags(root, message):
    with pytest.raises(PlanError, match=message):
        check_plan(plan(root))


def test_a_node_whose_state_type_cannot_process_its_kinds_is_refused():
    window = PROGRAM.states[0]
    part = replace(window, name="part", kinds=frozenset({"barrier"}))
    pair = replace(PROGRAM.parallel[0], second="part")
    program = replace(PROGRAM, states=(window, part), parallel=(pair,))
    root = inner(leaf(VALUE_0), replace(leaf(VALUE_1), state="part"))
    with pytest.raises(PlanError, match="processes value, which state type part cannot process"):
        check_plan(plan(root, program=program))


def test_children_without_a_fork_join_for_their_types_are_refused():
    program = replace(PROGRAM, parallel=())
    with pytest.raises(PlanError, match=r"needs a fork-join from window to \(window, window\)"):
        check_plan(plan(GOOD, program=program))


def test_a_tag_that_occurs_but_has_no_owner_is_refused():
    def occurs(kind: int) -> np.ndarray:
        return np.eye(2, dtype=np.int64)[[kind]]

    streams = tuple(
        StreamProfile(name=name, kinds=(kind,), counts=occurs(kind))
        for name, kind in (("value-0", 0), ("value-1", 0), ("barrier", 1))
    )
    check_plan(plan(GOOD), streams)
    lacking = inner(leaf(VALUE_0), leaf(VALUE_1), tags=frozenset())
    with pytest.raises(PlanError, match=r"barrier \(stream barrier\) occurs .* no node"):
        check_plan(plan(lacking), streams)
    with pytest.raises(PlanError, match="it is for streams"):
        check_plan(plan(GOOD), streams[:2])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([[0], [0, 1]], "key 0 is in 2 trees"),
        ([[1]], "key 0 is in 0 trees"),
        ([[0, 1, 2]], "tree 0 has key 2; keys are 0 to 1"),
    ],
)
def test_every_key_must_be_in_exactly_one_tree(keys, message):
    root = PlanNode(state="counter", tags=frozenset({ImplTag(0, 0)}), worker=0)
    forest = Plan(
        program=KEYED,
        alphabet=Alphabet(kinds=KEYED.kinds, keys=2),
        streams=("increment",),
        workers=1,
        trees=tuple(Tree(root=root, keys=np.array(some, dtype=np.int32)) for some in keys),
    )
    with pytest.raises(PlanError, match=message):
        check_plan(forest)
