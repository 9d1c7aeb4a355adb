"""The pipeline in docs/model.md does what the text says, and keeps the laws."""

import re
from pathlib import Path

import numpy as np

from streamlab.workloads.model import Alphabet, Input, Pipeline, Stream
from streamlab.workloads.model.check import check
from streamlab.workloads.model.code.constants import constants
from streamlab.workloads.model.pipeline.reference import answer
from tests.examples import examples

TEXT = (Path(__file__).parents[3] / "docs" / "model.md").read_text()


def documented() -> Pipeline:
    """The program of the section on pipelines, run as it stands there."""
    section = TEXT.split("## How to write an ordered pipeline")[1]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    names: dict[str, object] = {"__name__": __name__}
    exec(compile(code, "docs/model.md", "exec"), names)
    program = names["PROGRAM"]
    assert isinstance(program, Pipeline)
    return program


def test_the_documented_pipeline_numbers_every_third_slow_report_of_a_vehicle():
    reports = [(1, 7, 5), (2, 7, 10), (3, 7, 0), (4, 8, 9), (5, 7, 1), (5, 8, 2), (5, 8, 3)]
    reports += [(9, 7, 4), (9, 7, 4), (9, 7, 4)]
    columns = list(zip(*reports, strict=True))
    stream = Stream(
        name="report-0",
        kinds=(0,),
        ts=np.array(columns[0], dtype=np.int64),
        payload={
            "vid": np.array(columns[1], dtype=np.int32),
            "speed": np.array(columns[2], dtype=np.int16),
        },
    )
    data = Input(alphabet=Alphabet(kinds=("report",)), streams=(stream,))
    assert {name: column.tolist() for name, column in answer(documented(), data).items()} == {
        "ts": [5, 5, 9],
        "number": [1, 2, 3],
        "vid": [7, 8, 7],
    }


def test_the_documented_pipeline_keeps_the_laws_and_its_constant_is_tried():
    report = check(documented(), examples=examples(50))
    assert report.ok, report.render()
    assert constants(documented()) == (10,)
