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
