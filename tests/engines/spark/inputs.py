"""Inputs of hand-written queries on Spark, with ties everywhere, and small query parameters."""

from dataclasses import replace

import numpy as np

from streamlab.engines.spark.workloads import PIPELINES
from streamlab.workloads.model import ListColumn, Query
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of, tied_input
from tests.workloads.suite.streams import generated

EVENTS, INSTANTS = 20_000, 4_000
PARAMS = {
    "forward": {"copies": 3},
    "longest_tweet_per_hashtag": {"wa_ms": 5, "ws_ms": 5},
    "nyse_hedge": {"ws_ms": 6},
    "paircount": {"wa_ms": 7, "ws_ms": 20, "distance": 2, "counting": "bag"},
    "scale_join": {"ws_ms": 9},
    "wordcount": {"wa_ms": 7, "ws_ms": 20},
    "declining_categories": {"stores": "all", "days": 40},
    "items_sold_together": {
        "categories": "all",
        "hour_ms": 600_000,
        "more_than": 2,
        "top": 7,
        "open_tickets": 3,
        "most_items": 4,
    },
    "items_viewed_together": {"top": 3, "most_items": 9, "hour_ms": 7 * 3_600_000},
    "last_views_before_purchase": {"top": 4, "views": 3, "categories": "all"},
}
"""Query parameters by workload, for small windows (some with gaps or overlaps), full lists, tickets and sessions that
are cut off, and a year that ends."""
RANGES = {"price": (95, 106), "average": (100, 101), "id": (0, 3)}
"""Values so that many pairs match; others are in [-20, 20)."""


def spark_input(name, seed):
    """Return an input of any workload with a hand-written query."""
    if name in PIPELINES:
        return pipeline_input(name)
    is_query = isinstance(workload(name).program, Query)
    return operator_input(name, seed) if is_query else tied_input(name, seed)


def operator_input(name, seed, *, mixed=False):
    """Return an input with ties, times before 1970, a gap, a stream without events, and different ends."""
    query = workload(name).program
    rng = np.random.default_rng(seed)
    kinds = [(kind,) for kind in range(len(query.kinds))]
    kinds = [*kinds, *kinds, (0,)]
    if mixed:
        kinds.append(tuple(range(len(query.kinds))))
    streams = []
    for index, stream_kinds in enumerate(kinds):
        rows = 0 if index == len(kinds) - 1 and not mixed else int(rng.integers(20, 60))
        ts = np.sort(rng.integers(-60, int(rng.integers(20, 60)), rows))
        ts[ts > 10] += 100
        fields, lists = {}, {}
        for kind in stream_kinds:
            input_type = query.operators[0].inputs[kind]
            fields |= {field: input_type.fields[field] for field in input_type.fields.names}
            lists |= dict(input_type.lists)
        payload = {
            field: rng.integers(*RANGES.get(field, (-20, 20)), rows).astype(dtype)
            for field, dtype in fields.items()
        }
        if "average" in payload:
            payload["average"][::7] = 0  # no average, no distance from it
        if "chars" in payload:
            payload["chars"] = np.abs(payload["chars"])
        for field, dtype in lists.items():
            payload[field] = ListColumn.of(
                [rng.integers(0, 6, rng.integers(0, 7)).tolist() for _ in range(rows)], dtype
            )
        if len(stream_kinds) > 1:
            payload["tag"] = rng.choice(stream_kinds, rows)
        streams.append((stream_kinds, ts, payload))
    return input_of(query.kinds, *streams)


def pipeline_input(name):
    """Three generated streams that share most of their event times."""
    chosen = workload(name)
    params = {**chosen.small, "streams": 3}
    data = generated(chosen, params, max(EVENTS, chosen.small_events), seed=4)
    times = np.concatenate([stream.ts for stream in data.streams])
    step = max(1, int(np.ptp(times)) // INSTANTS)
    coarse = [replace(stream, ts=stream.ts // step * step) for stream in data.streams]
    return replace(data, streams=tuple(coarse))
