"""Converts an engine's measurements to columns of the row."""

import json
import math
from collections.abc import Mapping

from streamlab.engines.errors import EngineCrashError
from streamlab.engines.protocol import Histogram, Measured, OfferedLoad, Sent
from streamlab.lab.measure import hdr
from streamlab.lab.measure.latency import percentiles

Result = dict[str, object]


def engine_columns(measured: Measured) -> Result:
    """Return the columns of counters and latency, without counters that are nan or inf."""
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
        latency = percentiles(measured.latency)
        columns["latency_definition"] = measured.latency.definition
        columns["latency_count"] = latency.count
        for name in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"):
            columns[f"latency_{name}"] = getattr(latency, name)
    if measured.service_latency is not None:
        service = percentiles(measured.service_latency)
        for name in ("p50_ns", "p99_ns", "max_ns"):
            columns[f"service_{name}"] = getattr(service, name)
    return columns


def counter_warnings(measured: Measured) -> list[str]:
    """Return texts about the counters that `engine_columns` drops."""
    return [
        f"counter {name} is {value}, not a finite number: it is left out"
        for name, value in measured.counters.items()
        if not math.isfinite(value)
    ]


def load_columns(sent: Sent, load: OfferedLoad, events: int, ran_ns: int) -> Result:
    """Return the columns of an offered load; all input events are due by `load.end_ns`.

    `ran_ns` is the time that the engine took, without work added by the lab.
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
    """Return the report of the source.

    Raises:
        EngineCrashError: the engine took a load but has no report of its source.
    """
    if measured.sent is None:
        raise EngineCrashError(
            "the engine took a load, but does not report what its source sent (Measured.sent)"
        )
    return measured.sent


def histograms(measured: Measured) -> Mapping[str, Histogram]:
    """Return all histograms, by their tag in the log."""
    lag = None if measured.sent is None or not measured.sent.own_thread else measured.sent.lag
    by_tag = {
        hdr.LATENCY: measured.latency,
        hdr.WARM_UP: measured.warm_up_latency,
        hdr.SERVICE: measured.service_latency,
        hdr.SEND_LAG: lag,
    }
    return {tag: histogram for tag, histogram in by_tag.items() if histogram is not None}
