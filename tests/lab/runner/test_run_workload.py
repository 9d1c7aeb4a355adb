"""Workloads of a user's files: run without a matrix, or named in one."""

import json
import os
from pathlib import Path

import pytest

from streamlab.lab.cli import (
    EXIT_ENGINE_FAILURE,
    EXIT_OK,
    EXIT_USER_ERROR,
    EXIT_WRONG_OUTPUT,
    call,
)
from streamlab.lab.runner.launcher import run_trial
from streamlab.reports.troubleshooting import advice_on_text
from streamlab.results.store import read_run
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.registry import workload
from tests.examples_folder import sensors
from tests.lab.engine_trial import engine_trial
from tests.lab.runner.runs import run_lab
from tests.workloads.user_workload import user_file

NO_ORACLE = "sensors: checked against the reference engine, not an independent oracle"


pytestmark = pytest.mark.usefixtures("places")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sensors(tmp_path / "own")


def test_the_shortest_file_runs_on_two_engines_is_verified_and_gets_its_page(
    capsys, path: Path, monkeypatch, same_source
):
    monkeypatch.chdir(path.parent)
    arguments = ["--engine", "reference", "--engine", "multicore", "-w", "1,2", "--report"]
    code, out, err = run_lab(capsys, "sensors.py", *arguments)
    assert code == EXIT_OK, (out, err)
    run_dir = Path(out[-1])
    assert NO_ORACLE.partition(": ")[2] in Path(out[-2]).read_text()
    assert NO_ORACLE in out
    run = read_run(run_dir)
    assert {row.cell: row.status for row in run.rows} == {
        "sensors/reference/sequential/w1": "ok",
        "sensors/multicore/dgs/w1/b4096": "ok",
        "sensors/multicore/dgs/w2/b4096": "ok",
    }
    assert len(run.rows) == 3
    assert {row.checked_by for row in run.rows} == {"reference engine"}
    assert {row.workload_code for row in run.rows} == {workload(str(path)).code()}
    assert min(row.expected_outputs for row in run.rows) > 0

    monkeypatch.chdir(run_dir)
    (run_dir / "trials" / f"{'sensors__multicore__dgs__w2__b4096'}-r1.json").unlink()
    code, out, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_OK, (out, err)
    assert len(read_run(run_dir).rows) == 3

    path.write_text(path.read_text().replace("state.total += event", "state.total -= event"))
    code, out, err = run_lab(capsys, "--resume", run_dir)
    assert code == EXIT_USER_ERROR
    assert "was edited since the run started" in err
    assert "start a new run, or restore the code" in err


RIDES = """
import numpy as np

from streamlab import arrays, workload
from streamlab.workloads.model import InputType, Operator, Query, Window


def station(t, out):
    out.add(t.station)


def add(w, t, out):
    w[0].rides += 1


def give(w, out):
    out.emit(w[0].key, w[0].rides)


RIDES = Operator(
    name="rides",
    inputs=(InputType(name="ride", fields=np.dtype([("station", np.int32)])),),
    window=Window(advance=10, size=10),
    output=np.dtype([("ts", np.int64), ("station", np.int64), ("rides", np.int64)]),
    state=np.dtype([("rides", np.int64)]),
    keys=station,
    update=add,
    expire=give,
)
TIMES = {"ts": [1, 12, 3, 15, 9, 18], "station": [1, 1, 1, 1, 2, 2]}
WORKLOAD = workload(
    Query(name="rides", operators=(RIDES,), at_end="AT_END"),
    input=arrays(TIMES, ts="ts", out_of_order="6 ms"),
)
"""


@pytest.mark.parametrize(("at_end", "outputs"), [("drop", 2), ("flush", 4)])
def test_a_row_states_what_the_end_and_the_bound_on_lateness_left_out(
    capsys, tmp_path: Path, at_end: str, outputs: int
):
    """Of six rides one is 9 late, and another 6; two windows are open at the end."""
    path = tmp_path / "rides.py"
    path.write_text(RIDES.replace("AT_END", at_end))
    code, out, err = run_lab(capsys, path, "--engine", "reference")
    assert code == EXIT_OK, (out, err)
    (row,) = read_run(Path(out[-1])).rows
    assert (row.events, row.outputs, row.at_end, row.outputs_at_end) == (5, outputs, at_end, 2)
    late = "1 of 6 rows of arrays left out by the import: more than 6 ms late"
    assert row.late_rows == 1 and late in json.loads(row.warnings)
    advice = advice_on_text(late)
    assert advice is not None and advice.title == "Late rows"


WINDOW = """
import streamlab as lab

TIMES = {"at": [1, 12, 3, 31, 9, 18, 28, 40]}
TABLE = lab.arrays(TIMES, ts="at", time_format="ms", out_of_order="2 ms", late="keep")
WINDOW = lab.window("10 ms", input=TABLE, result={"rides": lab.count()})
"""


def test_a_row_counts_the_rows_that_came_too_late_for_their_windows(capsys, tmp_path: Path):
    """The rides of 9 and 18 come after 31; that of 3 comes when the watermark is 10, and 28 before it is 30."""
    path = tmp_path / "rides.py"
    path.write_text(WINDOW)
    code, out, err = run_lab(capsys, path, "--engine", "reference")
    assert code == EXIT_OK, (out, err)
    (row,) = read_run(Path(out[-1])).rows
    assert (row.events, row.late_rows, row.outputs) == (8, 3, 4)
    late = "3 of 8 rows came too late for their windows"
    assert late in json.loads(row.warnings) and late in "\n".join(out) + err
    advice = advice_on_text(late)
    assert advice is not None and advice.title == "Late rows"


def test_a_damaged_answer_is_called_wrong(capsys, path: Path):
    code, out, _ = run_lab(capsys, path, "--engine", "fake/corrupt")
    assert code == EXIT_WRONG_OUTPUT
    (row,) = read_run(Path(out[-1])).rows
    assert (row.status, row.checked_by) == ("wrong_output", "reference engine")
    assert row.wrong or row.missing


@pytest.mark.some(1)
@pytest.mark.parametrize("oracle", [False, True])
def test_a_function_that_does_not_give_the_same_each_time_is_hinted_at(
    capsys, path: Path, oracle: bool
):
    text = path.read_text().replace("+= event.value", "+= event.value + np.random.randint(99)")
    if oracle:  # then it is not the reason, since it shares no functions
        text = text.replace("workload(PROGRAM,", "workload(PROGRAM, oracle=nothing,")
        text = text.replace(
            "WORKLOAD =",
            "def nothing(data):\n    none = np.zeros(0, np.int64)\n"
            "    return {'ts': none, 'key': none, 'total': none}\n\n\nWORKLOAD =",
        )
    path.write_text(text)
    code, out, err = run_lab(capsys, path, "--engine", "multicore")
    assert code == EXIT_WRONG_OUTPUT, (out, err)
    hint = "a function is not deterministic (random numbers, a clock"
    assert [hint in line for line in out].count(True) == (not oracle)
    (row,) = read_run(Path(out[-1])).rows
    assert (hint in row.warnings) == (not oracle)


@pytest.mark.full
def test_an_error_of_the_program_itself_is_seen_by_an_oracle_only(capsys, path: Path):
    text = path.read_text().replace("state.total += event.value", "state.total += 1 + event.value")
    path.write_text(text)
    code, out, _ = run_lab(capsys, path, "--engine", "multicore")
    assert code == EXIT_OK, read_run(Path(out[-1])).rows
    assert NO_ORACLE in out
    oracle = (
        "from streamlab.workloads.datasets.total_order import total_order\n"
        "def oracle(data):\n"
        "    totals, rows = {}, []\n"
        "    events = total_order(data, np.dtype([('value', np.int64)]))\n"
        "    for ts, kind, key, value in zip(events.ts, events.kind, events.key,"
        " events.payload['value']):\n"
        "        if kind == READING:\n"
        "            totals[key] = totals.get(key, 0) + value\n"
        "        else:\n"
        "            rows.append((ts, key, totals.pop(key, 0)))\n"
        "    ts, key, total = zip(*rows)\n"
        "    return {'ts': np.array(ts), 'key': np.array(key), 'total': np.array(total)}\n"
    )
    declared = text.replace(
        "WORKLOAD = workload(PROGRAM,", "WORKLOAD = workload(PROGRAM, oracle=oracle,"
    )
    path.write_text(declared.replace("PROGRAM = DGS", f"{oracle}\n\nPROGRAM = DGS", 1))
    code, out, _ = run_lab(capsys, path, "--engine", "reference")
    (row,) = read_run(Path(out[-1])).rows
    assert code == EXIT_WRONG_OUTPUT, row.reason
    assert row.checked_by == "oracle" and row.wrong > 0
    path.write_text(path.read_text().replace("+= 1 + event.value", "+= event.value"))
    code, out, _ = run_lab(capsys, path, "--engine", "reference")
    assert code == EXIT_OK and NO_ORACLE not in out


def test_a_trial_whose_code_was_edited_meanwhile_is_no_measurement(tmp_path: Path, path: Path):
    subject = workload(str(path))
    job = engine_trial(
        engine="reference",
        variant="sequential",
        dataset=ensure(subject, {}, 0, 1),
        workload=str(path),
        code=subject.code(),
    )
    assert run_trial(job, log=tmp_path / "log", timeout_s=600).columns["status"] == "ok"
    path.write_text(path.read_text().replace("total = 0", "total = 1"))
    result = run_trial(job, log=tmp_path / "log", timeout_s=600).columns
    assert result["status"] == "invalid"
    assert (
        "the code of workload sensors differs from the code that the run started with"
        in result["reason"]
    )


def dry(capsys, *arguments: object) -> list[str]:
    code, out, err = run_lab(capsys, *arguments, "--dry-run")
    assert code == EXIT_OK, err
    return out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "reference", "-w", "1,2"], True),
        (["--engine", "multicore", "--engine", "reference/sequential", "-w", "4"], True),
        (["--engine", "reference", "-w", "1"], False),
        (["--engine", "reference"], False),
        (["--engine", "multicore", "-w", "1,2"], False),
        (["--engine", "reference", "-w", "2", "--quiet"], False),
    ],
)
def test_workers_that_a_sequential_engine_ignores_are_reported(capsys, arguments, message):
    code, _, err = run_lab(capsys, "wordcount", *arguments, "--dry-run")
    assert code == EXIT_OK
    words = "lab: reference is sequential: it runs with 1 worker and ignores workers = "
    assert (words in err) == message


def test_any_workload_runs_without_a_matrix_with_the_options_of_one(capsys):
    assert dry(capsys, "wordcount", "--engine", "reference") == [
        "wordcount/reference/sequential/w1  x1  wa_ms=60000  ws_ms=120000  counting=set"
    ]
    arguments = ["--engine", "multicore/sn", "--engine", "multicore", "-w", "2", "-n", "3"]
    arguments += ["--batch", "1,64", "--query", "wa_ms=1000", "--query", "ws_ms=5000"]
    arguments += ["--option", "multicore.pin=true", "--events", "5000", "--seed", "3"]
    assert dry(capsys, "streamlab.workloads.suite.wordcount:WORKLOAD", *arguments) == [
        f"wordcount/multicore/{variant}/w2/b{batch}  x3  wa_ms=1000  ws_ms=5000  counting=set"
        for variant in ("sn", "vsn")
        for batch in (1, 64)
    ]
    assert dry(capsys, "event_window", "--engine", "reference", "--param", "streams=3")
    assert dry(capsys, "event_window", "--engine", "multicore", "--load", "rate_eps=20_000") == [
        "event_window/multicore/dgs/w1/b4096/constant-20k  x1"
    ]
    assert [line.partition("/w1")[0] for line in dry(capsys, "event_window")] == [
        "event_window/reference/sequential",
        "event_window/multicore/dgs",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["m.toml", "-w", "2"], "--workers requires a WORKLOAD"),
        (["--demo", "--engine", "fake"], "--engine requires a WORKLOAD"),
        (["wordcount", "--engine", "fake", "-w", "two"], "'two' is not a list of whole numbers"),
        *(
            (
                ["wordcount", "--engine", "fake", option, number],
                f"'{number}' is not a list of whole",
            )
            for option, number in (("-w", "0"), ("-w", "-1"), ("--batch", "0"))
        ),
        (["wordcount", "--engine", "fake", "--query", "wa_ms"], "not of the form K=V"),
        (["wordcount", "--engine", "fake", "--query", "w=1", "--query", "w=2"], "w is set twice"),
        (["wordcount", "--load", "rate=2"], "[[load]] 1, key rate (= 2) is unknown"),
        (["wordcount", "--engine", "none"], "no engine 'none'"),
        (
            ["wordcount", "--engine", "fake/none"],
            "key variants has 'none', but engine fake has no such variant",
        ),
        (["wordcont", "--engine", "fake"], "no workload 'wordcont'; did you mean wordcount?"),
        (["nexmark_q10", "--engine", "fake"], "q10'; it writes bids to files"),
        *(
            (["wordcount", "--events", events], "is not a whole number from 1 to 9,223,372,0")
            for events in ("0", "-5", "1.5", "many", "nan", "1e99999999999")
        ),
        (["wordcount", "--timeout", "0"], "key timeout_s is 0.0; expected a finite number above 0"),
        (["wordcount", "--timeout", "nan"], "key timeout_s is nan; expected a finite number"),
        (["m.toml", "--timeout", "5"], "--timeout requires a WORKLOAD; with a matrix, set it in"),
        (["nexmark_q22"], "bids have no URL here"),
        (["none.py", "--engine", "fake"], "none.py cannot be read: No such file"),
        (["wordcount", "--engine", "fake", "--dataset", "xyz"], "key dataset is 'xyz'"),
    ],
)
def test_impossible_runs_are_refused_with_the_remedy(capsys, arguments, expected):
    assert call(["run", *arguments]) == EXIT_USER_ERROR
    text = " ".join(capsys.readouterr().err.split())
    assert expected in text and "Traceback" not in text


@pytest.mark.parametrize("events", ["2e4", "20_000", "20000"])
def test_a_number_of_events_may_be_written_as_a_power_of_ten(capsys, events):
    arguments = ["--engine", "fake", "--events", events, "--timeout", "7.5", "-q"]
    code, out, err = run_lab(capsys, "keyed_counter", *arguments)
    assert code == EXIT_OK, err
    run = read_run(Path(out[-1]))
    assert run.rows[0].events == pytest.approx(20_000, rel=0.01)
    (cell,) = run.meta.cells.values()
    assert cell["timeout_s"] == 7.5


def test_a_requested_engine_of_which_no_cell_runs_is_a_failure(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("LAB_ENGINES", str(tmp_path / "engines"))
    arguments = ["event_window", "--events", "2e4", "--engine"]
    code, out, err = run_lab(capsys, *arguments, "duckdb", "--engine", "reference")
    assert code == EXIT_ENGINE_FAILURE
    missing = "lab: no cell of engine duckdb ran: the environment of engine duckdb does not exist; "
    assert f"{missing}`lab environment duckdb`" in err and "no cell of engine reference" not in err
    code, _, err = run_lab(capsys, "--resume", out[-1])
    assert (code, missing in err) == (EXIT_ENGINE_FAILURE, True)
    matrix = tmp_path / "m.toml"
    matrix.write_text(
        '[[workload]]\nname = "event_window"\nevents = 20_000\n[[engine]]\nname = "duckdb"\n'
    )
    code, _, err = run_lab(capsys, matrix)
    assert (code, "no cell of engine" in err) == (EXIT_OK, False)


def test_a_table_is_taken_whole(capsys, path: Path):
    code, _, err = run_lab(capsys, path, "--engine", "reference", "--events", "5")
    assert code == EXIT_USER_ERROR
    assert "is 5, but the input of sensors is a table, which is always read completely" in err


def test_a_missing_data_file_or_column_is_reported(capsys, path: Path):
    data = path.with_name("sensors.csv")
    data.write_text(data.read_text().replace("value", "reading", 1))
    code, _, err = run_lab(capsys, path, "--engine", "reference")
    assert code == EXIT_USER_ERROR
    assert "sensors.csv: no column value for field value; name its column" in err
    data.unlink()
    assert run_lab(capsys, path, "--engine", "reference")[0] == EXIT_USER_ERROR


def test_the_plan_of_a_table_is_for_its_own_keys(capsys, path: Path):
    assert call(["plan", str(path), "-w", "2"]) == EXIT_OK
    output = capsys.readouterr().out
    assert "plan for sensors: 2 workers, 20 keys" in output
    assert json.dumps("reading-0")[1:-1] in output


@pytest.mark.full
def test_a_kernel_is_that_of_the_file_that_its_errors_would_name(
    capsys, path: Path, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    other = path.with_name("renamed.py")
    other.write_text(path.read_text() + "# and edited, elsewhere\n")
    for file in (path, other):
        code, out, _ = run_lab(capsys, file, "--engine", "multicore")
        assert code == EXIT_OK, read_run(Path(out[-1])).rows[0].reason
    kernels = list((tmp_path / "cache" / "kernels").glob("*.py"))
    assert len(kernels) == 4  # of update, in two loops, in each file


def test_an_engine_is_tried_on_a_workload_of_ones_own(capsys, path: Path):
    assert call(["conform", "multicore", "--workload", str(path), "--variant", "dgs"]) == EXIT_OK
    output = capsys.readouterr().out
    assert "wrong" in output and "crash:" not in output


def test_a_dataset_of_another_workload_of_the_same_name_is_refused(capsys, path: Path):
    made = ensure(workload(str(path)), {}, 0, 1)
    path.write_text(path.read_text().replace('"reset"),', '"clearing"),'))
    arguments = ["--engine", "reference", "--dataset", made.id[:12]]
    code, _, err = run_lab(capsys, path, *arguments)
    assert code == EXIT_USER_ERROR
    assert "has the kinds reading, reset, but sensors reads reading, clearing" in err


def test_a_folder_whose_name_is_no_text_runs_and_is_shown_escaped(
    capsys, tmp_path: Path, monkeypatch
):
    path = sensors(tmp_path / os.fsdecode(b"raw\xff"))
    monkeypatch.chdir(path.parent)
    code, out, err = run_lab(capsys, path.name, "--engine", "multicore", "--report")
    assert code == EXIT_OK, (out, err)
    assert r"raw\udcff" in (Path(out[-1]) / "run.json").read_text(encoding="utf-8")
    assert run_lab(capsys, "--resume", out[-1])[0] == EXIT_OK
    assert call(["check", str(path)]) == EXIT_OK
    assert call(["plan", str(path), "-w", "2", "--svg", "plan.svg"]) == EXIT_OK


@pytest.mark.parametrize("variable", ["LAB_RUNS", "LAB_DATA"])
def test_results_and_data_need_a_path_that_is_text(
    capsys, tmp_path: Path, path: Path, monkeypatch, variable
):
    monkeypatch.setenv(variable, str(tmp_path / os.fsdecode(b"to\xff")))
    assert call(["run", str(path), "--engine", "multicore"]) == EXIT_USER_ERROR
    error = capsys.readouterr().err
    assert "bytes that are not text in" in error and r"to\udcff" in error and variable in error


ENGINES = (
    '[[engine]]\nname = "reference"\n[[engine]]\nname = "multicore"\nworkers = [1, 2]\n'
    "[run]\nenergy = 'none'\n"
)


def entry(reference: str, more: str = "") -> str:
    return f'[[workload]]\nname = "{reference}"\nevents = 30_000\n{more}'


def test_a_matrix_names_a_file_relative_to_itself_and_results_show_the_short_name(
    capsys, tmp_path: Path
):
    user_file(tmp_path / "elsewhere")
    matrix = tmp_path / "elsewhere" / "m.toml"
    matrix.write_text(entry("mine.py") + ENGINES)
    code, out, err = run_lab(capsys, matrix)
    assert code == EXIT_OK, (out, err)
    run = read_run(Path(out[-1]))
    assert [row.status for row in run.rows] == ["ok"] * 3
    assert {row.workload for row in run.rows} == {"mine"}
    assert run.rows[0].cell == "mine/reference/sequential/w1"
    code, out, err = run_lab(capsys, "--resume", out[-1])
    assert code == EXIT_OK, (out, err)


def test_two_workloads_of_one_name_want_labels(capsys, tmp_path: Path):
    user_file(tmp_path / "a")
    user_file(tmp_path / "b")
    matrix = tmp_path / "m.toml"
    matrix.write_text(entry("a/mine.py") + entry("b/mine.py") + ENGINES)
    code, _, err = run_lab(capsys, matrix, "--dry-run")
    assert code == EXIT_USER_ERROR
    assert "2 [[workload]] tables are called mine; give each a different label" in err
    matrix.write_text(entry("a/mine.py") + entry("b/mine.py", 'label = "b"\n') + ENGINES)
    code, out, _ = run_lab(capsys, matrix, "--dry-run")
    assert code == EXIT_OK
    assert "mine@b/multicore/dgs/w2/b4096  x1" in out


def test_a_bad_file_in_a_matrix_is_an_error_with_its_place(capsys, tmp_path: Path):
    (tmp_path / "mine.py").write_text("WORKLOAD = print\n")
    matrix = tmp_path / "m.toml"
    matrix.write_text(entry("wordcount") + entry("mine.py") + ENGINES)
    code, _, err = run_lab(capsys, matrix)
    assert code == EXIT_USER_ERROR
    assert f"{matrix}: [[workload]] 2, key name: {tmp_path / 'mine.py'} is a builtin" in err
    assert "Traceback" not in err
