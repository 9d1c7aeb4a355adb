"""Faults, each through the real `lab run` in a process of its own.

Each must leave a run that can be read, with the right status; `--resume` must finish it; and what
was measured must be neither lost nor measured again.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from streamlab.lab.cli import EXIT_ENGINE_FAILURE, EXIT_INTERRUPTED, EXIT_OK, EXIT_USER_ERROR
from streamlab.results.store import read_meta, read_run, read_trials
from streamlab.workloads.datasets.catalog import Catalog
from tests.lab.isolate.podman import SOURCE, podman
from tests.lab.runner.published import publish
from tests.processes import Popen

PATIENCE_S = 600
# About 3,000 events: a trial of the first rate lasts 1.5 s, of the second nothing.
SLOW, FAST = "{ capacity_eps = 2_000 }", "{ capacity_eps = 1_000_000 }"


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """Id of a small event_window dataset in a catalogue that is not below the run directory."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    return publish(Catalog.default()).id


@pytest.fixture
def matrix(tmp_path, dataset):
    """A function that writes a matrix of fake cells and returns its path."""

    def write(variants, *, options=FAST, repetitions=1, timeout_s=PATIENCE_S, run=""):
        """Of a time-out other than PATIENCE_S, which only `hang` comes to, it is what is wanted."""
        path = tmp_path / "m.toml"
        head = (
            f'[run]\nenergy = "none"\nrepetitions = {repetitions}\n'
            f"timeout_s = {PATIENCE_S}\n{run}\n"
            f'[[workload]]\nname = "event_window"\ndataset = "{dataset[:12]}"\nlabel = "small"\n'
        )
        engines = [
            f'[[engine]]\nname = "fake"\nvariants = ["{variant}"]\noptions = {options}\n'
            + (f"timeout_s = {timeout_s}\n" if variant == "hang" else "")
            for variant in variants
        ]
        path.write_text(head + "".join(engines))
        return path

    return write


def start(*arguments, **more) -> Popen:
    """Start `lab run` as a person would."""
    return Popen(
        [sys.executable, "-m", "streamlab", "run", *map(str, arguments)],
        env=environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        **more,
    )


def environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path[1:]])}


def run_lab(*arguments, **more) -> tuple[int, Path, str]:
    """Exit code, run directory and standard error of one `lab run`."""
    process = start(*arguments, **more)
    out, err = process.communicate(timeout=PATIENCE_S)
    lines = out.splitlines()
    return process.returncode, Path(lines[-1] if lines else ""), err


def statuses(run_dir: Path) -> dict[str, str]:
    """Status by variant, of a run that is read as reports read it."""
    return {row.variant: row.status for row in read_run(run_dir).rows}


def attempts(run_dir: Path) -> dict[str, int]:
    """How often each trial was begun, as its log counts."""
    logs = (run_dir / "logs").glob("event_window*.log")
    return {log.stem: log.read_text().count("# attempt ") for log in logs}


def wait_until(condition: Callable[[], object], process: Popen) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def trials_of(folder: Path) -> list[str]:
    """Command lines of living trials, and their children, whose temporary files are in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            tmpdir = process.environ().get("TMPDIR", "")
            if tmpdir.startswith(f"{folder}/") and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def assert_resume_repeats_nothing(run_dir: Path) -> None:
    """Resume a complete run: every row and every log is as it was."""
    rows, begun = read_trials(run_dir), attempts(run_dir)
    code, found, err = run_lab("--resume", run_dir)
    assert found == run_dir, err
    assert code == EXIT_ENGINE_FAILURE
    assert read_trials(run_dir) == rows
    assert attempts(run_dir) == begun


# Time-outs, crashes, memory.


def test_time_out_and_crashes_are_rows_among_others_and_are_not_repeated(matrix, tmp_path):
    path = matrix(["correct", "hang", "crash", "die"], timeout_s=8)
    code, run_dir, err = run_lab(path)
    assert code == EXIT_ENGINE_FAILURE, err
    assert statuses(run_dir) == {
        "correct": "ok",
        "hang": "timeout",
        "crash": "crash",
        "die": "crash",
    }
    rows = {row.variant: row for row in read_run(run_dir).rows}
    assert "stopped after 8 s in phase " in rows["hang"].reason
    assert "as its variant requires" in rows["crash"].reason
    assert "was killed by SIGKILL in phase run" in rows["die"].reason
    assert all(rows[name].throughput_eps is None for name in ("hang", "crash", "die"))
    assert trials_of(tmp_path / "scratch") == []
    assert list((tmp_path / "scratch").iterdir()) == []
    assert_resume_repeats_nothing(run_dir)


@pytest.fixture
def memory_group():
    """A control group with 800 MiB; returns what a process calls to join it."""
    version_1 = Path("/sys/fs/cgroup/memory")
    root = version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")
    group = root / f"lab-faults-{os.getpid()}"
    limit = "memory.limit_in_bytes" if version_1.is_dir() else "memory.max"
    try:
        group.mkdir()
        (group / limit).write_text(str(800 << 20))
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        pytest.skip(f"OUT-OF-MEMORY KILL OF A PROCESS IS NOT TESTED: no control group: {error}")

    def join() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    yield join
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            group.rmdir()
            return
        except OSError:
            assert time.monotonic() < deadline, (group / "cgroup.procs").read_text()
            time.sleep(0.1)


def test_process_that_the_kernel_kills_for_memory_is_oom(matrix, memory_group):
    code, run_dir, err = run_lab(matrix(["correct", "hoard"]), preexec_fn=memory_group)
    assert code == EXIT_ENGINE_FAILURE, err
    assert statuses(run_dir) == {"correct": "ok", "hoard": "oom"}
    (row,) = [row for row in read_run(run_dir).rows if row.variant == "hoard"]
    assert "was killed by SIGKILL in phase run" in row.reason


def test_memory_touched_before_the_clock_is_within_the_limit_of_the_group(memory_group):
    """Or a trial would be killed for memory that its answer may never have needed."""
    program = (
        "from streamlab.workloads.control_group import available_bytes, most_reserved_bytes\n"
        "before = available_bytes()\n"
        "taken = bytearray(300 << 20)\n"
        "print(before, available_bytes(), most_reserved_bytes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=memory_group,
    )
    before, after, reserved = map(int, done.stdout.split())
    assert 400 << 20 < before < 800 << 20
    assert 250 << 20 < before - after < 350 << 20
    assert reserved <= before // 4


@pytest.mark.full  # a minute
def test_the_same_faults_in_containers_have_the_same_statuses(matrix, image, podman_engine):
    run = f'isolate = "container"\ncontainer = {{ image = "{image}", memory = "600m" }}'
    path = matrix(["correct", "hoard", "crash", "die", "hang"], timeout_s=40, run=run)
    code, run_dir, err = run_lab(path)
    assert code == EXIT_ENGINE_FAILURE, err
    assert statuses(run_dir) == {
        "correct": "ok",
        "hoard": "oom",
        "crash": "crash",
        "die": "crash",
        "hang": "timeout",
    }
    assert {row.isolate for row in read_run(run_dir).rows} == {"container"}
    assert podman_engine.containers() == []
    assert_resume_repeats_nothing(run_dir)


def test_missing_container_engine_is_an_error_before_anything_starts(matrix, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    code, _, err = run_lab(matrix(["correct"], run='isolate = "container"'))
    assert code == EXIT_USER_ERROR
    assert "no container engine answers" in err and "DOCKER_HOST=" in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.full
def test_container_engine_that_dies_ends_the_run_and_records_nothing(
    matrix, tmp_path, monkeypatch, podman_engine
):
    with podman(tmp_path) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        run = f'isolate = "container"\ncontainer = {{ image = "{engine.import_image("own")}" }}'
        process = start(matrix(["correct", "hang"], run=run))
        run_dir = reach(process, tmp_path / "runs", trials=1, phase="run")
        engine.service.kill()
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == EXIT_USER_ERROR
        assert "container" in err and "Traceback" not in err
        assert statuses(run_dir) == {"correct": "ok"}
        assert not read_meta(run_dir).complete


# A lab that is killed or interrupted.


def reach(process: Popen, runs: Path, *, trials: int, phase: str) -> Path:
    """Wait until so many trials are recorded and the next one is in a phase; return the run."""

    def reached() -> bool:
        records = list(runs.glob("*/trials/*.json"))
        known = {record.stem for record in records}
        logs = [log for log in runs.glob("*/logs/event_window*.log") if log.stem not in known]
        entered = any(f"# phase: {phase}" in log.read_text() for log in logs)
        return len(records) == trials and entered

    wait_until(reached, process)
    (meta,) = runs.glob("*/run.json")
    return meta.parent


def end_during(process: Popen, runs: Path, number: int, *, trials: int, phase: str) -> Path:
    """Send a signal to `lab run` when so many trials are recorded and the next is in a phase; return the run."""
    run_dir = reach(process, runs, trials=trials, phase=phase)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    return run_dir


def assert_nothing_left(left: Callable[[], list[str]]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (found := left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == []


def assert_resume_completes(run_dir: Path, trials: int) -> None:
    """Resume, by its name, a run that ended in the second of three trials."""
    before = read_trials(run_dir)
    assert len(before) == 1
    assert not read_meta(run_dir).complete
    code, found, err = run_lab("--resume", run_dir.name)
    assert (code, found) == (EXIT_OK, run_dir), err
    after = read_trials(run_dir)
    assert len(after) == trials
    assert {name: after[name] for name in before} == before
    assert sorted(attempts(run_dir).values()) == [1, 1, 2]
    assert sorted(row.attempt for row in after.values()) == [1, 1, 2]
    assert [row.status for row in read_run(run_dir).rows] == ["ok"] * trials
    assert [session.interrupted for session in read_meta(run_dir).sessions][-1] is False


def test_no_process_of_a_trial_survives_a_killed_lab(matrix, tmp_path):
    scratch = tmp_path / "scratch"
    process = start(matrix(["hang"]))
    reach(process, tmp_path / "runs", trials=0, phase="run")
    # The trial, and its child in a session of its own.
    wait_until(lambda: len(trials_of(scratch)) >= 2, process)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert_nothing_left(lambda: trials_of(scratch))
    assert_nothing_left(lambda: [path.name for path in scratch.iterdir()])


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, EXIT_INTERRUPTED)],
)
def test_run_of_a_killed_or_interrupted_lab_is_completed_by_resume(matrix, tmp_path, number, code):
    process = start(matrix(["correct"], options=SLOW, repetitions=3))
    run_dir = end_during(process, tmp_path / "runs", number, trials=1, phase="run")
    assert process.returncode == code
    assert_nothing_left(lambda: trials_of(tmp_path / "scratch"))
    assert_resume_completes(run_dir, 3)


@pytest.mark.full
def test_no_container_survives_a_killed_lab_and_resume_completes_its_run(
    matrix, tmp_path, image, podman_engine
):
    run = f'isolate = "container"\ncontainer = {{ image = "{image}" }}'
    process = start(matrix(["correct"], options=SLOW, repetitions=3, run=run))
    run_dir = end_during(process, tmp_path / "runs", signal.SIGKILL, trials=1, phase="run")
    assert_nothing_left(podman_engine.containers)
    assert_nothing_left(lambda: [path.name for path in (tmp_path / "scratch").iterdir()])
    assert_resume_completes(run_dir, 3)


# Signals.

# A trial or two pass in this time, on a busy machine at least a part of one.
SPREAD_S = 3.0
# Each takes seconds.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 34))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_signal_at_any_moment_ends_the_run_and_leaves_nothing(matrix, tmp_path, seed):
    choice = random.Random(seed)
    # Some trials last no time, one hangs with a child in a session of its own.
    path = matrix(["correct", "leak", "hang"], repetitions=20, timeout_s=600)
    process = start(path, start_new_session=True)
    wait_until(lambda: list((tmp_path / "runs").glob("*/run.json")), process)
    passes(process, choice.uniform(0, SPREAD_S))
    # As a terminal does it, or `kill`.
    group = choice.random() < 0.5
    for _ in range(choice.choice([1, 2])):
        number = choice.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        try:
            (os.killpg if group else os.kill)(process.pid, number)
        except ProcessLookupError:
            break  # It has left meanwhile.
        if passes(process, choice.uniform(0, 0.3)):
            break
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == EXIT_INTERRUPTED, err
    assert "Traceback" not in err, err
    assert trials_of(tmp_path / "scratch") == []
    assert_nothing_left(lambda: [path.name for path in (tmp_path / "scratch").iterdir()])
    (run_dir,) = (tmp_path / "runs").iterdir()
    assert f"lab run --resume {run_dir}" in err and out.splitlines()[-1] == str(run_dir)
    assert not read_meta(run_dir).complete
    assert read_meta(run_dir).sessions[-1].interrupted
    read_trials(run_dir)  # every record is whole


def passes(process: Popen, seconds: float) -> bool:
    """Let so much time pass; whether the process has ended meanwhile."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
