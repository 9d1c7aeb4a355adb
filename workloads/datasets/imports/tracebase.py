"""Readings of tracebase to `power_readings`: `dd/mm/yyyy HH:MM:SS;watts;watts`, a file for a day.

The first number is the mean of the last second, the second one of the last eight (`--mean`). Which
plug it is, and what is behind it, stands in the path: `<appliance>/dev_<plug>_<yyyy.mm.dd>.csv`, as
in the archives of tracebase (https://github.com/areinhardt/tracebase). Files come in any order and
are merged by time. Times are those of the place: they are kept as they are written, in seconds
since 1970 as if in UTC, so that a day begins at a multiple of 86,400.

Appliances and plugs are numbered by first appearance; a plug's readings are all in one stream. No
file says where a plug is: units and buildings follow from its number (`schema`).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import (
    Dictionary,
    ImportKind,
    ImportOptions,
    ParsedRows,
    Setting,
    StreamTable,
)
from workloads.datasets.imports.lines import shown_text
from workloads.datasets.imports.numbered import numbered, stamped
from workloads.datasets.imports.raw import At, Part, parts, readable
from workloads.datasets.imports.rows import where
from workloads.datasets.text.decoding import text_blocks
from workloads.inputs.power_readings.schema import (
    FIELDS,
    INPUT,
    PLUGS_PER_UNIT,
    READING,
    UNITS_PER_BUILDING,
)
from workloads.model import Alphabet, Block

if TYPE_CHECKING:
    import pyarrow as pa

MEANS = ("1s", "8s")
_NAME = re.compile(r"(?:dev|device)?_(?P<plug>[^_]+)_\d{4}\.\d{2}\.\d{2}\.csv")
_PATH = "<appliance>/dev_<plug>_<yyyy.mm.dd>.csv"
_LINE = "dd/mm/yyyy HH:MM:SS;watts;watts"
_TIME = "00/00/0000 00:00:00"
_DIGITS = [place for place, sign in enumerate(_TIME) if sign == "0"]
_SIGNS = [place for place, sign in enumerate(_TIME) if sign != "0"]
_MOST_DIGITS = 9
"""Of a number of watts: more do not fit 32 bits."""


def read_parsed(path: Path, options: ImportOptions, at: At) -> Iterator[ParsedRows]:
    """Yield the readings of all texts in a raw file: an `ImportKind.read_parsed`.

    Raises:
        DatasetError: a file is damaged, or its path does not tell plug and appliance.
    """
    mean = options.settings["mean"]
    if mean not in MEANS:
        raise DatasetError(f"--mean is {mean!r}; give {' or '.join(MEANS)}")
    for part in parts(path):
        names = _plug(part)
        number = 0
        with readable(part.place, lambda: f"line {number}"):  # noqa: B023  # called in this turn
            for block in text_blocks(part.file, part.place):
                rows = _parsed(block, part.place, number, names, MEANS.index(mean))
                number += rows.read
                at(part.at())
                yield rows


def _plug(part: Part) -> tuple[str, str]:
    """Return the appliance, and the plug with it, of a text."""
    path = PurePosixPath(part.place.rpartition("!")[2])
    found = _NAME.fullmatch(path.name)
    if found is None or not path.parent.name:
        raise DatasetError(
            f"{part.place}: tracebase's files are called {_PATH}; name only such with --file"
        )
    return path.parent.name, f"{path.parent.name}/{found['plug']}"


def _parsed(block: bytes, place: str, before: int, names: tuple[str, str], mean: int) -> ParsedRows:
    """Return the readings of some lines of a text, of which so many were before."""
    import pyarrow as pa

    cells, skipped = _cells(block)
    numbers = np.arange(before + 1, before + 1 + len(cells[0]) + len(skipped))
    lines = np.delete(numbers, [row - 1 for row, _ in skipped])
    ts, timed = _seconds(cells[0])
    watts, whole = zip(*map(_whole, cells[1:]), strict=True)
    good = timed & np.logical_and.reduce(whole)
    bad = [(before + row, f"{columns} columns instead of 3 ({_LINE})") for row, columns in skipped]
    for row in np.flatnonzero(~good).tolist():
        line = b";".join(cell[row].as_py() for cell in cells)
        what = "the time is not" if not timed[row] else "a number is not"
        bad.append((int(lines[row]), f"{what} of the form {_LINE}: {_shown(line)}"))
    kept = int(np.count_nonzero(good))
    columns = {
        "ts": pa.array(ts[good]),
        "appliance": pa.repeat(names[0], kept),
        "plug": pa.repeat(names[1], kept),
        "watts": pa.array(watts[mean][good]),
    }
    return ParsedRows(
        place=place,
        read=len(numbers),
        lines=lines[good],
        batch=pa.RecordBatch.from_pydict(columns),
        bad=tuple(sorted(bad)),
    )


def _cells(block: bytes) -> "tuple[list[pa.Array], list[tuple[int, int]]]":
    """Return the three columns of a block, and which of its lines have more or fewer."""
    import pyarrow as pa
    from pyarrow import csv

    skipped: list[tuple[int, int]] = []

    def skip(row: "csv.InvalidRow") -> str:
        skipped.append((row.number, row.actual_columns))
        return "skip"

    names = ["time", *MEANS]
    table = csv.read_csv(
        pa.BufferReader(block),
        read_options=csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=names
        ),
        parse_options=csv.ParseOptions(
            delimiter=";", quote_char=False, ignore_empty_lines=False, invalid_row_handler=skip
        ),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.binary())),
    )
    return [pa.concat_arrays(table[name].chunks) for name in names], skipped


def _seconds(cells: "pa.Array") -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return times as seconds since 1970, and which of them are times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    good = np.array(pc.equal(pc.binary_length(cells), len(_TIME)))
    digits = np.zeros((len(cells), len(_TIME)), np.uint8)
    digits[:] = np.frombuffer(_TIME.encode(), np.uint8)
    of_length = cells.filter(good).cast(pa.binary(len(_TIME)))
    found = np.frombuffer(of_length.buffers()[1], np.uint8)[: of_length.nbytes]
    digits[good] = found.reshape(-1, len(_TIME))
    signs = np.frombuffer(_TIME.encode(), np.uint8)[_SIGNS]
    good &= (digits[:, _SIGNS] == signs).all(axis=1)
    numbers = digits[:, _DIGITS].astype(np.int64) - ord("0")
    good &= ((numbers >= 0) & (numbers <= 9)).all(axis=1)
    pairs = numbers[:, 0::2] * 10 + numbers[:, 1::2]
    day, month, hour, minute, second = (pairs[:, index] for index in (0, 1, 4, 5, 6))
    year = pairs[:, 2] * 100 + pairs[:, 3]
    good &= (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    months = (year - 1970) * 12 + month - 1
    first = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    beyond = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    good &= (day >= 1) & (first + day <= beyond)
    return (((first + day - 1) * 24 + hour) * 60 + minute) * 60 + second, good


def _whole(cells: "pa.Array") -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Return cells as whole numbers, and which of them are."""
    encoded = cells.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    good = np.array([text.isdigit() and len(text) <= _MOST_DIGITS for text in texts], np.bool_)
    found = [int(text) if fine else 0 for text, fine in zip(texts, good, strict=True)]
    which = encoded.indices.to_numpy()
    return np.array(found, np.int32)[which], good[which]


def _shown(line: bytes) -> str:
    return shown_text(line.decode("utf-8", errors="replace"))


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams, each with the readings of its plugs."""
    return numbered(options.streams, "reading", stamped(FIELDS), _of)


def _of(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        own = where(block, np.asarray(block["plugs"]) % count == index)
        plug = np.asarray(own["plugs"])
        unit = plug // PLUGS_PER_UNIT
        yield {
            "ts": own["ts"],
            "plug": plug,
            "device": np.asarray(own["appliances"]).astype(FIELDS["device"]),
            "unit": unit,
            "building": unit // UNITS_PER_BUILDING,
            "watts": own["watts"],
        }


TRACEBASE = ImportKind(
    name="tracebase",
    workload=INPUT,
    help=f"readings of plugs as in tracebase: lines of {_LINE} in files {_PATH}",
    read_parsed=read_parsed,
    columns=(("appliance", "string"), ("plug", "string"), ("watts", "int32")),
    dictionaries=(
        Dictionary(name="plugs", column="plug"),
        Dictionary(name="appliances", column="appliance"),
    ),
    keys=None,
    streams=streams,
    unit="s",
    alphabet=lambda keys: Alphabet(kinds=(READING,), keys=keys),
    settings=(
        Setting(name="mean", default="1s", help="Which number is taken: the mean of 1s or of 8s."),
    ),
    sorts=True,
)
