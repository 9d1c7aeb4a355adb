"""Trades of a simulated day, written in two published layouts.

- `lean`: a zip file for each symbol, as QuantConnect's LEAN keeps trade ticks: one member without a
  header, whose name has the day and the symbol; milliseconds since midnight, price x 10000, size,
  exchange, condition, suspicious.
- `taq`: one file with bars between the columns and a header, as NYSE's Daily TAQ: time of day as
  hhmmss with nanoseconds, exchange, symbol, sale condition, volume, price; a line `END` at the end.
"""

import random
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.trades import price_in_cents
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import expected_answer, imported, rows, rows_of, texts

OPEN_MS = 34_200_000


@dataclass(frozen=True)
class Trade:
    """Milliseconds since midnight, symbol, price in cents."""

    ms: int
    symbol: str
    cents: int


def simulated(seed: int, symbols: dict[str, int], trades: int) -> list[Trade]:
    """Return trades of a few minutes in order of time, prices walking from those given."""
    random_ = random.Random(seed)
    now, prices, found = float(OPEN_MS), dict(symbols), []
    for _ in range(trades):
        now += random_.expovariate(1 / 40) if random_.random() < 0.8 else 0.0
        symbol = random_.choice(list(symbols))
        prices[symbol] = max(1, prices[symbol] + random_.randint(-20, 20))
        found.append(Trade(int(now), symbol, prices[symbol]))
    return found


def lean(folder: Path, day: str, trades: list[Trade]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for symbol in sorted({trade.symbol for trade in trades}):
        lines = [f"{t.ms},{t.cents * 100},100,P,,0" for t in trades if t.symbol == symbol]
        path = folder / f"{symbol.lower()}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{day}_{symbol.lower()}_Trade_Tick.csv", "\n".join(lines) + "\n")
        paths.append(path)
    return paths


def taq(path: Path, trades: list[Trade]) -> Path:
    lines = ["Time|Exchange|Symbol|Sale Condition|Trade Volume|Trade Price"]
    for trade in trades:
        seconds, ms = divmod(trade.ms, 1000)
        clock = f"{seconds // 3600:02}{seconds // 60 % 60:02}{seconds % 60:02}{ms:03}000000"
        lines.append(f"{clock}|N|{trade.symbol}|@|100|{trade.cents // 100}.{trade.cents % 100:02}")
    path.write_text("\n".join([*lines, f"END|{len(trades)}", ""]))
    return path


SYMBOLS = {"AAPL": 19_120, "GE": 1_310, "XOM": 8_190}
LEAN = {"columns": {"ts": "1", "price": "2"}, "settings": {"price-scale": 10_000.0}}
TAQ = {
    "columns": {"ts": "Time", "price": "Trade Price", "symbol": "Symbol"},
    "settings": {"time": "hhmmss", "delimiter": "|"},
    "max_bad": 1,  # the line END
}


def traded(catalog: Catalog, *files: Path, layout: dict, **settings: object) -> Dataset:
    options = layout | {"settings": layout["settings"] | settings}
    return imported(catalog, "trades", *files, **options)


def side(dataset: Dataset, name: str) -> list[tuple[int, int, int, int]]:
    return rows(dataset, "id", "price", "average")[("left", "right").index(name)]


def means(trades: list[Trade]) -> dict[str, int]:
    found = {}
    for symbol in {trade.symbol for trade in trades}:
        cents = [trade.cents for trade in trades if trade.symbol == symbol]
        found[symbol] = int(sum(cents) / len(cents) + 0.5)
    return found


class TestImport:
    def test_two_layouts_of_the_same_trades_give_the_same_rows(
        self, catalog: Catalog, tmp_path: Path
    ):
        trades = simulated(1, SYMBOLS, 3000)
        average = means(trades)
        zips = lean(tmp_path / "lean", "20180730", trades)
        one = traded(catalog, *zips, layout=LEAN)
        names = texts(one, "symbols")
        assert sorted(names) == sorted(SYMBOLS)
        # Ties come in the order of the files, which is that of the symbols.
        by_file = sorted(trades, key=lambda trade: (trade.ms, trade.symbol))
        expected = [(t.ms, names.index(t.symbol), t.cents, average[t.symbol]) for t in by_file]
        assert side(one, "left") == side(one, "right") == expected
        two = traded(catalog, taq(tmp_path / "taq.txt", trades), layout=TAQ)
        named = texts(two, "symbols")
        expected = [(t.ms, named.index(t.symbol), t.cents, average[t.symbol]) for t in trades]
        assert side(two, "left") == side(two, "right") == expected
        assert two.origin["bad_rows"] == 1

    def test_imported_trades_are_hedged_as_the_oracle_says(self, catalog: Catalog, tmp_path: Path):
        trades = simulated(2, SYMBOLS, 800)
        file = taq(tmp_path / "taq.txt", trades)
        dataset = traded(catalog, file, layout=TAQ)
        assert [stream.name for stream in dataset.streams] == ["left", "right"]
        hedge = workload("nyse_hedge").bound({"ws_ms": 3000, "lower": -2.0, "upper": -0.5})
        assert len(expected_answer(hedge, dataset.load())["ts"]) > 100

    def test_averages_come_from_the_day_before_or_from_a_table(
        self, catalog: Catalog, tmp_path: Path
    ):
        trades, before = simulated(3, SYMBOLS, 500), simulated(4, SYMBOLS, 400)
        file, previous = taq(tmp_path / "30.txt", trades), taq(tmp_path / "27.txt", before)
        one = traded(catalog, file, layout=TAQ, previous=str(previous))
        names, average = texts(one, "symbols"), means(before)
        assert {(row[1], row[3]) for row in side(one, "left")} == {
            (names.index(symbol), cents) for symbol, cents in average.items()
        }
        table = tmp_path / "averages.csv"
        table.write_text("symbol,average\naapl,191.2\nGE,13.105\nXOM,81\n")
        two = traded(catalog, file, layout=TAQ, averages=str(table))
        assert {(names[row[1]], row[3]) for row in side(two, "left")} == {
            ("AAPL", 19_120), ("GE", 1_311), ("XOM", 8_100),
        }  # fmt: skip

    def test_a_symbol_without_an_average_is_refused_and_can_be_left_out(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = taq(tmp_path / "taq.txt", simulated(5, SYMBOLS, 100))
        table = tmp_path / "averages.csv"
        table.write_text("symbol,average\nAAPL,191\n")
        with pytest.raises(DatasetError, match=r"averages.csv has no average price of GE, XOM"):
            traded(catalog, file, layout=TAQ, averages=str(table))
        dataset = traded(catalog, file, layout=TAQ, averages=str(table), symbols="aapl")
        assert texts(dataset, "symbols") == ["AAPL"]

    def test_a_damaged_zip_is_reported(self, catalog: Catalog, tmp_path: Path):
        (path,) = lean(tmp_path, "20180730", simulated(6, {"GE": 1_310}, 2000))
        whole = path.read_bytes()
        path.write_bytes(whole[:200] + bytes(100) + whole[300:])
        with pytest.raises(DatasetError, match=r"ge\.zip.* damaged"):
            traded(catalog, path, layout=LEAN)


def test_prices_are_scaled_and_rounded_half_up_exactly():
    assert price_in_cents("1912000", 10_000.0) == 19_120
    assert price_in_cents(" 13.105 ") == 1_311
    assert price_in_cents("1.005") == 101, "which it would not be in binary fractions"


def test_a_file_name_without_a_symbol_is_a_bad_row(tmp_path: Path):
    path = tmp_path / "1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("2018_07", "1,10000\n")
        archive.writestr("trades-of-GE.csv", "1,10000\n")
    found, rows = rows_of("trades", path, **LEAN)
    assert "'2018_07' has no symbol; add symbol= to --columns" in found.bad_lines[0]
    assert rows == [(1, "TRADES", 100)]
