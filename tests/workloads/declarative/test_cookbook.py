"""Every program of docs/cookbook.md gives the answer that the page shows, and that of pandas written apart."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from streamlab.lab.cli.table import print_columns
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.decoded_answer import decode_answer
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload
from tests.examples_folder import EXAMPLES
from tests.workloads.declarative.declared_runs import answer_of, assert_rows

PAGE = EXAMPLES.parent / "docs" / "cookbook.md"
RIDES = EXAMPLES / "cookbook" / "rides.csv"
MOST_LINES = 15
HEAD, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
RECIPES = {section.partition("\n")[0]: section for section in SECTIONS}
MINUTE = 60_000
ZONE = "America/New_York"


def blocks(text: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name == language]


OUTPUTS = {"Busiest stations, a chain with two outputs": "busiest"}
"""The output whose answer a page shows."""


def load(title: str, folder: Path) -> Workload:
    (head,), (program,) = blocks(HEAD, "python"), blocks(RECIPES[title], "python")
    assert len([line for line in program.splitlines() if line.strip()]) <= MOST_LINES
    (folder / "rides.csv").write_bytes(RIDES.read_bytes())
    (folder / "rides.py").write_text(f"{head}\n{program}")
    return workload(":".join([str(folder / "rides.py"), *filter(None, [OUTPUTS.get(title)])]))


def shown(subject: Workload, folder: Path, rows: int) -> str:
    """Return what `lab answer --head` prints."""
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=folder / "catalogue"))
    answer = {name: values[:rows] for name, values in subject.oracle(dataset.load()).items()}
    text = io.StringIO()
    print_columns(decode_answer(subject, dataset, answer), Console(file=text, width=200))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def rides() -> pd.DataFrame:
    frame = pd.read_csv(RIDES)
    moments = pd.to_datetime(frame.started_at).dt.tz_localize(ZONE)
    return frame.assign(at=moments.astype("int64") // 1_000_000)


def windows(frame: pd.DataFrame, minutes: int, every: int | None = None) -> pd.DataFrame:
    """Return each row once for each of its windows, with the window's end, without open windows."""
    size, advance = minutes * MINUTE, (every or minutes) * MINUTE
    copies = []
    for row in frame.to_dict("records"):
        end = row["at"] // advance * advance + advance
        while end - size <= row["at"]:
            copies.append({**row, "ts": end})
            end += advance
    result = pd.DataFrame(copies)
    return result[result.ts <= frame["at"].max()]


def mean_per_quarter() -> pd.DataFrame:
    grouped = windows(rides(), 15).groupby(["ts", "station"]).duration
    return grouped.agg(rides="count", mean_minutes=lambda d: d.mean() / 60).reset_index()


def aggregates() -> pd.DataFrame:
    grouped = windows(rides(), 60, 30).groupby("ts")
    return grouped.agg(
        bikes=("bike", "nunique"),
        seconds=("duration", "sum"),
        mean_price=("price", "mean"),
        longest=("duration", lambda d: d.max() / 60),
    ).reset_index()


def filtered() -> pd.DataFrame:
    frame = windows(rides(), 60).query("duration > 900 and price < 3")
    return frame.groupby(["ts", "station"]).size().reset_index(name="rides")


def bikes() -> pd.DataFrame:
    grouped = windows(rides(), 60).groupby(["ts", "station"])
    return grouped.agg(
        bikes=("bike", "nunique"),
        has_107=("bike", lambda bikes: 107 in set(bikes)),
        least=("duration", lambda seconds: seconds.nlargest(3).min()),
    ).reset_index()


def quarters() -> pd.DataFrame:
    found = [
        (ride.at, ride.station, quarter)
        for ride in rides().itertuples()
        for quarter in range(ride.duration // 60 // 15 + 1)
    ]
    return pd.DataFrame(found, columns=["ts", "station", "quarter"])


def percentile() -> pd.DataFrame:
    ordered = windows(rides(), 60).groupby("ts").duration.agg(sorted)
    return ordered.map(lambda d: float(d[-(-9 * len(d) // 10) - 1])).reset_index(name="p90")


def visits() -> pd.DataFrame:
    frame, pause, found = rides(), 10 * MINUTE, []
    for station, rows in frame.groupby("station"):
        session = (rows["at"].diff() > pause).cumsum()
        for number, part in rows.groupby(session):
            ts = (part["at"].iloc[-1] // pause + 2) * pause
            if number < session.max() or ts <= frame["at"].max():
                ends = part["at"].iloc[0], part["at"].iloc[-1]
                found.append((ts, station, *ends, len(part), part.price.sum()))
    return pd.DataFrame(found, columns=["ts", "station", "first", "last", "rides", "paid"])


def tens() -> pd.DataFrame:
    frame = rides()
    number = frame.groupby("station").cumcount() // 10
    grouped = frame.groupby(["station", number])
    result = grouped.agg(ts=("at", "max"), mean=("duration", "mean"), rows=("at", "size"))
    return result[result.rows == 10].reset_index()[["ts", "station", "mean"]]


def longest() -> pd.DataFrame:
    frame = windows(rides(), 60).rename(columns={"started_at": "text"})
    frame = frame.sort_values(["ts", "duration"], ascending=[True, False])
    frame["rank"] = frame.groupby("ts").cumcount() + 1
    return frame[frame["rank"] <= 2][["ts", "rank", "duration", "station", "bike", "at"]]


def busiest() -> pd.DataFrame:
    counts = windows(rides(), 30).groupby(["ts", "station"], sort=False).size()
    frame = counts.reset_index(name="rides").sort_values("rides", ascending=False, kind="stable")
    order = {station: n for n, station in enumerate(rides().station.unique())}
    frame = frame.assign(n=frame.station.map(order)).sort_values(
        ["ts", "rides", "n"], ascending=[True, False, True]
    )
    first = frame.groupby("ts").head(1)
    first = first.assign(at=first.ts, ts=first.ts + 30 * MINUTE, rank=1)
    last = rides()["at"].max()
    return first[first.ts <= last][["ts", "rank", "rides", "station", "at"]]


def once() -> pd.DataFrame:
    left: dict[tuple[str, int], int] = {}
    found = []
    for row in rides().itertuples():
        pair = row.station, row.bike
        if row.at - left.get(pair, -(10**18)) > 20 * MINUTE:
            left[pair] = row.at
            found.append((row.at, *pair, row.price))
    return pd.DataFrame(found, columns=["ts", "station", "bike", "price"])


def cheap() -> pd.DataFrame:
    found = []
    for station, rows in rides().groupby("station"):
        for _, run in rows.groupby((rows.price >= 2).cumsum()):
            run = run[run.price < 2]
            late = run[run["at"] - run["at"].min() >= 10 * MINUTE]
            if len(late):
                found.append((late["at"].iloc[0], station, run["at"].iloc[0], late.bike.iloc[0]))
    return pd.DataFrame(found, columns=["ts", "station", "since", "bike"])


def high() -> pd.DataFrame:
    means = windows(rides(), 15).groupby(["ts", "station"]).price.mean().reset_index(name="mean")
    found = []
    for station, rows in means.groupby("station"):
        for _, run in rows.groupby((rows["mean"] <= 1).cumsum()):
            run = run[run["mean"] > 1]
            late = run[run.ts - run.ts.min() >= 15 * MINUTE]
            if len(late):
                found.append((late.ts.iloc[0], station, run.ts.iloc[0], late["mean"].iloc[0]))
    return pd.DataFrame(found, columns=["ts", "station", "since", "mean"])


EXPECTED: dict[str, Callable[[], pd.DataFrame]] = {
    "Mean per quarter of an hour": mean_per_quarter,
    "Named aggregates in sliding windows": aggregates,
    "Filter": filtered,
    "Sets and largest values": bikes,
    "Percentile": percentile,
    "Sessions": visits,
    "Count windows": tens,
    "Top rows": longest,
    "Busiest stations, a chain with two outputs": busiest,
    "Deduplication, several key columns": once,
    "Alert": cheap,
    "Alert of a ratio": high,
    "Other columns, several rows for one": quarters,
}
ARRIVAL = "Arrival time"
"""The recipe without an answer; tests/lab/runner/test_answer.py runs it."""
ERRORS = {"Percentile": 0.01}
"""The relative error that a page states."""


def test_every_recipe_is_tested():
    assert list(RECIPES) == [*EXPECTED, ARRIVAL]


@pytest.mark.parametrize("title", EXPECTED)
def test_a_recipe_gives_the_answer_of_the_page_and_of_pandas(title, tmp_path):
    subject = load(title, tmp_path)
    actual = answer_of(subject, tmp_path, workers=(2,))
    assert_rows(actual, EXPECTED[title](), rtol=ERRORS.get(title, 1e-12))
    (page,) = blocks(RECIPES[title], "")
    assert page == shown(subject, tmp_path, page.count("\n") - 1)
