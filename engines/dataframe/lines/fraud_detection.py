"""Detects fraud: sums between rules, derives a model from each sum, and scans with the current model."""

import numpy as np

from streamlab.engines.dataframe.markers import Part, column, ends, markers, run_sums
from streamlab.engines.dataframe.streams import Streams
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS


def answer(streams: Streams) -> list[Part]:
    """Return the aggregates of the rules, and each stream's fraudulent transactions."""
    rules = markers(streams, "value")
    cuts = {src: ends(rules, src, stream) for src, stream in streams.bulk}
    sums = np.zeros(len(rules), np.int64)
    for src, stream in streams.bulk:
        sums += run_sums(column(stream, "value"), cuts[src])
    models = np.concatenate([[0], (sums + rules.value) % MODULUS])
    kind = np.full(len(rules), AGGREGATE, np.int8)
    parts: list[Part] = [{"ts": rules.ts, "kind": kind, "value": sums, "src": rules.src}]
    for src, stream in streams.bulk:
        value = column(stream, "value")
        model = np.repeat(models, np.diff(cuts[src], prepend=0, append=len(stream)))
        fraud = np.flatnonzero(value % MODULUS == model)
        parts.append(
            {
                "ts": stream.ts[fraud],
                "kind": np.full(len(fraud), FRAUD, np.int8),
                "value": value[fraud],
                "src": np.full(len(fraud), src, np.int16),
            }
        )
    return parts
