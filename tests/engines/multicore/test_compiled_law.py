"""`lab check` runs compiled functions as well, with indices checked, and names what is wrong."""

import pytest

from streamlab.engines.multicore.compiled_law import compiled_law
from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.model.check import HISTORIES_PER_INPUT, check, check_also
from streamlab.workloads.registry import workload
from tests.examples import examples

PROGRAM = """
import numpy as np

from streamlab.workloads.model import DGSProgram, ForkJoin, StateType

TABLE = np.arange(12)


def nothing(*_):
    pass


def update(state, event, out):
    {update}


PROGRAM = DGSProgram(
    name="checked",
    kinds=("value",),
    event=np.dtype([("x", np.int64)]),
    output=np.dtype([("ts", np.int64), ("x", np.int64)]),
    depends=lambda first, second: True,
    states=(
        StateType(
            name="kept",
            dtype=np.dtype([("items", np.int64, (7,)), ("n", np.int64), ("m", np.int8)]),
            update=update,
        ),
    ),
    init=nothing,
)
"""

CASES = {
    "within": ("state.items[event.x % 7] += 1", EXIT_OK, "holds compiled for checked: 10 inputs"),
    "full": (
        "state.items[state.n] = event.x; state.n += 1",
        EXIT_USER_ERROR,
        r"index 7 is out of bounds for axis 0 with size 7, in update (PATH:14)",
    ),
    "overflow": (
        "state.m += 13",
        EXIT_USER_ERROR,
        "field m of kept is of type int8 and got 130; compiled code would wrap it",
    ),
    "in between": (
        "out.emit(event.ts, (event.x * 2**62 * 4) % 1000003 + (event.x * 2**62 * 8) // 2**60)",
        EXIT_USER_ERROR,
        "compiled fails for checked: the answer of the compiled functions is another than that",
    ),
    "not compiled": (
        "out.emit(event.ts, len(str(event.x) + repr([{}])))",
        EXIT_OK,
        "skipped compiled functions: program checked: update function update (PATH:13) does not",
    ),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES)
def test_effects_of_compiled_functions_are_reported(case, tmp_path, capsys):
    update, code, says = CASES[case]
    path = tmp_path / "checked.py"
    path.write_text(PROGRAM.replace("{update}", update))
    assert call(["check", f"{path}:PROGRAM", "--examples", "80"]) == code
    text = " ".join(capsys.readouterr().out.split())
    assert says.replace("PATH", str(path)) in text
    assert "Traceback" not in text


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["fraud_detection", "paircount", "nyse_hedge", "cart_abandonment"])
def test_workloads_of_the_suite_answer_alike(name):
    program = workload(name).program
    law = compiled_law(program)
    assert not isinstance(law, str), law
    inputs = examples(8)
    report = check_also(check(program, examples=HISTORIES_PER_INPUT * inputs), law, "compiled")
    assert report.ok, report.render()
    assert report.checked[-1] == f"compiled for {name}: {inputs} inputs"
