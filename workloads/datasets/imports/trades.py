"""Trades of a day in CSV to `nyse_hedge`: a self-join, so both sides get the same rows.

- `--columns ts=...,price=...,symbol=...`. Without `symbol`, it is in the file's name: what
  `--symbol-pattern` finds there, by default the first run of letters. Symbols are in capitals.
- Times (`--time`) as everywhere, see `workloads.datasets.times`. Event time is in milliseconds,
  rounded down; since midnight where the file tells no day.
- Prices are divided by `--price-scale`, and kept as whole numbers with `--decimals` decimals
  (2: cents), rounded half up. A price that is not above 0, or does not fit 32 bits, is a bad row.
- `--symbols` keeps the named ones only, `--top` those with the most trades.
- Several files are merged by time; ties keep the order of files and rows.
- The average price of a symbol (`trade_averages`) is that of `--averages`, a table, or of
  `--previous`, the file of the day before, or else of the imported trades themselves.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.csv_rows import CSV_SETTINGS, Cells, read_csv
from workloads.datasets.imports.kind import (
    TIME_SETTING,
    BadRowError,
    Blocks,
    Derive,
    Dictionary,
    ImportKind,
    ImportOptions,
    Row,
    Setting,
    StreamTable,
)
from workloads.datasets.imports.raw import At
from workloads.datasets.imports.trade_averages import Tally, averages, priced
from workloads.datasets.imports.trade_fields import whole_price
from workloads.model import Alphabet, Block

KINDS = ("left", "right")
_MOST_DECIMALS = 6


def read(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Cells]]:
    """Yield the records of a raw file, see `csv_rows.read_csv`.

    Raises:
        DatasetError: the time or the price has no column, or an option makes no sense.
    """
    settings = options.settings
    for role in ("ts", "price"):
        if role not in options.columns:
            raise DatasetError(f"trades need --columns {role}=..., which is missing")
    if settings["price-scale"] <= 0:
        raise DatasetError(f"--price-scale is {settings['price-scale']}; give one above 0")
    if not 0 <= settings["decimals"] <= _MOST_DECIMALS:
        raise DatasetError(f"--decimals is {settings['decimals']}; give 0 to {_MOST_DECIMALS}")
    if settings["top"] < 0:
        raise DatasetError(f"--top is {settings['top']}; give 0 (all) or more")
    try:
        re.compile(settings["symbol-pattern"])
    except re.error as error:
        raise DatasetError(f"--symbol-pattern is no regular expression: {error}") from error
    return read_csv(path, options, at)


def parse(fields: Cells, options: ImportOptions) -> Row | None:
    """Return (ts, symbol, price); None for a symbol that is not wanted.

    Raises:
        BadRowError: the time, the price or the symbol is not what it must be.
    """
    settings = options.settings
    symbol = _symbol(fields, options)
    wanted = str(settings["symbols"]).upper()
    if wanted and symbol not in [name.strip() for name in wanted.split(",")]:
        return None
    price = whole_price(fields["price"], settings["price-scale"], settings["decimals"])
    return options.time(fields["ts"]), symbol, price


def _symbol(fields: Cells, options: ImportOptions) -> str:
    if "symbol" in options.columns:
        symbol = fields["symbol"].strip()
        if not symbol:
            raise BadRowError("column symbol is empty")
        return symbol.upper()
    found = re.search(options.settings["symbol-pattern"], fields.file)
    if found is None:
        raise BadRowError(f"the file name {fields.file!r} has no symbol; see --symbol-pattern")
    return found[found.re.groups and 1].upper()


def prepare(blocks: Blocks, options: ImportOptions) -> Derive:
    """Return what keeps the symbols with the most trades, with the average price of each.

    Raises:
        DatasetError: average prices cannot be read, or a symbol has none.
    """
    tally = Tally()
    for batch in blocks():
        tally.add(batch)
    return partial(priced, averages(tally.top(options.settings["top"]), options, read, parse))


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return both sides, with all trades each."""
    dtypes: dict[str, np.dtype[Any]] = {
        "ts": np.dtype(np.int64),
        **{name: np.dtype(np.int32) for name in ("id", "price", "average")},
    }
    return tuple(
        StreamTable(name=name, kinds=(kind,), dtypes=dtypes, blocks=_side)
        for kind, name in enumerate(KINDS)
    )


def _side(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        yield {**block, "id": block["symbols"]}


TRADES = ImportKind(
    name="trades",
    workload="nyse_hedge",
    help="trades in CSV, with a time, a price and a symbol each",
    read=read,
    parse=parse,
    columns=(("symbol", "string"), ("price", "int32")),
    prepare=prepare,
    dictionaries=(Dictionary(name="symbols", column="symbol"),),
    keys=None,
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=KINDS, keys=keys),
    roles=("ts", "price", "symbol"),
    settings=(
        *CSV_SETTINGS,
        TIME_SETTING,
        Setting(
            name="price-scale",
            default=1.0,
            help="Prices in the file are so many times the price; 10000 in several layouts.",
        ),
        Setting(name="decimals", default=2, help="Decimals of a price that are kept."),
        Setting(
            name="symbol-pattern",
            default="[A-Za-z]+",
            help="Finds the symbol in a file's name (its first group, if it has one).",
        ),
        Setting(name="symbols", default="", help="Keep these symbols only: A,B,..."),
        Setting(name="top", default=0, help="Keep so many symbols with the most trades; 0: all."),
        Setting(
            name="averages",
            default="",
            file=True,
            help="CSV with the columns symbol and average: the day before's average prices.",
        ),
        Setting(
            name="previous",
            default="",
            file=True,
            help="The trades of the day before, in the same layout, for the average prices.",
        ),
    ),
    sorts=True,
)
