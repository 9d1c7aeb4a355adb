"""The documented program with events across keys does what the text says, and keeps the laws."""

import re
from pathlib import Path

import numpy as np

from streamlab.workloads.model import Across, Alphabet, DGSProgram, Input, StateType, Stream
from streamlab.workloads.model.check import check
from streamlab.workloads.model.reference import answer_of
from tests.examples import examples

TEXT = (Path(__file__).parents[3] / "docs" / "model.md").read_text()


def documented():
    """The program of the section, run as it stands there."""
    section = TEXT.split("### Events across keys")[1]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    names = {"np": np, "DGSProgram": DGSProgram, "StateType": StateType, "Across": Across}
    exec(compile(code, "docs/model.md", "exec"), names)
    return names["PROGRAM"]


def test_a_household_is_billed_for_its_plugs():
    events = [(1, 0, 0, 5), (2, 0, 3, 7), (3, 0, 4, 9), (4, 1, 0, 0), (5, 0, 3, 2), (6, 1, 0, 0)]
    ts, kind, key, value = (
        np.array(column, dtype=np.int64) for column in zip(*events, strict=True)
    )
    stream = Stream(
        name="all",
        kinds=(0, 1),
        ts=ts,
        tag=(kind + 2 * key).astype(np.int32),
        payload={"value": value},
    )
    data = Input(alphabet=Alphabet(kinds=("read", "bill"), keys=6), streams=(stream,))
    answer = answer_of(documented(), data)
    rows = list(zip(*(answer[name].tolist() for name in ("ts", "key", "bill", "sum")), strict=True))
    assert [row for row in rows if row[3]] == [(4, 0, 1, 5), (4, 3, 1, 7), (6, 3, 2, 2)]
    assert len(rows) == 8


def test_it_keeps_the_laws():
    assert check(documented(), examples=examples(40)).ok
