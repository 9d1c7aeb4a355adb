"""The graph in docs/model.md does what the text says, is refused as it says, and keeps the laws."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import Alphabet, Input, ProgramError, Stream
from streamlab.workloads.model.check import check
from streamlab.workloads.model.dataflow.drawing import deployment_text
from streamlab.workloads.model.dataflow.plan import deploy
from tests.examples import examples
from tests.workloads.model.dataflow.parts import answer

SECTION = (
    (Path(__file__).parents[4] / "docs" / "model.md")
    .read_text()
    .split("## How to write a typed dataflow graph")[1]
    .split("\n## ")[0]
)
CODE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0]
SAID = re.findall(
    r"```\n(.*?)```", SECTION.replace(CODE, "").replace("```python\n```", ""), re.DOTALL
)


def documented(code: str = CODE) -> Any:
    """Return the program as it stands there, or with something changed."""
    names: dict[str, object] = {"__name__": __name__}
    exec(compile(code, "docs/model.md", "exec"), names)
    return names["PROGRAM"]


def plain(text: str) -> str:
    return " ".join(text.split())


def said(beginning: str) -> str:
    """Return the block of output that begins so."""
    return next(block for block in SAID if block.lstrip().startswith(beginning))


def test_the_documented_graph_fills_in_and_averages():
    rows = [(1, 7, 10), (3, 8, 5), (4, 7, 16), (5, 8, -1), (11, 7, 9), (30, 8, 5)]
    ts, plug, load = zip(*rows, strict=True)
    columns = {"plug": plug, "load": load}
    stream = Stream(
        name="reports",
        kinds=(0,),
        ts=np.array(ts, dtype=np.int64),
        payload={name: np.array(column, dtype=np.int32) for name, column in columns.items()},
    )
    data = Input(alphabet=Alphabet(kinds=("report",)), streams=(stream,))
    # Plug 7: 10 12 14 16, then 15 14 13 12 11 10 9.
    assert answer(documented(), data) == [
        (10, 7, 13),
        (10, 8, 5),
        (20, 7, (52 + 84) // 11),
        (20, 8, 5),
        (30, 7, (52 + 84) // 11),
        (30, 8, 5),
    ]


def test_without_sort_it_is_refused_with_the_documented_words():
    with pytest.raises(ProgramError) as caught:
        documented(CODE.replace("flow.sort(loads)", "loads"))
    assert plain(str(caught.value)) == plain(said("dataflow average_load, edge"))


def test_the_documented_graph_keeps_the_laws():
    report = check(documented(), examples=examples(60))
    assert report.ok, report.render()


@pytest.mark.full
def test_a_mean_for_a_sum_has_the_documented_counterexample():
    broken = documented(CODE.replace("into.sum = x.sum + y.sum", "into.sum = (x.sum + y.sum) // 2"))
    assert plain(said("associative fails")) in plain(check(broken, examples=30).render())


def test_the_documented_plan_is_that_of_the_graph():
    text = deployment_text(deploy(documented(), 2, streams=[2]))
    assert plain(said("2 workers")) in plain(text)
