"""Generates input in memory, without storing a dataset."""

import numpy as np

from streamlab.workloads.model import Alphabet, Input, Params, Stream, Workload


def generate_input(workload: Workload, params: Params, events: int, seed: int) -> Input:
    """Return the input that a workload generates.

    Args:
        workload: one with a generator.
        params: complete and checked, from `Workload.params`.
        events: approximate number of events.
        seed: equal seeds give equal input.
    """
    specs = workload.streams(params, events)
    streams = []
    for index, spec in enumerate(specs):
        columns = dict(workload.generate(params, seed, specs, index, 0, spec.events))
        ts, tag = columns.pop("ts"), columns.pop("tag", None)
        streams.append(
            Stream(
                name=spec.name,
                kinds=tuple(sorted(workload.program.kind_indices(spec.kinds))),
                ts=np.asarray(ts, dtype=np.int64),
                tag=None if tag is None else np.asarray(tag, dtype=np.int32),
                payload=columns,
            )
        )
    alphabet = Alphabet(kinds=workload.program.kinds, keys=workload.keys(params))
    return Input(alphabet=alphabet, streams=tuple(streams))
