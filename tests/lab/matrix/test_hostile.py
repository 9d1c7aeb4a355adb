"""Hostile input to every command: it is taken, or refused in one sentence; never a traceback."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.registry import workload
from tests.examples import everything

EVERY_KEY = tomllib.loads(
    """
[run]
name = "night"
repetitions = 3
timeout_s = 120
seed = 1
energy = "none"
idle_s = 0
cores_within_ns = 100
isolate = "container"
container = { image = "stream-lab", memory = "2g", cpus = "0-1" }

[[workload]]
name = "page_view_join"
events = 1000
params = { streams = 2, skew = 1.0 }
seed = 2
label = "small"

[[workload]]
name = "scale_join"
dataset = "3f2a9c"
query = { ws_ms = 60000 }
label = "x"

[[engine]]
name = "fake"
variants = ["correct"]
workers = [1, 2]
batch = [4096]
options = { capacity_eps = 5, plan = "a plan" }
workloads = ["page_*", "scale_*"]
repetitions = 1
timeout_s = 600
label = "pinned"

[[load]]
mode = "open"
arrival = "step"
rate_eps = [100_000, 1e6]
warm_up_s = 10
window_s = 60
seed = 1
batching = "adaptive"
heartbeat_ms = 1
objective = "p99 <= 10ms"
send_lag_ms = 1
label = "day"
engines = ["fake"]
workloads = ["page_*"]
at_s = 30
factor = 2.0

[[load]]
search = "sustainable"
start_eps = 10_000
heartbeats_per_barrier = 100
tolerance = 0.02
votes = 3
confirmations = 5
levels = [0.1, 0.5]
level_repetitions = 1
max_eps = 1e8
"""
)

# As TOML, so that there is also what no Python value says.
HOSTILE = (
    *("-1", "0", "1.5", "1e300", "-1e300", "nan", "inf", "-inf", "true", str(2**63), str(10**400)),
    *("''", "' '", "'../../etc/passwd'", "'x\\u0000'", '"\\u0000\\u001b[2J"', '"[/red]"', "'[*'"),
    *("'" + "x" * 5000 + "'", "'é中😀'", "[]", "[[]]", "[{}]", "{}", "{ a = { b = nan } }"),
    *("[1, 1]", "['a', 'a']", "[nan]", "[" + "1," * 500 + "]", "1979-05-27", "00:00:00"),
)


def spots(tree, place=()) -> Iterator[tuple]:
    """Yield the place of every value of a matrix."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield (*place, key)
        if isinstance(value, dict | list):
            yield from spots(value, (*place, key))


def replaced(tree, place, value):
    """Return a copy of a matrix with another value at a place."""
    key, *rest = place
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[key] = replaced(tree[key], rest, value) if rest else value
    return copy


SPOTS = [place for place in spots(EVERY_KEY) if len(place) > 1 and place[-2:] != ("load", 0)]


@pytest.fixture(autouse=True, scope="module")
def known_dataset(tmp_path_factory):
    """Keep the dataset that the matrix names: the remark that it is missing would hide others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_DATA", str(tmp_path_factory.mktemp("data")))
        made = ensure(workload("scale_join"), {}, 1000, 1)
        patch.setitem(EVERY_KEY["workload"][1], "dataset", made.id[:6])
        yield


def assert_one_sentence(code, said, given, most=2500):
    """Nothing, or one short error that is no traceback, without control characters."""
    assert code in (EXIT_OK, EXIT_USER_ERROR), (given, code, said)
    if code == EXIT_USER_ERROR:
        error = said[said.rfind("lab: ") if "lab: " in said else said.rfind("Error: ") :]
        assert error and "Traceback" not in said, (given, said)
        assert len(error) < most and "\x1b" not in error and "\x00" not in error, (given, said)


def test_a_matrix_with_every_key_is_accepted(tmp_path, capsys):
    path = tmp_path / "m.toml"
    path.write_text(tomli_w.dumps(EVERY_KEY))
    assert call(["run", str(path), "--dry-run"]) == EXIT_OK, capsys.readouterr().err


@pytest.mark.parametrize("place", SPOTS, ids=lambda place: ".".join(map(str, place)))
def test_whatever_a_matrix_says_is_taken_or_refused(tmp_path, capsys, place):
    mark = "PLACE-OF-THE-HOSTILE-VALUE"
    try:
        text = tomli_w.dumps(replaced(EVERY_KEY, place, mark))
    except (AttributeError, TypeError):
        pytest.skip("a table that TOML writes in no single place")
    path = tmp_path / "m.toml"
    step = 1 if everything() else 3  # each value at every third place
    for value in HOSTILE[SPOTS.index(place) % step :: step]:
        path.write_text(text.replace(f'"{mark}"', value))
        code = call(["run", str(path), "--dry-run"])
        assert_one_sentence(code, capsys.readouterr().err, (place, value))


FILES = {
    "nothing.toml": None,
    "folder.toml": "folder",
    "empty.toml": b"",
    "zeros.toml": bytes(100),
    "binary.toml": bytes(range(256)),
    "half.toml": b"[run",
    "twice.toml": b"[run]\nname = 'a'\nname = 'b'\n",
    "utf-16.toml": "[run]\n".encode("utf-16"),
    "tables.toml": b"run = 1\nworkload = 2\nengine = 3\nload = 4\n",
}
ARGUMENTS = (
    *("run FILE", "run FILE --dry-run", "gate FILE --baseline FILE", "gate --instructions FILE"),
    *("gate --pytest-benchmark FILE --baseline FILE", "gate --baseline FILE --run FILE"),
    *("gate --baseline x --run y --accept FILE", "report FILE", "report FILE --out FILE"),
    *("compare FILE FILE", "run --resume FILE", "run --demo --real-data FILE", "figure FILE"),
    *("figure stretch:6 --run FILE", "figure stretch:6 --resume FILE", "list runs --out FILE"),
    *("plan FILE --workers 2", "plan event_window --workers 2 --dataset FILE", "check FILE"),
    *("data show FILE", "data list --root FILE", "data verify FILE --root FILE", "check FILE:x"),
)
ODD = (
    *("run --only x", "run --resume ''", "report ''", "compare '' ''", "gate --against ''"),
    *("plan event_window --workers 0", "plan event_window --workers 99999999999999999999"),
    *("plan event_window --workers 2 --events 99999999999999999999999", "plan '' --workers 1"),
    *("plan event_window --workers 2 --param streams=nan", "plan event_window --workers 2 --param"),
    *(
        "plan event_window --workers 2 --param =",
        "plan page_view_join --workers 2 --param skew=inf",
    ),
    *("figure '' --dry-run", "figure stretch:6 --workers 0 --dry-run", "list nothing", "nonsense"),
    *("figure stretch:6 --workers 1e9 --dry-run", "figure stretch:6 --scale nan --dry-run"),
    *("figure stretch:6 --scale inf --dry-run", "figure stretch:6 --scale 1e-300 --dry-run"),
    *("figure stretch:6 --workers 99999999999999999999 --dry-run", "doctor --engine fake"),
    *(
        "figure stretch:6 --repetitions 99999999999999999999 --dry-run",
        "doctor --generator --engine x",
    ),
    *("figure stretch:6 --cores-within-ns nan --dry-run", "data build event_window --events -1"),
    *("data build event_window --events 99999999999999999999", "data build x --events 1"),
    *("data build event_window --seed 99999999999999999999", "data show x", "check x:y", "check :"),
    *(
        "gate --self-test --minutes nan --rounds 0",
        "gate --baseline x --plant nan",
        "check wordcount: ",
    ),
)


def words_of(line, file=""):
    return [word.strip("'").replace("FILE", file) for word in line.split(" ")]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of hostile files, where the command stands."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        if content == "folder":
            Path(name).mkdir()
        elif content is not None:
            Path(name).write_bytes(content)


@pytest.mark.parametrize("line", ARGUMENTS)
def test_file_of_another_program_is_refused(elsewhere, capsys, line):
    for name in FILES:
        code = call(words_of(line, name))
        assert_one_sentence(code, capsys.readouterr().err, (line, name))


@pytest.mark.parametrize("line", ODD)
def test_odd_argument_is_refused(elsewhere, capsys, line):
    assert_one_sentence(call(words_of(line)), capsys.readouterr().err, line)


MISSING, FULL = object(), pytest.mark.full


def damages(meta, odd) -> Iterator[tuple[str, object]]:
    """Yield names and contents of run.json, each damaged in one place."""
    for key in meta:
        if key != "schema_version":
            others = {k: v for k, v in meta.items() if k != key}
            yield f"{key} = {odd!r}", others if odd is MISSING else {**meta, key: odd}


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "odd",
    [
        MISSING,
        None,
        [1],
        *(pytest.param(value, marks=pytest.mark.full) for value in ("x", {"x": 1})),
    ],
    ids=lambda odd: "missing" if odd is MISSING else repr(odd),  # an address differs by process
)
def test_damaged_run_is_refused_or_read(capsys, stored_run, odd):
    run, other = stored_run(["correct"]), stored_run(["correct"], called="damaged")
    meta = json.loads((run / "run.json").read_text())
    for what, content in damages(meta, odd):
        (other / "run.json").write_text(json.dumps(content))
        for line in ("list runs", "compare damaged RUN", "report damaged", "run --resume damaged"):
            if line.startswith("run") and what.startswith("sessions"):
                continue  # it would be run again: its record is whole
            code = call([word.replace("RUN", str(run)) for word in line.split()])
            printed = capsys.readouterr()
            assert_one_sentence(code, printed.err, (line, what))
            assert "Traceback" not in printed.out
