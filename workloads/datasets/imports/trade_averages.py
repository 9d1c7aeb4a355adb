"""Computes average prices for imported trades, from a table, the day before, or the day itself.

The average is the unweighted mean of the prices of all trades, rounded half up to the unit of
prices.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import BadRowError
from streamlab.workloads.datasets.imports.file_reader import Reading, read_batches
from streamlab.workloads.datasets.imports.forms import NamedColumns, lookup_cells
from streamlab.workloads.datasets.imports.kind import ImportKind, ImportOptions
from streamlab.workloads.datasets.times import TimeReader

if TYPE_CHECKING:
    import pyarrow as pa

_AVERAGES = NamedColumns(role_columns={"symbol": "symbol", "average": "average"})
_INT32_MAX = 2**31 - 1


class Tally:
    """The number of trades of each symbol, and the sum of their prices."""

    def __init__(self) -> None:
        self._count: dict[str, int] = defaultdict(int)
        self._sum: dict[str, int] = defaultdict(int)

    def add(self, batch: "pa.RecordBatch") -> None:
        """Count the trades of a block (symbol, price)."""
        import pyarrow as pa

        groups = pa.Table.from_batches([batch]).group_by("symbol")
        for row in groups.aggregate([("price", "count"), ("price", "sum")]).to_pylist():
            self._count[row["symbol"]] += row["price_count"]
            self._sum[row["symbol"]] += row["price_sum"]

    def top(self, number: int) -> dict[str, int]:
        """Return the rounded mean prices of the `number` symbols with the most trades; 0: of all."""
        by_trades = sorted(self._count, key=lambda symbol: (-self._count[symbol], symbol))
        return {symbol: self._mean(symbol) for symbol in by_trades[: number or None]}

    def _mean(self, symbol: str) -> int:
        count = self._count[symbol]
        return (2 * self._sum[symbol] + count) // (2 * count)


def averages(traded: Mapping[str, int], options: ImportOptions, kind: ImportKind) -> dict[str, int]:
    """Return the average price of each symbol.

    Args:
        traded: the symbols, with the means of the imported trades.
        options: `averages` names a table, `previous` the file of the day before.
        kind: reads that file.

    Raises:
        DatasetError: both are named, one cannot be read, or it lacks the average of a symbol.
    """
    table, previous = options.settings["averages"], options.settings["previous"]
    if table and previous:
        raise DatasetError("give --averages or --previous, not both")
    if not table and not previous:
        return dict(traded)
    path = Path(table or previous)
    known = _of_table(path, options) if table else _of_trades(path, options, kind)
    missing = sorted(set(traded) - set(known))
    if missing:
        raise DatasetError(
            f"{path} has no average price of {', '.join(missing)}; leave them out with --symbols, "
            "or add them"
        )
    return {symbol: known[symbol] for symbol in traded}


def add_averages(averages: Mapping[str, int], batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Return the rows whose symbol has an average, with the average in an int32 column `average`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    symbols = pa.array(list(averages), pa.string())
    batch = batch.filter(pc.is_in(batch.column("symbol"), symbols))
    places = pc.index_in(batch.column("symbol"), symbols)
    prices = pa.array(list(averages.values()), pa.int32())
    return batch.append_column("average", prices.take(places))


def _of_table(path: Path, options: ImportOptions) -> dict[str, int]:
    import pyarrow as pa

    plain = ImportOptions(files=(path,))
    price = partial(price_in_units, scale=1.0, decimals=options.settings["decimals"])
    means: dict[str, int] = {}
    for cells in lookup_cells(_AVERAGES, path, plain):
        average = cells.parse_texts("average", price, pa.int64())
        cells.check()
        rows = zip(cells.stripped("symbol").to_pylist(), average.to_pylist(), strict=True)
        for row, (symbol, mean) in enumerate(rows):
            if symbol.upper() in means:
                raise DatasetError(f"{cells.place(row)}: symbol {symbol} has an average already")
            means[symbol.upper()] = mean
    return means


def _of_trades(path: Path, options: ImportOptions, kind: ImportKind) -> dict[str, int]:
    # The other day's times are recognized separately.
    times = TimeReader(options.times.form, unit=options.times.unit)
    tally, reading = Tally(), Reading()
    previous = replace(options, files=(path,), times=times)
    for batch in read_batches(kind, previous, reading, lambda position: None):
        tally.add(batch)
    reading.check(options.max_bad, sort=True)
    return tally.top(0)


def price_in_units(text: str, scale: float, decimals: int) -> int:
    """Return a price as a number of units of its last decimal, rounded half up.

    Args:
        text: the price times `scale`.
        scale: above 0.
        decimals: number of decimals to keep.

    Raises:
        BadRowError: the price is not a number, not above 0, or does not fit 32 bits.
    """
    try:
        price = Decimal(text.strip()) / Decimal(repr(scale)) * 10**decimals
        units = int(price.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError) as error:
        raise BadRowError(f"column price is {text!r}, not a price") from error
    if not 0 < units <= _INT32_MAX:
        raise BadRowError(
            f"column price is {text!r}: {units} in units of 10^-{decimals}; it must be above 0 "
            f"and at most {_INT32_MAX}"
        )
    return units
