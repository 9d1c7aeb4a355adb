"""Average prices for imported trades: from a table, from the day before, or from the day itself.

The average is the mean of the prices of all trades, not weighted by volume, rounded half up to the
unit that prices are kept in.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.csv_rows import read_csv
from workloads.datasets.imports.kind import BadRowError, ImportOptions, Row
from workloads.datasets.imports.raw import At
from workloads.datasets.imports.trade_fields import whole_price
from workloads.datasets.times import TimeReader

if TYPE_CHECKING:
    import pyarrow as pa

Read = Callable[[Path, ImportOptions, At], Iterator[tuple[str, Any]]]
Parse = Callable[[Any, ImportOptions], Row | None]


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
            self.add_some(row["symbol"], row["price_count"], row["price_sum"])

    def add_some(self, symbol: str, count: int, price_sum: int) -> None:
        """Count some trades of a symbol."""
        self._count[symbol] += count
        self._sum[symbol] += price_sum

    def top(self, number: int) -> dict[str, int]:
        """Return the mean prices of so many symbols with the most trades, rounded; 0: of all."""
        by_trades = sorted(self._count, key=lambda symbol: (-self._count[symbol], symbol))
        return {symbol: self._mean(symbol) for symbol in by_trades[: number or None]}

    def _mean(self, symbol: str) -> int:
        count = self._count[symbol]
        return (2 * self._sum[symbol] + count) // (2 * count)


def averages(
    traded: Mapping[str, int], options: ImportOptions, read: Read, parse: Parse
) -> dict[str, int]:
    """Return the average price of each symbol.

    Args:
        traded: the symbols, with the means of the imported trades themselves.
        options: `averages` names a table, `previous` the file of the day before.
        read: reads that file.
        parse: gives (ts, symbol, price) of its records.

    Raises:
        DatasetError: both are named, one cannot be read, or a symbol has no average in it.
    """
    table, previous = options.settings["averages"], options.settings["previous"]
    if table and previous:
        raise DatasetError("give --averages or --previous, not both")
    if not table and not previous:
        return dict(traded)
    path = Path(table or previous)
    known = _of_table(path, options) if table else _of_trades(path, options, read, parse)
    missing = sorted(set(traded) - set(known))
    if missing:
        raise DatasetError(
            f"{path} has no average price of {', '.join(missing)}; leave them out with --symbols, "
            "or add them"
        )
    return {symbol: known[symbol] for symbol in traded}


def priced(averages: Mapping[str, int], batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Return the rows whose symbol has an average, with it in the int column `average`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    symbols = pa.array(list(averages), pa.string())
    batch = batch.filter(pc.is_in(batch.column("symbol"), symbols))
    places = pc.index_in(batch.column("symbol"), symbols)
    prices = pa.array(list(averages.values()), pa.int32())
    return batch.append_column("average", prices.take(places))


def _of_table(path: Path, options: ImportOptions) -> dict[str, int]:
    columns = {"symbol": "symbol", "average": "average"}
    plain = ImportOptions(files=(path,), columns=columns)
    found: dict[str, int] = {}
    for place, cells in read_csv(path, plain, _nothing):
        try:
            symbol = cells["symbol"].strip().upper()
            average = whole_price(cells["average"], 1.0, options.settings["decimals"])
        except BadRowError as error:
            raise DatasetError(f"{place}: {error}") from error
        if symbol in found:
            raise DatasetError(f"{place}: symbol {symbol} has an average already")
        found[symbol] = average
    return found


def _of_trades(path: Path, options: ImportOptions, read: Read, parse: Parse) -> dict[str, int]:
    tally = Tally()
    options = replace(options, times=TimeReader(options.times.form))  # other days, other evidence
    bad = 0
    for place, fields in read(path, options, _nothing):
        try:
            row = parse(fields, options)
        except BadRowError as error:
            bad += 1
            if bad > options.max_bad:
                raise DatasetError(
                    f"{place}: {error}; leave bad rows out with --max-bad"
                ) from error
            continue
        if row is not None:
            _, symbol, price = row
            tally.add_some(symbol, 1, price)
    return tally.top(0)


def _nothing(position: int) -> None:
    """Take no note of how far a file has been read."""
