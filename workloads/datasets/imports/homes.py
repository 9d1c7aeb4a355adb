"""Loads of plugs to `smart_home`: the DEBS 2014 form, and tracebase's plugs dealt to homes.

`debs-2014`: lines `id,timestamp,value,property,plug_id,household_id,house_id`, without a header, as
in the Grand Challenge. Property 1 is a load in watts, which becomes whole milliwatts, halves up;
property 0 is the work done so far, of which query 1 needs nothing: such lines are passed over, and
so are houses from `--houses` on. A household or a plug beyond those of the layout is a bad line.

`tracebase-homes`: read as `tracebase` reads it. No file says where a plug is: plugs are numbered by
first appearance and dealt to households and houses in a row.

The import invents the ends of slices: at the last second of every slice that has loads, of all or
of each house that has. The last slice ends only if there is a load in its last second.
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

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import BadRowError, Cells, Transform
from streamlab.workloads.datasets.imports.forms import Layout
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions, Setting
from streamlab.workloads.datasets.imports.tracebase import TRACEBASE, check_mean
from streamlab.workloads.datasets.rows import where
from streamlab.workloads.datasets.stream_table import StreamTable, numbered
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
from streamlab.workloads.model import Alphabet, Block, ModelError

COLUMNS = ("id", "timestamp", "value", "property", "plug_id", "household_id", "house_id")
WORK_DONE, LOAD_NOW = 0, 1
_VALUE = re.compile(r"\d{1,12}(\.\d{1,12})?([eE][+-]?\d{1,2})?")
_MOST_MW = 2**31 - 1
_INT64_MAX = 2**63 - 1


def _settings(households_per_house: int, plugs_per_household: int) -> tuple[Setting, ...]:
    defaults = {
        "households_per_house": households_per_house,
        "plugs_per_household": plugs_per_household,
        "slice_s": int(LAYOUT["slice_s"].default),
    }
    return (
        *(
            Setting(name=name.replace("_", "-"), default=value, help=f"{LAYOUT[name].help}.")
            for name, value in defaults.items()
        ),
        Setting(
            name="ends",
            default=ALL,
            help=f"What an end of a slice concerns: {ALL}, every plug, or {HOUSE}, those of one.",
        ),
    )


def check(options: ImportOptions) -> None:
    """Refuse a layout that the query does not take.

    Raises:
        DatasetError: a setting is out of range.
    """
    _layout(options)


def check_homes(options: ImportOptions) -> None:
    """Refuse what `tracebase` refuses, and such a layout.

    Raises:
        DatasetError: a setting is out of range.
    """
    check_mean(options)
    check(options)


def _debs_columns(settings: Mapping[str, Any], cells: Cells) -> dict[str, Any]:
    """Return key and load; work, and houses beyond those imported, are passed over."""
    import pyarrow as pa

    ts = cells.whole("timestamp", _INT64_MAX)
    load_mw = cells.parsed("value", _milliwatts, pa.int32())
    measured = cells.whole("property", LOAD_NOW)
    house = cells.whole("house_id", _INT64_MAX)
    places = {}
    for column, name in (
        ("household_id", "households-per-house"),
        ("plug_id", "plugs-per-household"),
    ):
        places[column] = cells.whole(column, _INT64_MAX)
        for row in np.flatnonzero(places[column] >= settings[name]).tolist():
            number = places[column][row]
            cells.note(row, f"column {column} is {number}, and --{name} {settings[name]}")
    cells.pass_over((measured == WORK_DONE) | (house >= settings["houses"]))
    key = house * settings["households-per-house"] + places["household_id"]
    key = key * settings["plugs-per-household"] + places["plug_id"]
    good = ~cells.passed
    good[list(cells.bad)] = False
    return {"ts": ts, "key": np.where(good, key, 0), "load_mw": load_mw}


def _milliwatts(text: str) -> int:
    text = text.strip()
    if not _VALUE.fullmatch(text):
        raise BadRowError(f"column value is {text!r}, not a number from 0")
    exact = Decimal(text) * 1000
    if exact > _MOST_MW:
        raise BadRowError(f"column value is {text}, above {_MOST_MW // 1000}")
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def transform_homes(options: ImportOptions) -> Transform:
    """Return what makes the columns of `tracebase`; milliwatts that do not fit make a row bad."""
    tracebase = TRACEBASE.transform(options)

    def columns(cells: Cells) -> Mapping[str, Any]:
        found = tracebase(cells)
        for row in np.flatnonzero(found["watts"] > _MOST_MW // 1000).tolist():
            cells.note(row, f"{found['watts'][row]} W is above {_MOST_MW // 1000}")
        return found

    return columns


def _layout(options: ImportOptions) -> dict[str, Any]:
    """Return the settings by the names of parameters.

    Raises:
        DatasetError: one is out of range.
    """
    found = {name.replace("-", "_"): value for name, value in options.settings.items()}
    bounds: dict[str, tuple[float | None, float | None]] = {"houses": (1, None)}
    bounds |= {name: (of.minimum, of.maximum) for name, of in LAYOUT.items()}
    for name, (lowest, highest) in bounds.items():
        assert lowest is not None, "each has one"
        value = found.get(name, lowest)
        if not lowest <= value or (highest is not None and value > highest):
            most = "or more" if highest is None else f"to {highest}"
            raise DatasetError(
                f"--{name.replace('_', '-')} is {value}; give {lowest} {most}, as the query takes"
            )
    try:
        check_slice(found["slice_s"])
    except ModelError as error:
        raise DatasetError(f"--slice-s: {error}") from error
    if found["ends"] not in END_KINDS:
        raise DatasetError(f"--ends is {found['ends']!r}; give {' or '.join(END_KINDS)}")
    return found


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of loads, each with whole houses, and the stream of ends.

    Raises:
        DatasetError: a setting is out of range.
    """
    layout = _layout(options)
    keys: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    kind = END_KINDS[layout["ends"]]
    per_house = plugs_per_house(layout)
    return (
        *numbered(
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
    return np.asarray(block["key" if "key" in block else "plugs"]).astype(np.int64)


def _loads(per_house: int, count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        own = where(block, _keys(block) // per_house % count == index)
        in_mw = own["load_mw"] if "load_mw" in own else np.asarray(own["watts"]) * 1000
        tag = LOAD + len(KINDS) * _keys(own)
        yield {"ts": own["ts"], "tag": tag.astype(np.int32), "load_mw": in_mw}


def _ends(per_house: int, slice_s: int, kind: int, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the ends of slices with loads, by time, then house."""
    houses: set[int] = set()
    number, last_ts = None, 0
    for block in blocks:
        numbers = np.asarray(block["ts"]) // slice_s
        house = _keys(block) // per_house if kind == END_KINDS[HOUSE] else np.zeros_like(numbers)
        begins = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
        for begin, end in pairwise((*begins.tolist(), len(numbers))):
            if number is not None and number != numbers[begin]:
                yield _end(number, slice_s, kind, houses)
                houses.clear()
            number = int(numbers[begin])
            houses.update(np.unique(house[begin:end]).tolist())
            last_ts = int(np.asarray(block["ts"])[end - 1])
    if number is not None and last_ts == (number + 1) * slice_s - 1:
        yield _end(number, slice_s, kind, houses)


def _end(number: int, slice_s: int, kind: int, houses: set[int]) -> Block:
    house = np.array(sorted(houses), np.int64)
    return {
        "ts": np.full(len(house), (number + 1) * slice_s - 1, np.int64),
        "tag": (kind + len(KINDS) * house).astype(np.int32),
    }


def _keys_of(options: ImportOptions) -> int:
    return int(options.settings["houses"]) * plugs_per_house(_layout(options))


DEBS_2014 = ImportKind(
    name="debs-2014",
    workload=INPUT,
    help=f"loads of plugs as in the DEBS 2014 Grand Challenge: {','.join(COLUMNS)}",
    check=check,
    form=Layout(names=COLUMNS, delimiter=",", read=COLUMNS[1:]),
    transform=lambda options: partial(_debs_columns, options.settings),
    columns=(("key", "int32"), ("load_mw", "int32")),
    dictionaries=(),
    keys=_keys_of,
    streams=streams,
    unit="s",
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
    settings=(
        Setting(name="houses", default=40, help="Houses; those from this number on are left out."),
        *_settings(households_per_house=20, plugs_per_household=20),
    ),
    invents=("house_end", "slice_end"),
)

TRACEBASE_HOMES = replace(
    TRACEBASE,
    name="tracebase-homes",
    workload=INPUT,
    help="tracebase's plugs dealt to homes, with the ends of slices of time",
    check=check_homes,
    transform=transform_homes,
    keys="plugs",
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
    settings=(*TRACEBASE.settings, *_settings(households_per_house=4, plugs_per_household=4)),
    invents=("house_end", "slice_end"),
)
