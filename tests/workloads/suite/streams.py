"""Small inputs with ties, and inputs made by generators, for the oracle and generator tests."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.datasets.generated_input import generate_input
from streamlab.workloads.model import Alphabet, Columns, Input, Stream, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of

LARGEST_TS = 12
"""Few timestamps, so that ties within and between streams are the rule."""


def generated(workload: Workload, params: dict[str, object], events: int, seed: int) -> Input:
    return generate_input(workload, workload.params(params), events, seed)


def inputs(workload: Workload, keys: int, values: st.SearchStrategy[int]) -> Any:
    """Any number of streams, of one kind or both, empty ones among them."""
    kinds = len(workload.program.kinds)
    names = workload.program.event.names or ()

    @st.composite
    def build(draw: st.DrawFn) -> Input:
        streams = []
        for index in range(draw(st.integers(0, 4))):
            allowed = draw(st.sampled_from([(0,), (1,), (0, 1)]))
            ts = sorted(draw(st.lists(st.integers(-3, LARGEST_TS), max_size=14)))
            tags = [
                draw(st.sampled_from(allowed)) + kinds * draw(st.integers(0, keys - 1)) for _ in ts
            ]
            payload = {
                name: np.array([draw(values) for _ in ts], dtype=workload.program.event[name])
                for name in names
            }
            plain = len(allowed) == 1 and keys == 1 and draw(st.booleans())
            streams.append(
                Stream(
                    name=f"s{index}",
                    kinds=allowed,
                    ts=np.array(ts, dtype=np.int64),
                    tag=None if plain else np.array(tags, dtype=np.int32),
                    payload=payload,
                )
            )
        alphabet = Alphabet(kinds=workload.program.kinds, keys=keys)
        return Input(alphabet=alphabet, streams=tuple(streams))

    return build()


def in_order(data: Input) -> Iterator[tuple[int, int, int, dict[str, int]]]:
    """Yield (ts, kind, key, payload) of all events in total order, one by one."""
    places = [
        (int(ts), index, row)
        for index, stream in enumerate(data.streams)
        for row, ts in enumerate(stream.ts)
    ]
    for ts, index, row in sorted(places):
        stream = data.streams[index]
        code = stream.kinds[0] if stream.tag is None else int(stream.tag[row])
        tag = data.alphabet.decode(code)
        payload = {name: int(values[row]) for name, values in stream.payload.items()}
        yield ts, tag.kind, tag.key, payload


def columns_of(data: Input) -> Columns:
    """Return the times and payload of all events, streams one after another."""
    names = data.streams[0].payload
    return {
        "ts": np.concatenate([stream.ts for stream in data.streams]),
        **{name: np.concatenate([s.payload[name] for s in data.streams]) for name in names},
    }


def agreed(workload: Workload, data: Input) -> list[tuple[int, ...]]:
    """Return the rows of the oracle's answer, after checking that the program gives it as well."""
    expected = workload.oracle(data)
    difference = compare(expected, answer_of(workload.program, data), workload.output)
    assert difference.equal, difference.render()
    return rows(workload, expected)


def rows(workload: Workload, answer: Columns) -> list[tuple[int, ...]]:
    """Return an answer as records, after checking its columns against the output dtype."""
    output = workload.program.output
    assert {name: values.dtype for name, values in answer.items()} == {
        name: output[name] for name in output.names or ()
    }
    return list(zip(*(answer[name].tolist() for name in output.names or ()), strict=True))
