"""Imports trades of a day in CSV as `nyse_hedge`, a self-join: both sides get the same rows (docs/data.md).

Symbols are in upper case. Prices are whole cents. A row is bad if its price is not above 0 or does not fit 32 bits. The
average price of a symbol is the unweighted mean of the prices of all its trades, rounded half up to cents.
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
_SYMBOL = re.compile("[A-Za-z]+")
"""Finds the symbol in the name of a file without a column of symbols."""


def _mean_prices(rows: SplitRows[RowReport]) -> dict[str, int]:
    """Return the rounded mean price of each symbol."""
    count, total = Counter[str](), Counter[str]()
    for symbols, run in rows.coded_runs("symbol"):
        codes, prices = np.asarray(run["symbol"]), np.asarray(run["price"], np.int64)
        totals = np.zeros(len(symbols), np.int64)
        np.add.at(totals, codes, prices)
        names = symbols.to_pylist()
        count.update(dict(zip(names, np.bincount(codes).tolist(), strict=True)))
        total.update(dict(zip(names, totals.tolist(), strict=True)))
    return {symbol: (2 * total[symbol] + n) // (2 * n) for symbol, n in count.items()}


def _averages(
    rows: SplitRows[RowReport], options: ImportOptions, executor: Executor
) -> Mapping[str, int]:
    """Return the average prices of the symbols, from a table, the day before, or these rows."""
    traded = _mean_prices(rows)
    table, previous = options.settings["averages"], options.settings["previous"]
    if table and previous:
        raise DatasetError("give --averages or --previous, not both")
    if not table and not previous:
        return traded
    path = Path(table or previous)
    if table:
        mean_prices = _read_averages(path)
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
    return mean_prices


def _read_averages(path: Path) -> dict[str, int]:
    """Return the average prices in a table."""
    table_options = ImportOptions(files=(path,))
    means: dict[str, int] = {}
    for cells in lookup_cells(_TABLE, path, table_options):
        average = cells.parse_texts("average", price_in_cents, pa.int64())
        cells.check()
        rows = zip(cells.stripped("symbol").to_pylist(), average.to_pylist(), strict=True)
        for row, (symbol, mean) in enumerate(rows):
            if symbol.upper() in means:
                raise DatasetError(
                    f"{cells.place(row)}: symbol {symbol} has an average in a row above; remove one"
                )
            means[symbol.upper()] = mean
    return means


def price_in_cents(text: str, scale: float = 1.0) -> int:
    """Return a price in cents, rounded half up; `text` is the price times `scale`."""
    try:
        price = Decimal(text.strip()) / Decimal(repr(scale)) * 100
        cents = int(price.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError) as error:
        raise BadRowError(f"column price is {text!r}, not a price") from error
    if not 0 < cents <= _INT32_MAX:
        raise BadRowError(f"column price is {text!r}, {cents} cents, not from 1 to {_INT32_MAX}")
    return cents


KINDS = ("left", "right")


def _columns(settings: Settings, cells: Cells) -> dict[str, object]:
    """Return symbol and price; skip symbols that were not requested."""
    symbol = _symbols(cells)
    if requested := str(settings["symbols"]).upper():
        names = [name.strip() for name in requested.split(",")]
        cells.skip(~mask_of(pc.is_in(symbol, pa.array(names, symbol.type))))
    price = partial(price_in_cents, scale=settings["price-scale"])
    return {
        "price": cells.parse_texts("price", price, pa.int32()),
        "ts": cells.times("ts"),
        "symbol": symbol,
    }


def _symbols(cells: Cells) -> "pa.Array":
    """Return each row's symbol, from its column or from the file's name; rows without one are bad."""
    if "symbol" in cells:
        symbol = pc.utf8_upper(cells.stripped("symbol"))
        cells.mark(mask_of(pc.equal(symbol, "")), "column symbol is empty")
        return symbol
    match = _SYMBOL.search(cells.part.file)
    if match is None:
        all_rows = np.ones(len(cells), np.bool_)
        reason = f"the file name {cells.part.file!r} has no symbol; add symbol= to --columns"
        cells.mark(all_rows, reason)
    return pa.repeat("" if match is None else match[0].upper(), len(cells))


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams of both sides; each side has all trades."""
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
            each_row=True,
        )
        for kind, name in enumerate(KINDS)
    )


def _side(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield all trades, with the number of the symbol as `id`."""
    for block in blocks:
        yield {**block, "id": block["symbol"]}


TRADES = ImportKind(
    name="trades",
    workload="nyse_hedge",
    help="trades in CSV, with a time, a price and a symbol each",
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
        Setting(name="symbols", default="", help="Keep these symbols only: A,B,..."),
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
