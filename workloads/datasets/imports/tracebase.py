"""Imports tracebase's readings as `power_readings` (https://github.com/areinhardt/tracebase, docs/data.md).

The path names plug and appliance. Local times are read as if they were in UTC, so that a day begins at a multiple of
86,400 seconds. The files do not locate plugs, so units and buildings follow from the plug's number.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import PurePosixPath

import numpy as np

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.kind import ImportKind, Layout, Setting
from streamlab.workloads.datasets.stream_table import (
    event_columns,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.inputs.power_readings.schema import (
    FIELDS,
    INPUT,
    PLUGS_PER_UNIT,
    READING,
    UNITS_PER_BUILDING,
)
from streamlab.workloads.model import Block

MEANS = ("1s", "8s")
"""Columns of a line after the time: the mean power in watts over 1 s and over 8 s."""
_NAME = re.compile(r"(?:dev|device)?_(?P<plug>[^_]+)_\d{4}\.\d{2}\.\d{2}\.csv")
_PATH = "<appliance>/dev_<plug>_<yyyy.mm.dd>.csv"
_MAX_WATTS = 999_999_999
"""Nine digits, which fit int32."""


def _columns(mean: str, cells: Cells) -> dict[str, object]:
    """Return appliance, plug and watts; the path names plug and appliance."""
    appliance, plug = _plug(cells.part.place)
    watts = {name: cells.integers(name, _MAX_WATTS) for name in MEANS}
    return {
        "ts": cells.times("time"),
        "appliance": pa.repeat(appliance, len(cells)),
        "plug": pa.repeat(plug, len(cells)),
        "watts": watts[mean],
    }


@cache
def _plug(place: str) -> tuple[str, str]:
    """Return the appliance of a text, and its plug as `appliance/plug`."""
    path = PurePosixPath(place.rpartition("!")[2])
    parts = _NAME.fullmatch(path.name)
    if parts is None or not path.parent.name:
        raise DatasetError(
            f"{place} is not named {_PATH}, as all files of tracebase are; give only such files with --file"
        )
    return path.parent.name, f"{path.parent.name}/{parts['plug']}"


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the readings of one stream, with the unit and building of each plug."""
    for share in share_rows("plug", count, index, blocks):
        unit = np.asarray(share["plug"]) // PLUGS_PER_UNIT
        building = unit // UNITS_PER_BUILDING
        yield {**share, "device": share["appliance"], "unit": unit, "building": building}


TRACEBASE = ImportKind(
    name="tracebase",
    workload=INPUT,
    help="readings of plugs as in tracebase: lines of dd/mm/yyyy HH:MM:SS;watts;watts in files "
    f"{_PATH}",
    file_format=Layout(names=("time", *MEANS), delimiter=";"),
    transform=lambda options: partial(_columns, options.settings["mean"]),
    time="%d/%m/%Y %H:%M:%S",
    columns=(("appliance", "string"), ("plug", "string"), ("watts", "int32")),
    dictionaries={"plugs": "plug", "appliances": "appliance"},
    kinds=(READING,),
    streams=lambda options, entries: numbered_streams(
        options.streams, "reading", event_columns(FIELDS), _share
    ),
    unit="s",
    settings=(
        Setting.choice(
            name="mean",
            choices=MEANS,
            default="1s",
            help="Mean power to use: over 1 s or 8 s.",
        ),
    ),
    sorts=True,
)
