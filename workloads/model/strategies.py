"""Hypothesis strategies for inputs of a program: several streams, ties in time, silent streams.

For tests of programs, of engines and of oracles. Values are small by default, so that sums stay
exact and collisions (equal payloads, equal residues) are frequent.
"""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from workloads.model.program import DGSProgram
from workloads.model.stream import Columns, Input, Stream
from workloads.model.tag import Alphabet

SMALL = st.integers(min_value=-3, max_value=3)


@st.composite
def inputs(
    draw: st.DrawFn,
    program: DGSProgram,
    *,
    layouts: Sequence[Sequence[tuple[str, ...]]] | None = None,
    max_keys: int = 3,
    max_events: int = 12,
    values: st.SearchStrategy[int] = SMALL,
) -> Input:
    """Draw an input.

    Args:
        draw: given by Hypothesis.
        program: whose kinds and payload the events have.
        layouts: possible lists of the kinds of each stream; by default one to three streams, each
            with any non-empty set of kinds.
        max_keys: most keys; unkeyed programs have one.
        max_events: most events of one stream.
        values: payload values.
    """
    keys = draw(st.integers(1, max_keys)) if program.keyed else 1
    alphabet = Alphabet(kinds=program.kinds, keys=keys)
    if layouts is None:
        kinds = st.sets(st.sampled_from(program.kinds), min_size=1).map(
            lambda names: tuple(name for name in program.kinds if name in names)
        )
        layout: Sequence[tuple[str, ...]] = draw(st.lists(kinds, min_size=1, max_size=3))
    else:
        layout = draw(st.sampled_from(list(layouts)))
    streams = tuple(
        draw(_streams(program, alphabet, f"stream-{index}", names, max_events, values))
        for index, names in enumerate(layout)
    )
    return Input(alphabet=alphabet, streams=streams)


@st.composite
def _streams(
    draw: st.DrawFn,
    program: DGSProgram,
    alphabet: Alphabet,
    name: str,
    names: tuple[str, ...],
    max_events: int,
    values: st.SearchStrategy[int],
) -> Stream:
    kinds = tuple(sorted(program.kind_indices(names)))
    # Few distinct times for many events: ties within and between streams are the rule.
    ts = sorted(draw(st.lists(st.integers(0, max_events), max_size=max_events)))
    n = len(ts)
    tag = None
    if len(kinds) > 1 or alphabet.keys > 1:
        codes = [kind + len(alphabet.kinds) * key for key in range(alphabet.keys) for kind in kinds]
        drawn = draw(st.lists(st.sampled_from(codes), min_size=n, max_size=n))
        tag = np.array(drawn, dtype=np.int32)
    payload: Columns = {}
    for field in program.event.names or ():
        dtype = program.event[field]
        column = draw(st.lists(values, min_size=n, max_size=n))
        payload[field] = np.array(column, dtype=np.int64).astype(dtype)
    return Stream(name=name, kinds=kinds, ts=np.array(ts, dtype=np.int64), tag=tag, payload=payload)
