"""Imports trades of a day in CSV as `nyse_hedge`, a self-join: both sides get the same rows (docs/data.md).

Symbols become capitals. A row is bad if its price is not above 0 or does not fit 32 bits. The average price of a
symbol is the unweighted mean of the prices of all trades, rounded half up to the unit of prices.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.executor import Executor
from streamlab.workloads.datasets.imports.cells import BadRowError, Cells
from streamlab.workloads.datasets.imports.kind import (
    CSV_SETTINGS,
    TIME_SETTING,
    ImportKind,
    ImportOptions,
    Lookup,
    NamedColumns,
    Setting,
    Settings,
    lookup_cells,
)
from streamlab.workloads.datasets.imports.kind_rows import read
from streamlab.workloads.datasets.stream_table import StreamTable
from streamlab.workloads.datasets.tables.cells import mask_of
from streamlab.workloads.datasets.tables.split_reader import SplitRows
from streamlab.workloads.datasets.text.report import RowReport
from streamlab.workloads.model import Block

_TABLE = NamedColumns(role_columns={"symbol": "symbol", "average": "average"})
_INT32_MAX = 2**31 - 1


def _mean_prices(rows: SplitRows[RowReport], number: int = 0) -> dict[str, int]:
    """Return the rounded mean prices of the `number` symbols with the most trades, or of all symbols if 0."""
    count, total = Counter[str](), Counter[str]()
    for symbols, run in rows.coded_runs("symbol"):
        codes, prices = np.asarray(run["symbol"]), np.asarray(run["price"], np.int64)
        totals = np.zeros(len(symbols), np.int64)
        np.add.at(totals, codes, prices)
        names = symbols.to_pylist()
        count.update(dict(zip(names, np.bincount(codes).tolist(), strict=True)))
        total.update(dict(zip(names, totals.tolist(), strict=True)))
    by_trades = sorted(count, key=lambda symbol: (-count[symbol], symbol))
    return {
        symbol: (2 * total[symbol] + count[symbol]) // (2 * count[symbol])
        for symbol in by_trades[: number or None]
    }


def _averages(
    rows: SplitRows[RowReport], options: ImportOptions, executor: Executor
) -> Mapping[str, int]:
    """Return the average prices of the symbols to keep, from a table, the day before, or these rows."""
    traded = _mean_prices(rows, options.settings["top"])
    table, previous = options.settings["averages"], options.settings["previous"]
    if table and previous:
        raise DatasetError("give --averages or --previous, not both")
    if not table and not previous:
        return traded
    path = Path(table or previous)
    if table:
        mean_prices = _read_averages(path, options)
    else:
        day_before = replace(options, files=(path,), sort=True)
        mean_prices = _mean_prices(
            read(TRADES, day_before, rows.folder.with_name("previous"), executor)
        )
    missing = sorted(set(traded) - set(mean_prices))
    if missing:
        raise DatasetError(
            f"{path} has no average price of {', '.join(missing)}; add these symbols, or leave them "
            "out with --symbols"
        )
    return {symbol: mean_prices[symbol] for symbol in traded}


def _read_averages(path: Path, options: ImportOptions) -> dict[str, int]:
    """Return the average prices in a table."""
    table_options = ImportOptions(files=(path,))
    price = partial(price_in_units, scale=1.0, decimals=options.settings["decimals"])
    means: dict[str, int] = {}
    for cells in lookup_cells(_TABLE, path, table_options):
        average = cells.parse_texts("average", price, pa.int64())
        cells.check()
        rows = zip(cells.stripped("symbol").to_pylist(), average.to_pylist(), strict=True)
        for row, (symbol, mean) in enumerate(rows):
            if symbol.upper() in means:
                raise DatasetError(
                    f"{cells.place(row)}: symbol {symbol} has an average in a row above; remove one"
                )
            means[symbol.upper()] = mean
    return means


def price_in_units(text: str, scale: float, decimals: int) -> int:
    """Return a price in units of 10^-`decimals`, rounded half up; `text` is the price times `scale`."""
    try:
        price = Decimal(text.strip()) / Decimal(repr(scale)) * 10**decimals
        units = int(price.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError) as error:
        raise BadRowError(f"column price is {text!r}, not a price") from error
    if not 0 < units <= _INT32_MAX:
        raise BadRowError(
            f"column price is {text!r}, {units} in units of 10^-{decimals}, not from 1 to "
            f"{_INT32_MAX}"
        )
    return units


KINDS = ("left", "right")
_MOST_DECIMALS = 6
"""With more decimals, prices above 214 would not fit 32 bits."""


def _check(options: ImportOptions) -> None:
    """Refuse an invalid pattern."""
    try:
        re.compile(options.settings["symbol-pattern"])
    except re.error as error:
        raise DatasetError(f"--symbol-pattern is not a regular expression: {error}") from error


def _columns(settings: Settings, cells: Cells) -> dict[str, object]:
    """Return symbol and price; skip symbols that were not requested."""
    symbol = _symbols(cells, settings["symbol-pattern"])
    if requested := str(settings["symbols"]).upper():
        names = [name.strip() for name in requested.split(",")]
        cells.skip(~mask_of(pc.is_in(symbol, pa.array(names, symbol.type))))
    price = partial(price_in_units, scale=settings["price-scale"], decimals=settings["decimals"])
    return {
        "price": cells.parse_texts("price", price, pa.int32()),
        "ts": cells.times("ts"),
        "symbol": symbol,
    }


def _symbols(cells: Cells, pattern: str) -> "pa.Array":
    if "symbol" in cells:
        symbol = pc.utf8_upper(cells.stripped("symbol"))
        cells.mark(mask_of(pc.equal(symbol, "")), "column symbol is empty")
        return symbol
    match = re.search(pattern, cells.part.file)
    if match is None:
        all_rows = np.ones(len(cells), np.bool_)
        reason = f"the file name {cells.part.file!r} has no symbol; see --symbol-pattern"
        cells.mark(all_rows, reason)
    return pa.repeat("" if match is None else match[match.re.groups and 1].upper(), len(cells))


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return both sides, with all trades each."""
    dtypes: dict[str, np.dtype[Any]] = {
        "ts": np.dtype(np.int64),
        **{name: np.dtype(np.int32) for name in ("id", "price", "average")},
    }
    return tuple(
        StreamTable(
            name=name,
            kinds=(kind,),
            dtypes=dtypes,
            blocks=_side,
            each_row=not options.settings["top"],
        )
        for kind, name in enumerate(KINDS)
    )


def _side(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        yield {**block, "id": block["symbol"]}


TRADES = ImportKind(
    name="trades",
    workload="nyse_hedge",
    help="trades in CSV, with a time, a price and a symbol each",
    check=_check,
    file_format=NamedColumns(required_roles=("ts", "price")),
    transform=lambda options: partial(_columns, options.settings),
    columns=(("symbol", "string"), ("price", "int32")),
    lookup=Lookup(name="average", column="symbol", numbers=_averages),
    dictionaries={"symbols": "symbol"},
    kinds=KINDS,
    streams=_streams,
    roles=("ts", "price", "symbol"),
    settings=(
        *CSV_SETTINGS,
        TIME_SETTING,
        Setting(
            name="price-scale",
            default=1.0,
            help="Factor of prices in the file; 10000 in several layouts.",
            valid=lambda scale: scale > 0,
            expected="a number above 0",
        ),
        Setting(
            name="decimals",
            default=2,
            help="Decimals of a price to keep.",
            valid=range(_MOST_DECIMALS + 1).__contains__,
            expected=f"0 to {_MOST_DECIMALS}",
        ),
        Setting(
            name="symbol-pattern",
            default="[A-Za-z]+",
            help="Finds the symbol in a file's name (its first group, if it has one).",
        ),
        Setting(name="symbols", default="", help="Keep these symbols only: A,B,..."),
        Setting(
            name="top",
            default=0,
            help="Number of symbols to keep, by trades; 0: all.",
            valid=lambda count: count >= 0,
            expected="0 (all) or more",
        ),
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
