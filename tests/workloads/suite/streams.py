"""Small inputs with ties, and inputs made by generators, for the oracle and generator tests."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import Alphabet, Columns, Input, Stream, Workload

LARGEST_TS = 12
"""Few timestamps, so that ties within and between streams are the rule."""


def generated(workload: Workload, params: dict[str, object], events: int, seed: int) -> Input:
    complete = workload.params(params)
    specs = workload.streams(complete, events)
    streams = []
    for index, spec in enumerate(specs):
        columns = workload.generate(complete, seed, specs, index, 0, spec.events)
        kinds = tuple(sorted(workload.program.kind_indices(spec.kinds)))
        streams.append(stream_of(spec.name, kinds, columns))
    alphabet = Alphabet(kinds=workload.program.kinds, keys=workload.keys(complete))
    return Input(alphabet=alphabet, streams=tuple(streams))


def stream_of(name: str, kinds: tuple[int, ...], columns: Columns) -> Stream:
    payload = {key: values for key, values in columns.items() if key not in ("ts", "tag")}
    return Stream(name=name, kinds=kinds, ts=columns["ts"], tag=columns.get("tag"), payload=payload)


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


def rows(workload: Workload, answer: Columns) -> list[tuple[int, ...]]:
    """Return an answer as records, after checking its columns against the output dtype."""
    output = workload.program.output
    assert {name: values.dtype for name, values in answer.items()} == {
        name: output[name] for name in output.names or ()
    }
    return list(zip(*(answer[name].tolist() for name in output.names or ()), strict=True))
