"""Turns what an engine measured into columns of the result."""

import json
import math
from collections.abc import Mapping
from typing import Any

from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import Histogram, Measured, OfferedLoad, Sent
from streamlab.lab.measure import hdr
from streamlab.lab.measure.latency import percentiles

Result = dict[str, Any]


def engine_columns(measured: Measured) -> Result:
    """Return what the engine counted, and its latency, without counters of nan or inf."""
    counters = {name: float(value) for name, value in measured.counters.items()}
    finite = {name: value for name, value in counters.items() if math.isfinite(value)}
    columns: Result = {
        "events": measured.events,
        "plan": measured.plan,
        "counters": json.dumps(finite),
    }
    if "comparisons" in finite:
        columns["comparisons"] = int(finite["comparisons"])
    if measured.latency is not None:
        found = percentiles(measured.latency)
        columns |= {
            "latency_definition": measured.latency.definition,
            "latency_count": found.count,
            "latency_p50_ns": found.p50_ns,
            "latency_p90_ns": found.p90_ns,
            "latency_p99_ns": found.p99_ns,
            "latency_p999_ns": found.p999_ns,
            "latency_max_ns": found.max_ns,
        }
    if measured.service_latency is not None:
        found = percentiles(measured.service_latency)
        columns |= {
            "service_p50_ns": found.p50_ns,
            "service_p99_ns": found.p99_ns,
            "service_max_ns": found.max_ns,
        }
    return columns


def counter_warnings(measured: Measured) -> list[str]:
    """Return which counters `engine_columns` leaves out, in words."""
    return [
        f"counter {name} is {value}, no number: it is left out"
        for name, value in measured.counters.items()
        if not math.isfinite(value)
    ]


def load_columns(sent: Sent, load: OfferedLoad, events: int, ran_ns: int) -> Result:
    """Return what became of an offered load.

    Args:
        sent: what the source did.
        load: what it was asked to do.
        events: of the input, all of them due by `load.end_ns`.
        ran_ns: how long the engine took; without work that the lab added itself.
    """
    load_s = load.end_ns / 1e9
    lag = percentiles(sent.lag)
    return {
        "offered_eps": events / load_s if load_s > 0 else None,
        "emitted_eps": sent.events / load_s if load_s > 0 else None,
        "emitted_share": sent.events / events if events else None,
        "send_lag_p50_ns": lag.p50_ns,
        "send_lag_p99_ns": lag.p99_ns,
        "send_lag_max_ns": lag.max_ns,
        "drain_s": max(0, ran_ns - load.end_ns) / 1e9,
    }


def sent_of(measured: Measured) -> Sent:
    """Return what the source did.

    Raises:
        EngineCrashError: the engine took a load and does not say.
    """
    if measured.sent is None:
        raise EngineCrashError(
            "the engine took a load, but does not say what its source sent (Measured.sent)"
        )
    return measured.sent


def histograms(measured: Measured) -> Mapping[str, Histogram]:
    """Return all histograms by their tag in the log."""
    lag = None if measured.sent is None or not measured.sent.own_thread else measured.sent.lag
    found = {
        hdr.LATENCY: measured.latency,
        hdr.WARM_UP: measured.warm_up_latency,
        hdr.SERVICE: measured.service_latency,
        hdr.SEND_LAG: lag,
    }
    return {tag: histogram for tag, histogram in found.items() if histogram is not None}
