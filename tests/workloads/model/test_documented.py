"""The programs in docs/model.md do what the text says, are refused as it says, and keep the laws."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads import model
from streamlab.workloads.model import Alphabet, Input, ListColumn, ProgramError, Stream
from streamlab.workloads.model.check import check
from streamlab.workloads.model.code.constants import constants
from streamlab.workloads.model.dataflow.drawing import pictures_of
from streamlab.workloads.model.dataflow.plan import deploy
from streamlab.workloads.model.picture import pictures_text
from streamlab.workloads.model.reference import answer_of
from tests.examples import examples
from tests.workloads.model.dataflow.parts import rows

TEXT = (Path(__file__).parents[3] / "docs" / "model.md").read_text()
ACROSS, QUERIES = "### Events across keys", "## How to write an operator O+"
PIPELINES, GRAPHS = "## How to write an ordered pipeline", "## How to write a typed dataflow graph"


def section(heading: str) -> str:
    return TEXT.split(heading)[1].split("\n## ")[0]


def documented(heading: str, old: str = "", new: str = "") -> Any:
    """Return the first program of a section as it stands there, or with `new` in place of `old`."""
    code = re.findall(r"```python\n(.*?)```", section(heading), re.DOTALL)[0]
    names = {"np": np, **vars(model), "__name__": __name__}
    exec(compile(code.replace(old, new) if old else code, "docs/model.md", "exec"), names)
    return names["PROGRAM"]


def one_stream(kinds: tuple[str, ...], ts: Any, *, tag: Any = None, keys: int = 1, **payload: Any):
    stream = Stream(
        name="all",
        kinds=tuple(range(len(kinds))),
        ts=np.array(ts, dtype=np.int64),
        tag=None if tag is None else np.array(tag, dtype=np.int32),
        payload=payload,
    )
    return Input(alphabet=Alphabet(kinds=kinds, keys=keys), streams=(stream,))


def test_a_household_is_billed_for_its_plugs():
    events = [(1, 0, 0, 5), (2, 0, 3, 7), (3, 0, 4, 9), (4, 1, 0, 0), (5, 0, 3, 2), (6, 1, 0, 0)]
    ts, kind, key, value = np.array(events).T
    data = one_stream(("read", "bill"), ts, tag=kind + 2 * key, keys=6, value=value)
    answer = answer_of(documented(ACROSS), data)
    found = rows({name: answer[name] for name in ("ts", "key", "bill", "sum")})
    assert [row for row in found if row[3]] == [(4, 0, 1, 5), (4, 3, 1, 7), (6, 3, 2, 2)]
    assert len(found) == 8


def test_the_documented_pipeline_numbers_every_third_slow_report_of_a_vehicle():
    reports = [(1, 7, 5), (2, 7, 10), (3, 7, 0), (4, 8, 9), (5, 7, 1), (5, 8, 2), (5, 8, 3)]
    ts, vid, speed = np.array(reports + [(9, 7, 4)] * 3).T
    data = one_stream(("report",), ts, vid=vid.astype(np.int32), speed=speed.astype(np.int16))
    answer = answer_of(documented(PIPELINES), data)
    assert list(answer) == ["ts", "number", "vid"]
    assert rows(answer) == [(5, 1, 7), (5, 2, 8), (9, 3, 7)]
    assert constants(documented(PIPELINES)) == (10,)


def test_the_documented_chain_gives_the_highest_count_of_every_10_s():
    query = documented(QUERIES)
    words = [[1, 2], [1], [1, 3], [2], [], [7]]
    ts = [0, 4_000, 9_999, 10_000, 25_000, 30_000]
    data = one_stream(("tweet",), ts, words=ListColumn.of(words, np.int32))
    expected = {"ts": [20_000, 30_000], "count": [3, 1]}
    assert {n: c.tolist() for n, c in answer_of(query, data).items()} == expected
    run = OplusRun(query, data, RunSettings(workers=2, ring_blocks=4), OplusOptions())
    try:
        run.run()
        assert {n: c.tolist() for n, c in run.answer().items()} == expected
    finally:
        run.close()


def test_the_documented_graph_fills_in_and_averages():
    reports = [(1, 7, 10), (3, 8, 5), (4, 7, 16), (5, 8, -1), (11, 7, 9), (30, 8, 5)]
    ts, plug, load = np.array(reports, dtype=np.int32).T
    # Plug 7: 10 12 14 16, then 15 14 13 12 11 10 9.
    assert rows(
        answer_of(documented(GRAPHS), one_stream(("report",), ts, plug=plug, load=load))
    ) == [
        (10, 7, 13),
        (10, 8, 5),
        (20, 7, (52 + 84) // 11),
        (20, 8, 5),
        (30, 7, (52 + 84) // 11),
        (30, 8, 5),
    ]


@pytest.mark.parametrize(
    ("heading", "number"),
    [(ACROSS, 40), (PIPELINES, 50), (GRAPHS, 60)],
    ids=["dgs", "pipe", "flow"],
)
def test_the_documented_programs_keep_the_laws(heading: str, number: int):
    report = check(documented(heading), examples=examples(number))
    assert report.ok, report.render()


def plain(text: str) -> str:
    return " ".join(text.split())


def said(beginning: str) -> str:
    """Return the output in the section on graphs that begins so."""
    blocks = re.findall(
        r"```\n(.*?)```", re.sub(r"```python.*?```", "", section(GRAPHS), flags=re.S), re.S
    )
    return next(plain(block) for block in blocks if block.lstrip().startswith(beginning))


def test_without_sort_the_graph_is_refused_with_the_documented_words():
    with pytest.raises(ProgramError) as caught:
        documented(GRAPHS, "flow.sort(loads)", "loads")
    assert plain(str(caught.value)) == said("dataflow average_load, edge")


@pytest.mark.full
def test_a_mean_for_a_sum_has_the_documented_counterexample():
    broken = documented(GRAPHS, "into.sum = x.sum + y.sum", "into.sum = (x.sum + y.sum) // 2")
    assert said("associative fails") in plain(check(broken, examples=30).render())


def test_the_documented_plan_is_that_of_the_graph():
    text = pictures_text(pictures_of(deploy(documented(GRAPHS), 2, streams=[2])))
    assert all(part.strip() in plain(text) for part in said("2 workers").split("..."))
