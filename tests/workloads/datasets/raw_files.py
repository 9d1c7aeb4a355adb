"""Lines of raw files of every import kind, and the options that read them."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.workloads.datasets.files import edit_line, log_line, text_file


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def access_log(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        log_line(
            ts, f"/{some(30)}", str(some(4)), host=f"h{some(20)}", response=200 + 104 * some(2)
        )
        for ts in times
    ]


def linear_road(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts} {some(40)} 30 0 1 0 {5280 * some(100)}" for ts in times]


def bids(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        f'{{"event_type": 2, "bid": {{"auction": {some(5)}, "bidder": {some(9)}, "price": {some(99)}, '
        f'"channel": "c{some(3)}", "dateTime": {ts}}}}}'
        for ts in times
    ]


def retail(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts},{some(90)},{some(50)},{some(999)},c{some(9)}" for ts in times]


def trades(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts},{1 + some(999)},S{some(12)}" for ts in times]


def text(some: Callable[[int], int]) -> str:
    return " ".join(f"{'#' if not some(6) else ''}w{some(80)}" for _ in range(some(9)))


def tweets(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"{ts},u{some(9)},{text(some)}" for ts in times]


def edits(times: list[int], some: Callable[[int], int]) -> list[str]:
    hours = (3_600_000 * ts // 50 for ts in times)
    lines = (edit_line(iso(ms), f"p{some(60)}") for ms in hours)
    return [f'{line[:-1]}, "user": "u{some(9)}", "comment": "{text(some)}"}}' for line in lines]


def readings(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        f"16/01/2012 {ts // 3600:02}:{ts // 60 % 60:02}:{ts % 60:02};{some(99)};{some(99)}"
        for ts in times
    ]


def debs(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [f"1,{60 * ts},{some(99)}.5,{some(2)},{some(5)},{some(2)},{some(3)}" for ts in times]


def connections(times: list[int], some: Callable[[int], int]) -> list[str]:
    def line() -> str:
        texts = f"{('tcp', 'udp')[some(2)]},s{some(5)},SF"
        return ",".join((str(some(9)), texts, *(str(some(2)) for _ in range(37)), "normal."))

    return [line() for _ in times]


def ad_events(times: list[int], some: Callable[[int], int]) -> list[str]:
    return [
        f'{{"user_id": "u{some(40)}", "page_id": "p{some(5)}", "ad_id": "ad-{some(30)}", '
        f'"event_type": "view", "event_time": {ts}, "ip_address": "1.2.3.{some(9)}"}}'
        for ts in times
    ]


def open_bandit(times: list[int], some: Callable[[int], int]) -> list[str]:
    features = ",".join(f"user_feature_{n}" for n in range(4))
    head = f"timestamp,item_id,position,click,{features}"
    return [
        head,
        *(f"{iso(1000 * ts)},{some(30)},{1 + some(3)},{some(2)},a{some(9)},b,c,d" for ts in times),
    ]


MS = {"time": "ms"}
HOMES = {"houses": 3, "households-per-house": 2, "plugs-per-household": 5}
RAW: dict[str, tuple[Any, dict[str, Any]]] = {
    "ad-events": (ad_events, {"streams": 2}),
    "open-bandit": (open_bandit, {"streams": 2}),
    "access-log": (access_log, {"streams": 3}),
    "debs-2014": (debs, {"streams": 2, "settings": HOMES}),
    "debs-2014-readings": (debs, {"streams": 2, "settings": HOMES}),
    "kdd-cup": (connections, {"streams": 2, "settings": {"check-every": 100}}),
    "linear-road": (linear_road, {"streams": 2}),
    "nexmark": (bids, {"streams": 2, "settings": MS}),
    "retail": (
        retail,
        {
            "streams": 2,
            "columns": {"ts": "1", "ticket": "2", "item": "3", "net_paid": "4", "category": "5"},
            "settings": MS,
        },
    ),
    "tweets": (
        tweets,
        {"streams": 2, "columns": {"ts": "1", "user": "2", "text": "3"}, "settings": MS},
    ),
    "wikipedia-comments": (edits, {"streams": 2}),
    "tracebase": (readings, {}),
    "tracebase-homes": (
        readings,
        {"settings": {"households-per-house": 1, "plugs-per-household": 2}},
    ),
    "trades": (
        trades,
        {"columns": {"ts": "1", "price": "2", "symbol": "3"}, "settings": MS},
    ),
    "wikipedia-edits": (edits, {"streams": 2}),
}


def raw_file(kind: str, folder: Path) -> Path:
    """Return the path of a raw file; some kinds read its name."""
    return folder / ("dev_A_2012.01.16.csv" if kind.startswith("tracebase") else f"{kind}.txt")


def options_of(kind: str, folder: Path) -> dict[str, Any]:
    """Return the options that read the lines of a kind, with its table in a folder."""
    options = dict(RAW[kind][1])
    if kind in TABLES:
        setting, table = TABLES[kind]
        options["settings"] = {setting: str(text_file(folder / "table", *table))}
    return options


_FEATURES = ",".join(f"item_feature_{n}" for n in range(4))
TABLES = {
    "ad-events": (
        "campaigns",
        tuple(f'{{"ad-{ad}": "c-{ad % 4}"}}' for ad in range(30)),
    ),
    "open-bandit": (
        "items",
        (f"item_id,{_FEATURES}", *(f"{item},1,c-{item % 4},x,y" for item in range(30))),
    ),
}
"""Settings that name a table, and its lines, for kinds that want one."""
