"""The query of several operators in docs/model.md does what the text says, on both engines."""

import re
from pathlib import Path

import numpy as np

from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import (
    Alphabet,
    Input,
    InputType,
    ListColumn,
    Operator,
    Query,
    Stream,
    Window,
)
from streamlab.workloads.model.operators.reference import answer

TEXT = (Path(__file__).parents[3] / "docs" / "model.md").read_text()


def documented() -> Query:
    """The program of the section on several operators, run as it stands there."""
    section = TEXT.split("### Several operators")[1]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    names = {
        "np": np,
        "InputType": InputType,
        "Operator": Operator,
        "Query": Query,
        "Window": Window,
        "__name__": __name__,
    }
    exec(compile(code, "docs/model.md", "exec"), names)
    return names["PROGRAM"]


def test_the_documented_chain_gives_the_highest_count_of_every_10_s():
    query = documented()
    tweets = [
        (0, [1, 2]),
        (4_000, [1]),
        (9_999, [1, 3]),
        (10_000, [2]),
        (25_000, []),
        (30_000, [7]),
    ]
    stream = Stream(
        name="tweet-0",
        kinds=(0,),
        ts=np.array([ts for ts, _ in tweets], dtype=np.int64),
        payload={"words": ListColumn.of([words for _, words in tweets], np.int32)},
    )
    data = Input(alphabet=Alphabet(kinds=("tweet",)), streams=(stream,))
    expected = {"ts": [20_000, 30_000], "count": [3, 1]}
    assert {n: c.tolist() for n, c in answer(query, data).items()} == expected
    run = OplusRun(query, data, RunSettings(workers=2, ring_blocks=4))
    try:
        run.run()
        assert {n: c.tolist() for n, c in run.answer().items()} == expected
    finally:
        run.close()
