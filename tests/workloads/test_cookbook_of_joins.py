"""Every program of docs/cookbook/joins.md gives the answer that the page shows, and that of pandas."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.decoded_answer import decode_answer
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload

PAGE = Path(__file__).parents[2] / "docs" / "cookbook" / "joins.md"
HEAD, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
RECIPES = {section.partition("\n")[0]: section for section in SECTIONS}
MOST_LINES = 15
MINUTE = pd.Timedelta(minutes=1)
UNIT = pd.Timedelta(milliseconds=1)


def blocks(text: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name == language]


def write_input(text: str, folder: Path) -> None:
    for name, content in re.findall(
        r"^`(\S+)`:\n\n```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE
    ):
        (folder / name).write_text(content)


def load(title: str, folder: Path) -> Workload:
    (head,), (program,) = blocks(HEAD, "python"), blocks(RECIPES[title], "python")
    assert len(program.splitlines()) <= MOST_LINES
    write_input(HEAD + RECIPES[title], folder)
    (folder / "recipe.py").write_text(f"{head}\n{program}")
    return workload(str(folder / "recipe.py"))


def shown(page: str) -> list[list[str]]:
    """The rows of a page's answer, the names of columns first."""
    lines = blocks(page, "")[-1].splitlines()
    return [re.split(r" {2,}", line.strip()) for line in lines]


def computed(subject: Workload, folder: Path) -> list[list[str]]:
    """Return the rows of the oracle's answer as `lab answer` decodes them, the names of columns first."""
    dataset = ensure(subject, {}, 0, 0, catalog=Catalog(root=folder / "data"))
    columns = decode_answer(subject, dataset, subject.oracle(dataset.load()))
    rows = zip(*columns.values(), strict=True)
    return [list(columns), *([str(value) for value in row] for row in rows)]


def views(folder: Path) -> pd.DataFrame:
    frame = pd.read_csv(folder / "views.csv").dropna(subset=["user"])
    at = pd.to_datetime(frame["day"] + " " + frame["time"], utc=True)
    return frame.assign(at=at, page=frame["page"].fillna("none"))[["at", "user", "page"]]


def sales(folder: Path) -> pd.DataFrame:
    frame = pd.read_json(folder / "sales.jsonl", lines=True)
    at = pd.to_datetime(frame["at"], utc=True)
    price = (frame["price"] * 100).round().astype(int)
    return pd.DataFrame({"sold": at, "user": frame["buyer"], "price": price})


def pairs(folder: Path, minutes: int) -> pd.DataFrame:
    both = views(folder).merge(sales(folder), on="user")
    return both[(both.sold >= both["at"]) & (both.sold <= both["at"] + minutes * MINUTE)]


def bounded(folder: Path) -> pd.DataFrame:
    both = pairs(folder, 10)
    return both.assign(ts=both.sold + UNIT)


def both_columns(folder: Path) -> pd.DataFrame:
    gifts = pd.read_csv(folder / "gifts.csv").rename(columns={"buyer": "user"})
    gifts["given"] = pd.to_datetime(gifts["at"], utc=True)
    both = views(folder).merge(gifts.drop(columns="at"), on=["user", "page"])
    late = both.given - both["at"]
    both = both.assign(ts=both.given + UNIT, late=late // UNIT)
    both["dear"] = (both.cents > 700) & (both.page != "home")
    return both[(late >= 0 * MINUTE) & (late <= 5 * MINUTE)]


def without_partner(folder: Path) -> pd.DataFrame:
    both = pairs(folder, 5)
    both = both.assign(ts=both.sold.dt.floor("1min") + MINUTE, matched=True)
    alone = views(folder).merge(both[["at", "user"]], how="left", indicator=True)
    alone = alone[alone["_merge"] == "left_only"]
    alone = alone.assign(ts=(alone["at"] + 5 * MINUTE).dt.floor("1min") + MINUTE, matched=False)
    last = max(views(folder)["at"].max(), sales(folder).sold.max())
    return pd.concat([both, alone[alone.ts <= last]])


def latest(folder: Path) -> pd.DataFrame:
    right = sales(folder).sort_values("sold")
    left = views(folder).sort_values("at")
    found = pd.merge_asof(
        left, right, left_on="at", right_on="sold", by="user", tolerance=60 * MINUTE
    )
    return found.assign(ts=found["at"], matched=found.price.notna())


def side(folder: Path) -> pd.DataFrame:
    users = pd.read_csv(folder / "users.csv").rename(columns={"name": "user"})
    found = views(folder).merge(users, how="left")
    paid = found.plan.fillna("").str.startswith("pro")
    return found.assign(ts=found["at"], is_paid=paid, matched=found.plan.notna())


EXPECTED: dict[str, Callable[[Path], pd.DataFrame]] = {
    "Pairs in time bounds": bounded,
    "Several columns, values of both sides": both_columns,
    "Rows without a partner": without_partner,
    "The latest row before": latest,
    "A side table and a function of a text": side,
}


def of_pandas(frame: pd.DataFrame, names: list[str]) -> list[list[str]]:
    frame = frame.fillna({"price": 0})
    if "price" in frame:
        frame = frame.astype({"price": np.int64})
    texts = frame.assign(ts=[re.sub(r"(\.\d{3})000", r"\1", t.isoformat(" ")) for t in frame.ts])
    return sorted(texts[names].astype(str).values.tolist())


def test_every_recipe_is_tested():
    assert list(RECIPES) == list(EXPECTED)


@pytest.mark.parametrize("title", EXPECTED)
def test_a_recipe_gives_the_answer_of_the_page_and_of_pandas(title: str, tmp_path: Path):
    names, *rows = computed(load(title, tmp_path), tmp_path)
    assert sorted(rows) == of_pandas(EXPECTED[title](tmp_path), names)
    assert [names, *sorted(rows)] == [shown(RECIPES[title])[0], *sorted(shown(RECIPES[title])[1:])]
