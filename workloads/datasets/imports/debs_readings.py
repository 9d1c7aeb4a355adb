"""Imports the loads of DEBS 2014 files as `power_readings` (docs/data.md).

Lines, layout and bad rows are those of the import kind `debs-2014`. Milliwatts become whole watts, rounded half up.
The files state no device. So plug p has the device type p modulo `DEVICE_TYPES`, as in the table that the prediction
joins.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from streamlab.workloads.datasets.imports.homes import DEBS_2014
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.stream_table import (
    StreamTable,
    event_columns,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.inputs.power_readings.schema import (
    DEVICE_TYPES,
    FIELDS,
    INPUT,
    READING,
)
from streamlab.workloads.model import Block

LAYOUT = ("houses", "households-per-house", "plugs-per-household")


def _share(
    households: int, plugs: int, count: int, index: int, blocks: Iterator[Block]
) -> Iterator[Block]:
    """Yield the readings of a stream. A plug's number is its key in `debs-2014`."""
    for share in share_rows("key", count, index, blocks):
        plug = np.asarray(share["key"])
        unit = plug // plugs
        yield {
            "ts": share["ts"],
            "plug": plug,
            "device": (plug % DEVICE_TYPES).astype(FIELDS["device"]),
            "unit": unit,
            "building": unit // households,
            "watts": ((np.asarray(share["load_mw"]).astype(np.int64) + 500) // 1000).astype(
                FIELDS["watts"]
            ),
        }


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    _, households, plugs = (options.settings[name] for name in LAYOUT)
    share = partial(_share, households, plugs)
    return numbered_streams(options.streams, "reading", event_columns(FIELDS), share)


DEBS_2014_READINGS = replace(
    DEBS_2014,
    name="debs-2014-readings",
    workload=INPUT,
    help="as debs-2014, with loads in watts and invented types of devices",
    check=None,
    kinds=(READING,),
    keys=None,
    streams=_streams,
    settings=tuple(setting for setting in DEBS_2014.settings if setting.name in LAYOUT),
    invents=(),
)
