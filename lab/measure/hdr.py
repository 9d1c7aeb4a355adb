"""Writes and reads latency histograms in the log format of HdrHistogram (`.hlog`).

Any HdrHistogram tool opens such a file.
Each histogram is one line with a tag and the base64 of the compressed V2 encoding.
Values range from 1 ns to one hour, with 3 significant digits; larger values count as one hour.
A comment defines what each tag measures:

    #[Histogram log format version 1.2]
    #[Unit: ns]
    #[Definition latency: from due time of ... to emission]
    "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
    Tag=latency,0.000000,60.000000,1.234,HISTFAAAA...

Times are seconds after the start of the timed part; `Interval_Max` is in milliseconds.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from streamlab.engines.protocol import Histogram

LATENCY = "latency"
WARM_UP = "warm_up_latency"
SERVICE = "service_latency"
SEND_LAG = "send_lag"

LOWEST_NS = 1
HIGHEST_NS = 3_600_000_000_000
DIGITS = 3
_NS_PER_MS = 1e6
_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
_DEFINITION = re.compile(r"#\[Definition (\w+): (.*)\]$")


def write_log(histograms: Mapping[str, Histogram], duration_s: float, path: Path) -> None:
    """Write histograms atomically; they may be empty."""
    lines = ["#[Histogram log format version 1.2]", "#[Unit: ns]"]
    lines += [f"#[Definition {tag}: {h.definition}]" for tag, h in histograms.items()]
    lines.append(_LEGEND)
    for tag, histogram in histograms.items():
        encoded, highest_ns = _encode(histogram)
        lines.append(f"Tag={tag},0.000000,{duration_s:.6f},{highest_ns / _NS_PER_MS:.3f},{encoded}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
    partial.replace(path)


def read_log(content: bytes) -> dict[str, Histogram]:
    """Return the histograms, by tag, from the bytes of a file by `write_log`.

    Each value is the upper end of its bucket.
    """
    definitions: dict[str, str] = {}
    histograms: dict[str, Histogram] = {}
    for line in content.decode().splitlines():
        if match := _DEFINITION.match(line):
            definitions[match[1]] = match[2]
        if not line.startswith("Tag="):
            continue
        head, *_, encoded = line.split(",", 4)
        tag = head.removeprefix("Tag=")
        histograms[tag] = _decode(HdrHistogram.decode(encoded), definitions.get(tag, ""))
    return histograms


def _encode(histogram: Histogram) -> tuple[str, int]:
    target = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
    values = np.clip(histogram.values_ns, 0, HIGHEST_NS).tolist()
    for value, count in zip(values, histogram.counts.tolist(), strict=True):
        target.record_value(value, count)
    return target.encode().decode("ascii"), values[-1] if values else 0


def _decode(source: Any, definition: str) -> Histogram:
    counts = np.array(
        [source.get_count_at_index(index) for index in range(source.encoder.payload.counts_len)],
        dtype=np.int64,
    )
    (indices,) = np.nonzero(counts)
    values = [
        source.get_highest_equivalent_value(source.get_value_from_index(int(index)))
        for index in indices
    ]
    return Histogram(
        values_ns=np.array(values, dtype=np.int64), counts=counts[indices], definition=definition
    )
