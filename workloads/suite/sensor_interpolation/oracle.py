"""Computes the expected averages, by running sums over the filled-in values."""

import numpy as np

from streamlab.workloads.datasets.total_order import final_watermark
from streamlab.workloads.inputs.power_readings.gap_filling import fill, readings
from streamlab.workloads.inputs.power_readings.schema import PLUGS_PER_UNIT
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.sensor_interpolation.places import PLACE_KINDS


def oracle(
    data: Input,
    markers_s: int,
    longest_gap_s: int,
    most_watts: int,
    table_plugs: int,
    place_kinds: int,
    maximum: bool,
) -> Columns:
    """Return (ts, plug, average_mw, seconds) by marker, then plug."""
    events = readings(data)
    selected = np.less_equal(events["watts"], most_watts)
    if table_plugs:
        plugs = np.asarray(events["plug"]).astype(np.int64)
        kinds = plugs // PLUGS_PER_UNIT % PLACE_KINDS
        selected = selected & (plugs >= 0) & (plugs < table_plugs) & (kinds < place_kinds)
    valid = np.flatnonzero(selected)
    values = fill({name: column[valid] for name, column in events.items()}, longest_gap_s)
    begins = np.flatnonzero(np.diff(values.plug, prepend=values.plug[:1] - 1))
    ends = np.append(begins[1:], len(values.plug))
    total = np.cumsum(values.load_mw)
    ts, plug, average, seconds = [], [], [], []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=False):
        first = int(values.end_ts[begin])
        watermark = final_watermark(data, np.asarray(events["ts"]))
        markers = np.arange((first // markers_s + 1) * markers_s, watermark + 1, markers_s)
        values_so_far = np.searchsorted(values.end_ts[begin:end], markers)
        ts.append(markers)
        plug.append(np.full(len(markers), values.plug[begin]))
        if maximum:
            blocks = values.end_ts[begin:end] // markers_s
            firsts = np.flatnonzero(np.diff(blocks, prepend=blocks[0] - 1))
            sums = np.add.reduceat(values.load_mw[begin:end], firsts)
            counts = np.diff(firsts, append=end - begin)
            greatest = np.maximum.accumulate((2 * sums + counts) // (2 * counts))
            average.append(greatest[np.searchsorted(firsts, values_so_far) - 1])
        else:
            summed = total[begin + values_so_far - 1] - total[begin] + values.load_mw[begin]
            average.append((2 * summed + values_so_far) // (2 * values_so_far))
        seconds.append(values_so_far)
    columns = {"ts": ts, "plug": plug, "average_mw": average, "seconds": seconds}
    table = {
        name: np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
        for name, parts in columns.items()
    }
    order = np.lexsort((table["plug"], table["ts"]))
    return {name: column[order] for name, column in table.items()}
