"""Imports tracebase's readings as `power_readings` (https://github.com/areinhardt/tracebase, docs/data.md).

The path names plug and appliance. Local times are kept as written, in seconds since 1970 as if in UTC, so that a day
begins at a multiple of 86,400. The files do not locate plugs: units and buildings follow from the plug's number.
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
_NAME = re.compile(r"(?:dev|device)?_(?P<plug>[^_]+)_\d{4}\.\d{2}\.\d{2}\.csv")
_PATH = "<appliance>/dev_<plug>_<yyyy.mm.dd>.csv"
_MOST_WATTS = 999_999_999


def _columns(mean: str, cells: Cells) -> dict[str, object]:
    """Return appliance, plug and watts; the path names plug and appliance."""
    appliance, plug = _plug(cells.part.place)
    watts = {name: cells.integers(name, _MOST_WATTS) for name in MEANS}
    return {
        "ts": cells.times("time"),
        "appliance": pa.repeat(appliance, len(cells)),
        "plug": pa.repeat(plug, len(cells)),
        "watts": watts[mean],
    }


@cache
def _plug(place: str) -> tuple[str, str]:
    """Return the appliance of a text, and the plug with its appliance."""
    path = PurePosixPath(place.rpartition("!")[2])
    parts = _NAME.fullmatch(path.name)
    if parts is None or not path.parent.name:
        raise DatasetError(
            f"{place}: tracebase's files are called {_PATH}; name only such files with --file"
        )
    return path.parent.name, f"{path.parent.name}/{parts['plug']}"


def _share(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
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
            help="Which number to use: the mean of 1s or of 8s.",
        ),
    ),
    sorts=True,
)
