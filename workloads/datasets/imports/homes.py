"""Imports loads of plugs as `smart_home`: DEBS 2014 files, or tracebase's plugs assigned to homes (docs/data.md).

Loads are rounded half up to whole milliwatts. The import invents an event at the last second of every slice with loads,
for all houses or for each house with loads. The last slice ends only if a load is in its last second.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pa
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import BadRowError, Cells, Transform
from streamlab.workloads.datasets.imports.kind import (
    ImportKind,
    ImportOptions,
    Layout,
    Setting,
    Settings,
)
from streamlab.workloads.datasets.imports.tracebase import TRACEBASE
from streamlab.workloads.datasets.sorted_runs import select_rows
from streamlab.workloads.datasets.stream_table import StreamTable, numbered_streams
from streamlab.workloads.inputs.homes import (
    ALL,
    END_KINDS,
    HOUSE,
    INPUT,
    KINDS,
    LAYOUT,
    LOAD,
    check_slice,
    plugs_per_house,
)
from streamlab.workloads.model import Block, ModelError

COLUMNS = ("id", "timestamp", "value", "property", "plug_id", "household_id", "house_id")
WORK_DONE, LOAD_NOW = 0, 1
"""Values of the column `property`: energy used so far, and the present load."""
_VALUE = re.compile(r"\d{1,12}(\.\d{1,12})?([eE][+-]?\d{1,2})?")
_MAX_MW = 2**31 - 1
_INT64_MAX = 2**63 - 1


def _settings(households_per_house: int, plugs_per_household: int) -> tuple[Setting, ...]:
    ends = Setting.choice(
        name="ends",
        choices=tuple(END_KINDS),
        default=ALL,
        help=f"Scope of the end of a slice: {ALL}, every plug, or {HOUSE}, the plugs of one house.",
    )
    return (
        _layout_setting("households_per_house", households_per_house),
        _layout_setting("plugs_per_household", plugs_per_household),
        _layout_setting("slice_s", int(LAYOUT["slice_s"].default)),
        ends,
    )


def _layout_setting(name: str, default: int) -> Setting:
    """Return the setting for a parameter of the query's layout, with the parameter's range."""
    parameter = LAYOUT[name]
    low, high = int(parameter.minimum or 0), int(parameter.maximum or 0)
    return Setting(
        name=name.replace("_", "-"),
        default=default,
        help=f"{parameter.help}.",
        valid=range(low, high + 1).__contains__,
        expected=f"{low} to {high}, the range of the query",
    )


def _check(options: ImportOptions) -> None:
    """Refuse slices that the query does not support."""
    try:
        check_slice(options.settings["slice-s"])
    except ModelError as error:
        raise DatasetError(f"--slice-s: {error}") from error


def _debs_columns(settings: Settings, cells: Cells) -> dict[str, object]:
    """Return key and load; skip rows that state energy instead of load, and houses beyond `--houses`."""
    ts = cells.integers("timestamp", _INT64_MAX)
    load_mw = cells.parse_texts("value", _milliwatts, pa.int32())
    measured = cells.integers("property", LOAD_NOW)
    house = cells.integers("house_id", _INT64_MAX)
    key = house
    for column, name in (
        ("household_id", "households-per-house"),
        ("plug_id", "plugs-per-household"),
    ):
        ids = cells.integers(column, _INT64_MAX)
        for row in np.flatnonzero(ids >= settings[name]).tolist():
            cells.note(row, f"column {column} is {ids[row]}, not below --{name} {settings[name]}")
        key = key * settings[name] + ids
    cells.skip((measured == WORK_DONE) | (house >= settings["houses"]))
    return {"ts": ts, "key": np.where(cells.good(), key, 0), "load_mw": load_mw}


def _milliwatts(text: str) -> int:
    """Return a text in watts as milliwatts; raises `BadRowError` for other texts."""
    text = text.strip()
    if not _VALUE.fullmatch(text):
        raise BadRowError(f"column value is {text!r}, not a number from 0")
    exact = Decimal(text) * 1000
    if exact > _MAX_MW:
        raise BadRowError(f"column value is {text}, above {_MAX_MW // 1000}")
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def _transform_homes(options: ImportOptions) -> Transform:
    """Return the transform of `tracebase`, which also marks rows with too large loads as bad."""
    tracebase = TRACEBASE.transform(options)

    def columns(cells: Cells) -> Mapping[str, object]:
        readings = tracebase(cells)
        watts, limit = np.asarray(readings["watts"]), _MAX_MW // 1000
        cells.mark(watts > limit, lambda row: f"{watts[row]} W is above {limit} W")
        return readings

    return columns


def _layout(options: ImportOptions) -> Settings:
    """Return the settings by the names of the workload's parameters."""
    return {name.replace("-", "_"): value for name, value in options.settings.items()}


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of loads, each with complete houses, and the stream of ends."""
    layout = _layout(options)
    keys: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    kind = END_KINDS[layout["ends"]]
    per_house = plugs_per_house(layout)
    return (
        *numbered_streams(
            options.streams,
            "load",
            {**keys, "load_mw": np.dtype(np.int32)},
            partial(_loads, per_house),
            kind=LOAD,
        ),
        StreamTable(
            name=KINDS[kind],
            kinds=(kind,),
            dtypes=keys,
            blocks=partial(_ends, per_house, layout["slice_s"], kind),
        ),
    )


def _keys(block: Block) -> npt.NDArray[np.int64]:
    """Return the key of each row: the number of its plug."""
    return np.asarray(block["key" if "key" in block else "plug"]).astype(np.int64)


def _loads(per_house: int, count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the loads of one stream; house h goes to stream h modulo `count`."""
    for block in blocks:
        share = select_rows(block, _keys(block) // per_house % count == index)
        in_mw = share["load_mw"] if "load_mw" in share else np.asarray(share["watts"]) * 1000
        tag = LOAD + len(KINDS) * _keys(share)
        yield {"ts": share["ts"], "tag": tag.astype(np.int32), "load_mw": in_mw}


def _ends(per_house: int, slice_s: int, kind: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the ends of slices that have loads, by time, then house."""
    houses: set[int] = set()
    slice_index, last_ts = None, 0
    for block in blocks:
        slices = np.asarray(block["ts"]) // slice_s
        house = _keys(block) // per_house if kind == END_KINDS[HOUSE] else np.zeros_like(slices)
        begins = np.flatnonzero(np.diff(slices, prepend=slices[:1] - 1))
        for begin, end in pairwise((*begins.tolist(), len(slices))):
            if slice_index is not None and slice_index != slices[begin]:
                yield _end(slice_index, slice_s, kind, houses)
                houses.clear()
            slice_index = int(slices[begin])
            houses.update(np.unique(house[begin:end]).tolist())
            last_ts = int(np.asarray(block["ts"])[end - 1])
    if slice_index is not None and last_ts == (slice_index + 1) * slice_s - 1:
        yield _end(slice_index, slice_s, kind, houses)


def _end(slice_index: int, slice_s: int, kind: int, houses: set[int]) -> Block:
    """Return the end of a slice for each of the houses."""
    house = np.array(sorted(houses), np.int64)
    return {
        "ts": np.full(len(house), (slice_index + 1) * slice_s - 1, np.int64),
        "tag": (kind + len(KINDS) * house).astype(np.int32),
    }


DEBS_2014 = ImportKind(
    name="debs-2014",
    workload=INPUT,
    help=f"loads of plugs as in the DEBS 2014 Grand Challenge: {','.join(COLUMNS)}",
    check=_check,
    file_format=Layout(names=COLUMNS, delimiter=",", read=COLUMNS[1:]),
    transform=lambda options: partial(_debs_columns, options.settings),
    columns=(("key", "int32"), ("load_mw", "int32")),
    kinds=KINDS,
    keys=lambda options: int(options.settings["houses"]) * plugs_per_house(_layout(options)),
    streams=_streams,
    unit="s",
    settings=(
        Setting(
            name="houses",
            default=40,
            help="Number of houses; houses with a higher id are left out.",
            valid=lambda houses: houses >= 1,
            expected="1 or more, the range of the query",
        ),
        *_settings(households_per_house=20, plugs_per_household=20),
    ),
    invents=("house_end", "slice_end"),
)

TRACEBASE_HOMES = replace(
    TRACEBASE,
    name="tracebase-homes",
    workload=INPUT,
    help="tracebase's plugs assigned to homes, with the ends of slices of time",
    check=_check,
    transform=_transform_homes,
    kinds=KINDS,
    keys="plugs",
    streams=_streams,
    settings=(*TRACEBASE.settings, *_settings(households_per_house=4, plugs_per_household=4)),
    invents=("house_end", "slice_end"),
)
