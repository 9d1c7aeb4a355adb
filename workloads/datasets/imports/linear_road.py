"""Imports Linear Road's files as `linear_road`, in two formats: with commas or with blanks (docs/data.md).

A line with a comma has the first format. Empty fields of its requests become -1. Times are whole seconds, and event
time is in milliseconds.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pc
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.kind import ImportKind, Lines
from streamlab.workloads.datasets.stream_table import (
    event_columns,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.datasets.tables.cells import mask_of
from streamlab.workloads.datasets.text.csv_text import LINE
from streamlab.workloads.inputs.linear_road.schema import (
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

COMMAS = ("Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos")
BLANKS = ("Time", "VID", "Spd", "XWay", "Lane", "Dir", "Pos")
_COMMAS_LINE = ",".join(rf"\s*(?P<{name}>[^,]*?)\s*" for name in COMMAS) + "(?:,.*)?"
_HEADER = r"(?i)^\s*" + r"\s*,\s*".join(COMMAS) + r"\s*(,|$)"
_BLANKS_LINE = r"\s*" + r"\s+".join(rf"(?P<{name}>[^\s,]+)" for name in BLANKS) + r"\s*"

_INT16_MAX, _INT32_MAX = 2**15 - 1, 2**31 - 1
_LATEST_S = (2**63 - 1) // 1000
_HIGHEST = {
    "Type": max(TYPES),
    "Time": _LATEST_S,
    "VID": _INT32_MAX,
    "Spd": _INT16_MAX,
    "XWay": _INT16_MAX,
    "Lane": EXIT_LANE,
    "Dir": 1,
    "Seg": SEGMENTS - 1,
    "Pos": ROAD_FT - 1,
}


def _columns(cells: Cells) -> dict[str, object]:
    """Return the fields of each line's record."""
    has_blanks = _add_fields(cells)
    fields = {name: cells.integers(name, _HIGHEST[name]) for name in COMMAS[:3]}
    kind = fields["Type"]
    for number in set(kind.tolist()) - set(TYPES):
        cells.mark(
            kind == number, f"column Type is {number}, not one of {', '.join(map(str, TYPES))}"
        )
    for name in COMMAS[3:]:
        fields[name] = cells.integers(name, _HIGHEST[name], absent=("", str(NONE)), default=NONE)
        is_absent = (kind == REPORT) & (fields[name] == NONE)
        cells.mark(is_absent, f"column {name} is '' or '-1', not a whole number from 0")
    fields["Seg"] = np.where(has_blanks, fields["Pos"] // MILE_FT, fields["Seg"])
    values = [fields["Type"], *(fields[name] for name in COMMAS[2:])]
    return {"ts": fields["Time"] * 1000, **dict(zip(FIELDS.names or (), values, strict=True))}


def _add_fields(cells: Cells) -> npt.NDArray[np.bool_]:
    """Add the fields of the lines to the cells; return the mask of lines with blanks as separators."""
    lines = cells.texts(LINE)
    commas = pc.extract_regex(lines, f"^{_COMMAS_LINE}$")
    blanks = pc.extract_regex(lines, f"^{_BLANKS_LINE}$")
    has_blanks, has_commas = (~np.asarray(fields.is_null()) for fields in (blanks, commas))
    assert cells.chunk.line is not None, "the file format `Lines` sets it"
    header = mask_of(pc.match_substring_regex(lines, _HEADER))
    cells.skip(header & (cells.chunk.line == 1))
    for row in np.flatnonzero(~(has_blanks | has_commas)).tolist():
        text = lines[row].as_py()
        names, mark = (COMMAS, ",") if "," in text else (BLANKS, " ")
        count = len(text.split(mark.strip() or None))
        cells.note(row, f"{count} columns instead of {len(names)} ({mark.join(names)})")
    for name in COMMAS:
        field = pc.struct_field(commas, name)
        if name in BLANKS:
            field = pc.coalesce(field, pc.struct_field(blanks, name))
        cells.add(name, field.fill_null(str(REPORT if name == "Type" else 0)))
    return has_blanks


LINEAR_ROAD = ImportKind(
    name="linear-road",
    workload=INPUT,
    help="Linear Road's records: Type,Time,VID,Spd,XWay,Lane,Dir,Seg,Pos, or time vehicle speed "
    "expressway lane direction position with blanks between",
    file_format=Lines(),
    transform=lambda options: _columns,
    columns=tuple((name, FIELDS[name].name) for name in FIELDS.names or ()),
    kinds=(RECORD,),
    streams=lambda options, entries: numbered_streams(
        options.streams, "report", event_columns(FIELDS), partial(share_rows, "vid")
    ),
    unit=None,
)
