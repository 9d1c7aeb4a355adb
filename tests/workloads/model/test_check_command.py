"""`lab check` of programs that cannot be checked: one clear error, and no file left."""

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.model import ForkJoin, ProgramError, Window
from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.operators.program import Join
from streamlab.workloads.registry import workload
from tests.processes import run_python
from tests.workloads.model import naive, pipelines
from tests.workloads.model.dataflow.parts import LI, averages, of_loads

NOT_IMPORTED = {
    "syntax": ("def broken(:\n", "SyntaxError"),
    "raises": (
        "x = 1\nraise RuntimeError('no data')\n",
        r"RuntimeError: no data, in .*raises.py:2",
    ),
    "attribute": ("import math\nmath.nothing\n", r"AttributeError: .*attribute.py:2"),
    "exits": ("import sys\nsys.exit('bye')\n", "SystemExit: bye"),
    "lacks": ("import not_there_at_all\n", "No module named 'not_there_at_all'"),
    "bytes": (b"\xff\xfe\x00", "Error"),
}


@pytest.mark.parametrize("kind", [*NOT_IMPORTED, "missing", "empty", "relative"])
def test_a_module_that_does_not_import_is_an_error_with_the_reason(
    capsys, tmp_path: Path, monkeypatch, kind: str
):
    monkeypatch.chdir(tmp_path)
    content, reason = NOT_IMPORTED.get(kind, ("", "cannot be imported"))
    name = {"empty": "", "relative": ".checked"}.get(kind, f"checked_{kind}")
    path = tmp_path / f"checked_{kind}.py"
    if kind in NOT_IMPORTED:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert call(["check", f"{name}:PROGRAM"]) == EXIT_USER_ERROR
    text = " ".join(capsys.readouterr().err.split())
    assert f"module '{name}' cannot be imported" in text
    assert re.search(reason, text), text
    assert "Traceback" not in text


async def coroutine(*given: Any) -> None:
    pass


async def stream(*given: Any) -> Any:
    yield given


def generator(*given: Any) -> Any:
    yield given


class Called:
    async def __call__(self, *given: Any) -> None:
        pass


EVENT_WINDOW = workload("event_window").program
WORD_COUNT = workload("wordcount").program.operators[0]
POSITIONS = workload("linear_road_pos_rep").program.stages[0]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (coroutine, "a coroutine function"),
        (generator, "a generator function"),
        (stream, "an asynchronous generator function"),
        (partial(coroutine, 1), "a coroutine function"),
        (Called(), "a coroutine function"),
        (5, "it must be a function"),
    ],
)
def test_functions_whose_call_does_nothing_are_refused_wherever_they_stand(bad: Any, kind: str):
    state, pair = EVENT_WINDOW.states[0], EVENT_WINDOW.parallel[0]
    for subject, roles in (
        (state, ("update",)),
        (pair, ("fork", "join")),
        (EVENT_WINDOW, ("depends", "init")),
        (WORD_COUNT, ("keys", "update", "expire", "bucket")),
        (POSITIONS, ("apply", "key")),
        (Join(match=max, emit=max, keys=1), ("match", "emit")),
    ):
        for role in roles:
            with pytest.raises(ProgramError, match=f"{role} is .*{kind}"):
                replace(subject, **{role: bad})


GRAPH = averages()
BROKEN_GRAPH = of_loads(replace(LI, max_outputs=3))
BROKEN_PIPELINE = pipelines.pipeline(replace(pipelines.TWICE, max_outputs=1))
OPERATOR = naive.counting(Window(advance=2, size=4))


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("GRAPH", EXIT_OK, "holds  associative for avg"),
        ("BROKEN_GRAPH", EXIT_USER_ERROR, "FAILS  emits for li"),
        ("BROKEN_PIPELINE", EXIT_USER_ERROR, "FAILS  emits for small"),
        ("OPERATOR", EXIT_OK, "holds  keys for counting"),
    ],
)
def test_the_command_checks_a_program_by_module_and_attribute(capsys, name, code, message):
    assert call(["check", f"{__name__}:{name}", "--examples", "20"]) == code
    assert message in capsys.readouterr().out


def test_plain_functions_of_any_form_are_taken():
    require_plain("here", a=len, b=partial(max, 1), c=lambda: None, d=None, e=ForkJoin)


PROGRAM = """
from dataclasses import replace
from streamlab.workloads.registry import workload

program = workload("event_window").program

async def update(state, event, out):
    out.emit(event.ts, 0)

PLAIN = program
"""


def test_check_writes_no_file_and_names_the_mistake(tmp_path: Path):
    """In a process of its own, as a person runs it."""
    (tmp_path / "plain.py").write_text(PROGRAM)
    (tmp_path / "late.py").write_text(
        PROGRAM + "BAD = replace(program, states=(replace(program.states[0], update=update),))\n"
    )
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    for name, code, message in (
        ("plain:PLAIN", EXIT_OK, "holds  C1"),
        ("late:BAD", EXIT_USER_ERROR, "update is update, a coroutine function"),
    ):
        done = run_python(
            "-m", "streamlab", "check", name, "--examples", "5", cwd=tmp_path, env=environment
        )
        assert done.returncode == code, done.stderr
        assert message in done.stdout + done.stderr
        assert "Traceback" not in done.stderr and "never awaited" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["late.py", "plain.py"]
