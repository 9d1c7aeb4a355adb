"""Programs of any language as engines: `lab run WORKLOAD --command COMMAND`."""

import json
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

from streamlab.engines.command.adapter import event_columns
from streamlab.lab.cli import (
    EXIT_ENGINE_FAILURE,
    EXIT_OK,
    EXIT_USER_ERROR,
    EXIT_WRONG_OUTPUT,
    call,
)
from streamlab.lab.cli.table import print_results
from streamlab.lab.matrix.run_arguments import label_of
from streamlab.lab.new.package import LANGUAGES
from streamlab.results.store import list_runs, read_run
from streamlab.workloads.model.streams.lists import ListColumn
from streamlab.workloads.model.streams.total_order import MergedInput

TOOLS = {"python": "python3", "c": "cc", "javascript": "node", "rust": "rustc"}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs commands on a workload; returns the exit code and the rows."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)

    def execute(*commands, more=(), period=100):
        options = [word for command in commands for word in ("--command", command)]
        size = ["--events", "5000", "--param", f"values_per_barrier={period}"]
        code = call(["run", "event_window", *size, "--quiet", *options, *more])
        runs = list_runs(tmp_path / "runs")
        return code, read_run(runs[-1]).rows if runs else ()

    return execute


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_program_gives_the_right_answer(language, run, tmp_path, capsys):
    tool = TOOLS.get(language, language)
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    assert call(["new", "program", "sums", "--language", language]) == EXIT_OK
    *builds, execution = capsys.readouterr().out.splitlines()[1:]
    for command in builds:
        subprocess.run(shlex.split(command), check=True, cwd=tmp_path)
    command = shlex.split(execution)[-1]
    code, (row,) = run(command)
    assert (code, row.status, row.events) == (EXIT_OK, "ok", 5000), row.reason
    assert (row.unit, row.origin) == ("whole input", "file")
    assert row.also_timed == "reading, decoding, start-up"
    assert call(["new", "program", "sums", "--language", language]) == EXIT_USER_ERROR
    assert "exists already" in capsys.readouterr().err


def python(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    return f"{sys.executable} {file}"


ECHO = "import sys; sys.stdout.write('ts,sum\\n')\n"
TO_FILE = """
import sys
source, target, workers = sys.argv[1:]
assert workers == "2"
total, lines = 0, ["sum,ts,other"]
with open(source) as events:
    names = next(events).strip().split(",")
    for line in events:
        event = dict(zip(names, line.strip().split(",")))
        if event["kind"] == "barrier":
            lines.append(f"{total},{event['ts']},x")
            total = 0
        else:
            total += int(event["value"])
open(target, "w").write("\\n".join(lines) + "\\n")
"""


def test_a_program_that_prints_nothing_has_no_rate_where_nothing_is_expected(run, tmp_path, capsys):
    silent = python(tmp_path, "silent.py", ECHO)
    code, rows = run(silent, more=["--engine", "reference"], period=10_000)
    assert code == EXIT_OK
    warning = "lab: the expected answer of event_window is empty, so nothing will be compared"
    assert warning in capsys.readouterr().err
    assert {row.engine for row in rows} == {"command", "reference"}
    for row in rows:
        assert (row.throughput_eps, row.outputs_eps) == (None, None)
        assert (
            "the expected answer is empty" in row.reason and "more than 5,000 events" in row.reason
        )
    print_results(rows, {})
    shown = capsys.readouterr().out
    assert shown.count("nothing compared: the expected answer is empty") == len(rows)


def test_input_output_and_workers_are_filled_in(run, tmp_path):
    command = python(tmp_path, "to_file.py", TO_FILE) + " {input} {output} {workers}"
    code, (row,) = run(command, more=["-w", "2"])
    assert (code, row.status, row.workers) == (EXIT_OK, "ok", 2), row.reason
    assert row.cell == f"event_window/command/csv/w2/{label_of(command)}"
    assert row.plan == command


def test_a_build_tool_may_write_to_the_current_folder_and_the_row_names_it(run, tmp_path):
    text = "open('built', 'w').write('now')\n" + TO_FILE.replace(
        "sys.argv[1:]", "'/dev/stdin', '/dev/stdout', '2'"
    )
    code, (row,) = run(python(tmp_path, "build.py", text))
    assert (code, row.status) == (EXIT_OK, "ok"), row.reason
    assert row.kept_folders == json.dumps([str(tmp_path)])
    assert (tmp_path / "built").read_text() == "now"


def test_without_a_place_the_events_are_the_standard_input(run, tmp_path):
    text = TO_FILE.replace("sys.argv[1:]", "'/dev/stdin', '/dev/stdout', '2'")
    code, (row,) = run(python(tmp_path, "filter.py", text))
    assert (code, row.status) == (EXIT_OK, "ok"), row.reason


def test_several_commands_are_cells_of_one_run(run, tmp_path):
    right = python(
        tmp_path, "filter.py", TO_FILE.replace("sys.argv[1:]", "'/dev/stdin', '/dev/stdout', '2'")
    )
    code, rows = run(right, right + " again", more=["--engine", "reference"])
    assert code == EXIT_OK and len({row.cell for row in rows}) == 3
    assert {row.status for row in rows} == {"ok"}


@pytest.mark.parametrize(
    ("text", "code", "status", "message"),
    [
        (ECHO, EXIT_WRONG_OUTPUT, "wrong_output", "missing"),
        ("", EXIT_WRONG_OUTPUT, "wrong_output", "missing"),
        ("print('ts,sum'); print('1,x')", EXIT_ENGINE_FAILURE, "crash", "header ts,sum"),
        ("print('ts'); print('1')", EXIT_ENGINE_FAILURE, "crash", "header ts,sum"),
        ("raise SystemExit(7)", EXIT_ENGINE_FAILURE, "crash", "ended with code 7"),
        ("import os; os.kill(os.getpid(), 9)", EXIT_ENGINE_FAILURE, "crash", "by signal 9"),
    ],
)
def test_a_wrong_or_failing_program_is_reported(run, tmp_path, text, code, status, message):
    found, (row,) = run(python(tmp_path, "bad.py", text))
    assert (found, row.status) == (code, status)
    assert message in f"{row.reason} {row.difference}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true 'x", "No closing quotation"),
        ("", "option command is missing"),
        ("./none {input}", "no program './none' in PATH or the current folder"),
    ],
)
def test_a_command_without_a_program_is_refused_before_anything_runs(run, capsys, command, message):
    assert run(command) == (EXIT_USER_ERROR, ())
    assert message in capsys.readouterr().err


def test_a_command_without_a_place_for_workers_has_one(run, tmp_path):
    _, rows = run(python(tmp_path, "empty.py", ECHO), more=["-w", "1,2"])
    assert [row.workers for row in rows] == [1]


def test_lists_are_separated_by_spaces():
    lists = ListColumn(np.array([0, 2, 2, 3]), np.array([7, -8, 9]))
    merged = MergedInput(
        columns={"ts": np.array([3, 1, 2]), "kind": np.array([0, 1, 0]), "key": np.zeros(3, int)},
        lists={"words": lists},
        stream=np.array([0, 1, 1]),
        order=np.array([1, 2, 0]),
    )
    columns = event_columns(merged, ["tweet", "tick"])
    assert columns["words"] == ["", "9", "7 -8"]
    assert columns["kind"].to_pylist() == ["tick", "tweet", "tweet"]
    assert [*columns] == ["ts", "stream", "kind", "key", "words"]


def test_a_script_without_an_interpreter_is_named(run, tmp_path):
    script = tmp_path / "script"
    script.write_text("no interpreter")
    script.chmod(0o755)
    code, (row,) = run("./script {input}")
    assert (code, row.status) == (EXIT_ENGINE_FAILURE, "crash")
    assert "./script cannot be started: Exec format error; a script begins with #!" in row.reason
