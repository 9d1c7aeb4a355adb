"""Average prices for imported trades: from a table, from the day before, or from the day itself.

The average is the mean of the prices of all trades, not weighted by volume, rounded half up to the
unit that prices are kept in.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.csv_rows import read_csv
from workloads.datasets.imports.kind import BadRowError, ImportOptions, Row
from workloads.datasets.imports.raw import At
from workloads.datasets.imports.trade_fields import whole_price

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Read = Callable[[Path, ImportOptions, At], Iterator[tuple[str, Any]]]
Parse = Callable[[Any, ImportOptions], Row | None]


def with_averages(
    rows: "DataFrame", options: ImportOptions, read: Read, parse: Parse
) -> "DataFrame":
    """Return rows (row, ts, symbol, price) with an int column `average`.

    Args:
        rows: the trades.
        options: `averages` names a table, `previous` the file of the day before.
        read: reads that file.
        parse: gives (ts, symbol, price) of its records.

    Raises:
        DatasetError: both are named, one cannot be read, or a symbol has no average in it.
    """
    from pyspark.sql import functions as f

    table, previous = options.settings["averages"], options.settings["previous"]
    if table and previous:
        raise DatasetError("give --averages or --previous, not both")
    if not table and not previous:
        mean = f.floor((2 * f.sum("price") + f.count("price")) / (2 * f.count("price")))
        of_day = rows.groupBy("symbol").agg(mean.cast("int").alias("average"))
        return rows.join(f.broadcast(of_day), "symbol")
    path = Path(table or previous)
    known = _of_table(path, options) if table else _of_trades(path, options, read, parse)
    traded = [row.symbol for row in rows.select("symbol").distinct().collect()]
    missing = sorted(set(traded) - set(known))
    if missing:
        raise DatasetError(
            f"{path} has no average price of {', '.join(missing)}; leave them out with --symbols, "
            "or add them"
        )
    entries = [(symbol, known[symbol]) for symbol in sorted(traded)]
    frame = rows.sparkSession.createDataFrame(entries, "symbol string, average int")
    return rows.join(f.broadcast(frame), "symbol")


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
    sums: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
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
            sums[symbol] += price
            counts[symbol] += 1
    return {name: (2 * sums[name] + counts[name]) // (2 * counts[name]) for name in sums}


def _nothing(position: int) -> None:
    """Take no note of how far a file has been read."""
