"""forward, scale_join, nyse_hedge: oracles against loops, programs against oracles."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import streamlab.engines.multicore.kernels.library_functions  # noqa: F401  what int32 means to the compiler
from streamlab.workloads.model import Input, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.model.queries import answer
from tests.workloads.suite.streams import agreed, generated, in_order, rows

WS_MS = 5
FORWARD = workload("forward").bound({"copies": 3})
SCALE_JOIN = workload("scale_join").bound({"ws_ms": WS_MS, "shares": 3})
HEDGES = [
    workload("nyse_hedge").bound({"ws_ms": WS_MS, "shares": 3, **bounds})
    for bounds in ({}, {"upper": 1e30}, {"lower": 0.5, "upper": 3.0}, {"lower": -2.0, "upper": 0.0})
]
QUERIES = [FORWARD, SCALE_JOIN, *HEDGES]
NEAR = st.integers(-11, 11)
"""Many differences within the band of 10, on its edges and just outside; zeros among the prices."""

Pair = Callable[[dict[str, int], dict[str, int]], tuple[Any, ...] | None]


def pairs(data: Input, result: Pair) -> list[tuple[Any, ...]]:
    """Return (ts, *result) of every pair in the window that has a result, in no order."""
    events = list(in_order(data))
    found = []
    for left in (event for event in events if event[1] == 0):
        for right in (event for event in events if event[1] == 1):
            if abs(left[0] - right[0]) <= WS_MS:
                made = result(left[3], right[3])
                if made is not None:
                    found.append((max(left[0], right[0]) + 1, *made))
    return sorted(found)


def program_of(chosen: Workload) -> Any:
    assert not isinstance(chosen.program, DGSProgram)
    return chosen.program


def by_time(found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    assert [row[0] for row in found] == sorted(row[0] for row in found)
    return sorted(found)


@settings(deadline=None)
@given(inputs(FORWARD.program))
def test_forward_gives_every_tuple_once_for_each_copy(data: Input):
    expected = [
        (ts + 1, payload["id"], payload["value"])
        for ts, _, _, payload in in_order(data)
        for _ in range(3)
    ]
    assert rows(FORWARD, FORWARD.oracle(data)) == expected


@settings(deadline=None)
@given(inputs(SCALE_JOIN.program, values=NEAR))
def test_scale_join_gives_all_pairs_within_band_and_window(data: Input):
    def joined(left: dict[str, int], right: dict[str, int]) -> tuple[Any, ...] | None:
        if abs(left["x"] - right["a"]) > 10 or abs(left["y"] - right["b"]) > 10:
            return None
        return left["x"], left["y"], *(right[name] for name in "abcd")

    assert by_time(rows(SCALE_JOIN, SCALE_JOIN.oracle(data))) == pairs(data, joined)


@pytest.mark.parametrize("hedge", HEDGES, ids=lambda chosen: str(dict(chosen.query_params)))
@settings(deadline=None)
@given(data=st.data())
def test_nyse_hedge_gives_all_pairs_whose_ratio_of_distances_is_within_the_bounds(hedge, data):
    drawn = data.draw(inputs(hedge.program, values=NEAR))
    lower, upper = hedge.query_params["lower"], hedge.query_params["upper"]

    def hedged(left: dict[str, int], right: dict[str, int]) -> tuple[Any, ...] | None:
        if left["id"] == right["id"] or 0 in (left["average"], right["average"]):
            return None
        if left["price"] == left["average"]:
            return None
        # Ratios of numbers this small are further from the bounds than rounding goes, or exact.
        one, other = ((p["price"] - p["average"]) / p["average"] for p in (left, right))
        if not lower - 1e-12 <= other / one <= upper + 1e-12:
            return None
        return left["id"], left["price"], right["id"], right["price"]

    assert by_time(rows(hedge, hedge.oracle(drawn))) == pairs(drawn, hedged)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("chosen", QUERIES, ids=lambda chosen: f"{chosen.name}")
@settings(deadline=None, max_examples=examples(50))
@given(data=st.data())
def test_the_program_gives_what_the_oracle_says_on_any_number_of_instances(chosen, direct, data):
    drawn = data.draw(inputs(chosen.program, values=NEAR))
    instances = data.draw(st.integers(1, 4))
    given_answer = answer(program_of(chosen), drawn, instances=instances, direct=direct)
    difference = compare(chosen.oracle(drawn), given_answer, chosen.output)
    assert difference.equal, difference.render()


DENSE = {
    "forward": {"rate_eps": 700, "streams": 2},
    "scale_join": {"highest": 60, "left_eps": 700, "right_eps": 300, "streams": 2},
    "nyse_hedge": {"contrarian": 0.3, "seconds": 100, "mean_eps": 20, "peak_eps": 400},
}


@pytest.mark.parametrize("fraction_bits", [0, 10])
@pytest.mark.parametrize("name", DENSE)
def test_programs_and_oracles_agree_on_generated_input(name: str, fraction_bits: int):
    chosen = workload(name)
    if name == "scale_join":
        chosen = chosen.bound({"ws_ms": 200})
    params = DENSE[name] | ({"fraction_bits": fraction_bits} if name == "scale_join" else {})
    data = generated(chosen, params, 1500, seed=5)
    assert len(agreed(chosen, data)) > 1000


@pytest.mark.parametrize("name", ["scale_join", "nyse_hedge"])
def test_the_compiled_predicate_decides_as_the_oracle_does(name: str):
    """All pairs of a window that holds everything, with the predicate in machine code."""
    chosen = workload(name).bound({"ws_ms": 2**30})
    bits = {"fraction_bits": 10} if name == "scale_join" else {}
    data = generated(chosen, DENSE[name] | bits, 1600, seed=9)
    operator = program_of(chosen).operators[0]
    compiled = njit(operator.join.match)
    sides = []
    for kind, part in enumerate(operator.inputs):
        streams = [stream for stream in data.streams if stream.kinds == (kind,)]
        side = np.zeros(sum(map(len, streams)), dtype=part.fields)
        for field in part.fields.names:
            side[field] = np.concatenate([stream.payload[field] for stream in streams])
        sides.append(side)

    @njit
    def matches(left, right):
        count = 0
        for i in range(len(left)):
            for k in range(len(right)):
                if compiled(left[i], right[k]):
                    count += 1
        return count

    assert matches(*sides) == len(chosen.oracle(data)["ts"]) > 1000


def test_a_pair_as_far_apart_as_the_window_matches_and_one_further_does_not():
    chosen = workload("scale_join").bound({"ws_ms": 1000})
    params = {"highest": 1, "left_eps": 1, "right_eps": 1}
    data = generated(chosen, params, 20, seed=1)
    found = chosen.oracle(data)["ts"].tolist()
    # Tuples tie at each full second: one pair in the second, and one each with the one before.
    assert found == sorted([1, *(1000 * s + 1 for s in range(1, 10) for _ in range(3))])
