"""Linear Road's files to `linear_road`, in the two forms in which they are found.

- Separated by commas, as the benchmark's own generator writes them: `Type,Time,VID,Spd,XWay,Lane,
  Dir,Seg,Pos`, and whatever follows. Types are 0, 2, 3 and 4. A first line with these names is
  skipped. Of requests (2, 3, 4) only type, time and vehicle must be there; what is empty is -1.
- Separated by blanks: time, vehicle, speed, expressway, lane, direction, position; all are reports,
  and the segment is the mile of the position.

A line with a comma is of the first form. Times are whole seconds, event time is in milliseconds.
With several streams, a vehicle's records go to stream vehicle modulo their number.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from workloads.datasets.imports.kind import BadRowError, ImportKind, ImportOptions, Row, StreamTable
from workloads.datasets.imports.lines import Line, read_lines, whole_number
from workloads.datasets.imports.numbered import numbered, stamped
from workloads.datasets.imports.rows import where
from workloads.inputs.linear_road.schema import (
    EXIT_LANE,
    FIELDS,
    INPUT,
    MILE_FT,
    NONE,
    RECORD,
    REPORT,
    ROAD_FT,
    SEGMENTS,
    TYPES,
)
from workloads.model import Alphabet, Block

COMMAS = ("Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos")
BLANKS = ("time", "vehicle", "speed", "expressway", "lane", "direction", "position")

_INT16_MAX, _INT32_MAX = 2**15 - 1, 2**31 - 1
_LATEST_S = (2**63 - 1) // 1000
_HIGHEST = (_INT16_MAX, _INT16_MAX, EXIT_LANE, 1, SEGMENTS - 1, ROAD_FT - 1)
"""Of speed, expressway, lane, direction, segment and position."""


def parse(line: Line, options: ImportOptions) -> Row | None:
    """Return (ts, type, vid, speed, xway, lane, dir, seg, pos); None for a header.

    Raises:
        BadRowError: fields are missing, no whole numbers, or out of range.
    """
    text = line.text
    if "," not in text:
        return _of_blanks(text.split())
    fields = [field.strip() for field in text.split(",")]
    names = [field.lower() for field in fields[: len(COMMAS)]]
    if line.number == 1 and names == [name.lower() for name in COMMAS]:
        return None
    return _of_commas(fields)


def _of_blanks(fields: list[str]) -> Row:
    if len(fields) != len(BLANKS):
        raise BadRowError(f"{len(fields)} columns instead of {len(BLANKS)} ({' '.join(BLANKS)})")
    time = whole_number("time", fields[0], _LATEST_S)
    vehicle = whole_number("vehicle", fields[1], _INT32_MAX)
    highest = (*_HIGHEST[:4], _HIGHEST[5])
    checked = zip(BLANKS[2:], fields[2:], highest, strict=True)
    speed, xway, lane, direction, position = (whole_number(*column) for column in checked)
    segment = position // MILE_FT
    return time * 1000, REPORT, vehicle, speed, xway, lane, direction, segment, position


def _of_commas(fields: list[str]) -> Row:
    if len(fields) < len(COMMAS):
        raise BadRowError(f"{len(fields)} columns instead of {len(COMMAS)} ({','.join(COMMAS)})")
    kind = whole_number("Type", fields[0], max(TYPES))
    if kind not in TYPES:
        raise BadRowError(f"column Type is {kind}; there are {', '.join(map(str, TYPES))}")
    time = whole_number("Time", fields[1], _LATEST_S)
    vehicle = whole_number("VID", fields[2], _INT32_MAX)
    read = whole_number if kind == REPORT else _optional
    checked = zip(COMMAS[3:], fields[3:], _HIGHEST, strict=False)
    speed, xway, lane, direction, segment, position = (read(*column) for column in checked)
    return time * 1000, kind, vehicle, speed, xway, lane, direction, segment, position


def _optional(column: str, text: str, limit: int) -> int:
    return NONE if text in ("", str(NONE)) else whole_number(column, text, limit)


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams, each with the records of its vehicles."""
    return numbered(options.streams, "report", stamped(FIELDS), _of)


def _of(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        yield where(block, np.asarray(block["vid"]) % count == index)


LINEAR_ROAD = ImportKind(
    name="linear-road",
    workload=INPUT,
    help="Linear Road's records: Type,Time,VID,Spd,XWay,Lane,Dir,Seg,Pos, or time vehicle speed "
    "expressway lane direction position with blanks between",
    read=read_lines,
    parse=parse,
    columns=tuple((name, FIELDS[name].name) for name in FIELDS.names or ()),
    dictionaries=(),
    keys=None,
    streams=streams,
    unit=None,
    alphabet=lambda keys: Alphabet(kinds=(RECORD,), keys=keys),
)
