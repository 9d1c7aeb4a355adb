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
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import (
    BadRowError,
    ImportKind,
    ImportOptions,
    ParsedRows,
    Row,
    Setting,
    StreamTable,
)
from workloads.datasets.imports.lines import Line, read_lines, whole_number
from workloads.datasets.imports.numbered import numbered
from workloads.datasets.imports.raw import At
from workloads.datasets.imports.rows import where
from workloads.datasets.imports.tracebase import TRACEBASE, read_parsed
from workloads.inputs.homes import (
    ALL,
    ENDS_OF,
    HOUSE,
    INPUT,
    KINDS,
    LAYOUT,
    LOAD,
    check_slice,
    plugs_of_a_house,
)
from workloads.model import Alphabet, Block, ModelError

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


def parse(line: Line, options: ImportOptions) -> Row | None:
    """Return (ts, key, load in milliwatts); None for work, and for houses that are left out.

    Raises:
        BadRowError: wrong number of columns, or one that is not what it must be.
    """
    fields = line.text.split(",")
    if len(fields) != len(COLUMNS):
        raise BadRowError(f"{len(fields)} columns instead of {len(COLUMNS)} ({','.join(COLUMNS)})")
    _, timestamp, value, what, plug, household, house = (field.strip() for field in fields)
    ts = whole_number("timestamp", timestamp, _INT64_MAX)
    load_mw = _milliwatts(value)
    measured = whole_number("property", what, LOAD_NOW)
    in_house = whole_number("house_id", house, _INT64_MAX)
    own = options.settings
    places = []
    for column, text, name in (
        ("household_id", household, "households-per-house"),
        ("plug_id", plug, "plugs-per-household"),
    ):
        number = whole_number(column, text, _INT64_MAX)
        if number >= own[name]:
            raise BadRowError(f"column {column} is {number}, and --{name} {own[name]}")
        places.append(number)
    if measured == WORK_DONE or in_house >= own["houses"]:
        return None
    key = (in_house * own["households-per-house"] + places[0]) * own["plugs-per-household"]
    return ts, key + places[1], load_mw


def _milliwatts(text: str) -> int:
    if not _VALUE.fullmatch(text):
        raise BadRowError(f"column value is {text!r}, not a number from 0")
    exact = Decimal(text) * 1000
    if exact > _MOST_MW:
        raise BadRowError(f"column value is {text}, above {_MOST_MW // 1000}")
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def read_homes(path: Path, options: ImportOptions, at: At) -> Iterator[ParsedRows]:
    """Yield tracebase's readings, without those whose milliwatts do not fit.

    Raises:
        DatasetError: as `tracebase.read_parsed`.
    """
    import pyarrow as pa

    for rows in read_parsed(path, options, at):
        watts = rows.batch.column("watts").to_numpy()
        good = watts <= _MOST_MW // 1000
        told = f"W is above {_MOST_MW // 1000}"
        bad = zip(rows.lines[~good].tolist(), watts[~good].tolist(), strict=True)
        yield replace(
            rows,
            lines=rows.lines[good],
            batch=rows.batch.filter(pa.array(good)),
            bad=tuple(sorted((*rows.bad, *((line, f"{load} {told}") for line, load in bad)))),
        )


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
    if found["ends"] not in ENDS_OF:
        raise DatasetError(f"--ends is {found['ends']!r}; give {' or '.join(ENDS_OF)}")
    return found


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of loads, each with whole houses, and the stream of ends.

    Raises:
        DatasetError: a setting is out of range.
    """
    layout = _layout(options)
    keys: dict[str, np.dtype[Any]] = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}
    kind = ENDS_OF[layout["ends"]]
    per_house = plugs_of_a_house(layout)
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
        house = _keys(block) // per_house if kind == ENDS_OF[HOUSE] else np.zeros_like(numbers)
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
    return int(options.settings["houses"]) * plugs_of_a_house(_layout(options))


DEBS_2014 = ImportKind(
    name="debs-2014",
    workload=INPUT,
    help=f"loads of plugs as in the DEBS 2014 Grand Challenge: {','.join(COLUMNS)}",
    check=check,
    read=read_lines,
    parse=parse,
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
    check=check,
    read_parsed=read_homes,
    keys="plugs",
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
    settings=(*TRACEBASE.settings, *_settings(households_per_house=4, plugs_per_household=4)),
    invents=("house_end", "slice_end"),
)
