"""Events across keys: allowed declarations, their meaning, and every plan against it."""

import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import (
    Across,
    Alphabet,
    Input,
    ModelError,
    PlanError,
    ProgramError,
    Stream,
)
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.dgs.cross_key_events import StateList
from streamlab.workloads.model.dgs.dependence import independent_parts, keys_together
from streamlab.workloads.model.dgs.plan_interpreter import run_plan
from streamlab.workloads.model.dgs.reference import KeyedRun
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.records import Emitter
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.model.streams.tag import Tag
from streamlab.workloads.model.streams.total_order import merge
from streamlab.workloads.optimizers import PlanRequest, choose
from tests.across import HOUSE, KINDS, PLUGS, READ, RESET, SLICE, house_of
from tests.examples import examples
from tests.workloads.model.dataflow.parts import rows
from tests.workloads.suite.streams import in_order


def one_stream(*events, keys):
    """Return an input of (ts, kind, key, value)."""
    ts, kind, key, value = (
        np.array(column, dtype=np.int64) for column in zip(*events, strict=True)
    )
    tag = (kind + len(KINDS) * key).astype(np.int32)
    stream = Stream(name="all", kinds=(0, 1, 2, 3), ts=ts, tag=tag, payload={"value": value})
    return Input(alphabet=Alphabet(kinds=KINDS, keys=keys), streams=(stream,))


def plan_for(data, how, workers):
    request = PlanRequest(
        program=PLUGS, alphabet=data.alphabet, streams=profile(data), workers=workers
    )
    return choose(how, request).plan


EVENTS = [
    (0, READ, 0, 5),
    (1, READ, 1, 7),
    (1, READ, 2, 100),
    (2, HOUSE, 0, 0),
    (3, SLICE, 0, 0),
    (4, READ, 0, 1),
    (5, RESET, 0, 0),
    (6, HOUSE, 0, 0),
    (7, HOUSE, 1, 0),
]


def test_an_event_across_keys_reads_and_changes_the_states_of_its_keys():
    answer = answer_of(PLUGS, one_stream(*EVENTS, keys=4))
    assert rows(answer) == [
        (2, HOUSE, 0, 1, 12),
        (3, SLICE, 0, 1, 5),
        (3, SLICE, 1, 1, 7),
        (3, SLICE, 2, 1, 100),
        (3, SLICE, 3, 0, 0),
        (5, RESET, 0, 1, 3),
        (6, HOUSE, 0, 2, 3),
        (7, HOUSE, 1, 1, 50),
    ]


def oracle(data):
    """Return the answer of `PLUGS`, computed without it."""
    keys = data.alphabet.keys
    sums, counts, asked, found = [0] * keys, [0] * keys, {}, []
    for ts, kind, key, payload in in_order(data):
        value = payload["value"]
        if kind == READ:
            sums[key] += value
            counts[key] += 1
        elif kind == RESET:
            found.append((ts, RESET, key, counts[key], sums[key]))
            sums[key] = counts[key] = 0
        elif kind == HOUSE:
            asked[key] = asked.get(key, 0) + 1
            total = sum(sums[plug] for plug in range(keys) if plug // 2 == key)
            found.append((ts, HOUSE, key, asked[key], total))
        else:
            found += [(ts, SLICE, plug, counts[plug], sums[plug]) for plug in range(keys)]
            sums, counts = [total // 2 for total in sums], [0] * keys
    return sorted(found)


@settings(max_examples=examples(200))
@given(
    inputs(PLUGS, max_keys=5),
    st.integers(1, 5),
    st.sampled_from(["by-stream", "balanced", "appendix-b"]),
    st.randoms(use_true_random=False),
)
def test_every_plan_in_any_interleaving_gives_the_sequential_answer(data, workers, how, rng):
    expected = oracle(data)
    assert sorted(rows(answer_of(PLUGS, data))) == expected
    assert sorted(rows(run_plan(plan_for(data, how, workers), data, rng))) == expected


@pytest.mark.parametrize("how", ["by-stream", "balanced", "appendix-b"])
def test_a_key_that_is_only_reset_has_a_worker(how):
    def stream(name, kind, key):
        tag = np.array([kind + len(KINDS) * key], np.int32)
        payload = {"value": np.array([1])}
        return Stream(name=name, kinds=(kind,), ts=np.array([0]), tag=tag, payload=payload)

    alphabet = Alphabet(kinds=KINDS, keys=2)
    data = Input(alphabet=alphabet, streams=(stream("a", READ, 0), stream("b", RESET, 1)))
    for workers in (1, 2):
        answer = run_plan(plan_for(data, how, workers), data, random.Random(workers))
        assert sorted(rows(answer)) == oracle(data)


def test_dependence_is_a_relation_on_kinds_and_keys():
    def dependent(one, two):
        found = PLUGS.dependent(Tag(*one), Tag(*two))
        assert PLUGS.dependent(Tag(*two), Tag(*one)) == found
        return found

    assert not dependent((READ, 0), (READ, 0))
    assert dependent((RESET, 0), (READ, 0))
    assert not dependent((RESET, 0), (READ, 1))
    assert dependent((HOUSE, 1), (READ, 2))
    assert dependent((HOUSE, 1), (RESET, 3))
    assert not dependent((HOUSE, 1), (READ, 0))
    assert dependent((HOUSE, 1), (HOUSE, 1))
    assert not dependent((HOUSE, 1), (HOUSE, 0))
    assert all(dependent((SLICE, 0), (kind, 0)) for kind in range(4))
    assert dependent((SLICE, 0), (READ, 4))
    assert dependent((SLICE, 0), (HOUSE, 1))


def test_events_across_keys_join_their_keys_to_parts():
    alphabet = Alphabet(kinds=KINDS, keys=5)
    whole = independent_parts(PLUGS, alphabet)
    assert set(whole.tolist()) == {0}
    houses = replace(PLUGS, kinds=KINDS[:3], across=PLUGS.across[:1])
    parts = independent_parts(houses, Alphabet(kinds=KINDS[:3], keys=5)).reshape(5, 3)
    assert parts[:, READ].tolist() == [0, 0, 1, 1, 2]
    assert parts[:3, HOUSE].tolist() == [0, 1, 2]


def test_groups_that_share_keys_are_one_part():
    def pairs(key):
        return (key + 1) // 2

    both = replace(
        PLUGS,
        across=(
            PLUGS.across[0],
            Across(name="pairs", kinds=("slice",), update=PLUGS.across[1].update, group=pairs),
        ),
    )
    assert keys_together(both, 6).tolist() == [0] * 6
    assert keys_together(PLUGS, 6).tolist() == [0, 0, 1, 1, 2, 2]


def test_balanced_keeps_the_keys_of_a_group_with_one_worker():
    events = [(ts, READ, ts % 8, 1) for ts in range(80)]
    data = one_stream(*events, (80, HOUSE, 3, 0), keys=8)
    plan = plan_for(data, "balanced", 3)
    worker = {key: tree.root.worker for tree in plan.trees for key in tree.keys.tolist()}
    assert all(worker[key] == worker[2 * house_of(key)] for key in range(8))
    assert len(set(worker.values())) == 3


def test_a_group_without_keys_is_refused():
    data = one_stream((0, READ, 0, 1), (1, HOUSE, 2, 0), keys=4)
    where = "group 2, but none of the 4 keys is in it"
    with pytest.raises(ModelError, match=where):
        answer_of(PLUGS, data)
    with pytest.raises(PlanError, match=f"stream all: .*{where}"):
        plan_for(data, "by-stream", 2)


def test_an_event_of_every_key_has_key_0():
    data = one_stream((0, SLICE, 1, 0), keys=4)
    with pytest.raises(ModelError, match="an event with key 1, but it concerns every key"):
        answer_of(PLUGS, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keyed": False}, "has events across keys .house., but is not keyed"),
        ({"across": (PLUGS.across[0],) * 2}, "share a name"),
        (
            {"across": (PLUGS.across[0], replace(PLUGS.across[1], kinds=("house",)))},
            "kinds across keys share a name",
        ),
        ({"across": (replace(PLUGS.across[0], kinds=("door",)),)}, "unknown kinds .'door'."),
        ({"across": (replace(PLUGS.across[0], kinds=KINDS),)}, "every kind is across keys"),
        (
            {"states": (PLUGS.states[0], replace(PLUGS.states[0], name="h", kinds={"house"}))},
            "state type h: .'house'. are across keys",
        ),
        ({"across": (replace(PLUGS.across[0], name="plug"),)}, "share a name"),
    ],
)
def test_a_program_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(ProgramError, match=message):
        replace(PLUGS, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": ()}, "has no kinds"),
        ({"max_outputs": -1}, "neither can be negative"),
        ({"state": np.dtype(np.int64)}, "is not a structured dtype"),
    ],
)
def test_an_across_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ProgramError, match=message):
        replace(PLUGS.across[0], **change)


@pytest.mark.parametrize("group", [-1, 0.5, None, 2**31])
def test_an_impossible_group_is_refused(group):
    across = replace(PLUGS.across[0], group=lambda key: group)
    with pytest.raises(ProgramError, match=f"the group of key 0 is {group}"):
        across.groups(3)


def test_groups_far_apart_take_no_more_memory_than_near_ones():
    apart = replace(PLUGS.across[0], group=lambda plug: plug // 2 * 10**9)
    program = replace(PLUGS, across=(apart, PLUGS.across[1]))
    assert keys_together(program, 4).tolist() == [0, 0, 1, 1]


def test_members_end_where_they_end():
    members = StateList([4, 7], ["a", "b"])
    assert list(members) == ["a", "b"]
    assert [members.key(i) for i in range(len(members))] == [4, 7]
    with pytest.raises(IndexError, match="index -1 of 2 members"):
        members[-1]


def test_a_run_resumes_from_the_state_of_another():
    data = one_stream(*EVENTS, keys=4)
    events = list(merge(data, PLUGS).events(PLUGS))
    out = Emitter(PLUGS.output)
    first = KeyedRun(PLUGS, 4)
    for event in events[:6]:
        first.process(event, out)
    second = KeyedRun(PLUGS, 4)
    second.restore(pickle.loads(pickle.dumps(first.state())))
    for event in events[6:]:
        second.process(event, out)
    assert rows(out.columns(PLUGS.output)) == rows(answer_of(PLUGS, data))


def test_outputs_of_a_program_with_events_across_keys_are_in_no_order_by_themselves():
    output = inferred_output(PLUGS)
    assert not output.depends(Tag(0, 0), Tag(0, 0))
