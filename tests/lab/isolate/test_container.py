"""Trials in containers, on a real engine (Podman's service behind the Docker SDK)."""

import errno
import json
import os
import signal
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from docker.api.daemon import DaemonApiMixin

from streamlab.lab.errors import IsolationError
from streamlab.lab.isolate import container_engine
from streamlab.lab.isolate.check import check
from streamlab.lab.isolate.container import Mount, run_contained, run_in
from streamlab.lab.isolate.container_engine import LABEL_OWNER, connect, sweep
from streamlab.lab.isolate.isolation import Isolation
from streamlab.lab.isolate.source import source_digest
from streamlab.lab.runner.container_job import translate
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import OracleJob
from streamlab.workloads.datasets import oracle_cache
from streamlab.workloads.datasets.time_cutoff import event_times, truncate
from streamlab.workloads.registry import workload
from tests.lab.engine_trial import engine_trial

TIMEOUT_S = 600
# Prints the properties of its surroundings that isolation promises.
REPORT = """
import json, os
from pathlib import Path

def refused(path):
    try:
        Path(path).write_text("x")
    except OSError as error:
        return error.strerror
    return None

status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps({
    "root": refused("/etc/x"), "data": refused("/data/x"), "tmp": refused("/tmp/x"),
    "trial": refused("/trial/x"),
    "interfaces": [line.split(":")[0].strip()
                   for line in Path("/proc/net/dev").read_text().splitlines()[2:]],
    "capabilities": [status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd")],
    "new_privileges": status["NoNewPrivs"].strip(),
    "cores": sorted(os.sched_getaffinity(0)),
    "user": os.getuid(),
}))
"""


@pytest.fixture
def trial(tmp_path, small_dataset, image):
    """Runs one trial of the fake engine in a container; returns the columns that it gives."""

    def run(variant, *, engine="fake", memory=None, timeout_s=TIMEOUT_S, **options):
        spec = engine_trial(
            engine=engine,
            variant=variant,
            options=options,
            dataset=small_dataset(),
            series=tmp_path / "run" / "series" / "t.parquet",
            outputs=tmp_path / "run" / "outputs" / "t.parquet",
        )
        isolation = Isolation(kind="container", image=image, memory=memory)
        log = tmp_path / "trial.log"
        return run_trial(spec, log=log, timeout_s=timeout_s, isolate=isolation).columns

    return run


def contained(image, command, log, *, timeout_s=TIMEOUT_S, mounts=(), **limits):
    """Return the outcome of a command in a container, and its output."""
    isolation = Isolation(kind="container", image=image, **limits)
    outcome = run_contained(
        command, isolation=isolation, mounts=mounts, log=log, timeout_s=timeout_s
    )
    return outcome, log.read_text()


# Trials: the same statuses as in a process.


@pytest.mark.parametrize(
    ("engine", "variant"),
    [("fake", "correct"), pytest.param("reference", "sequential", marks=pytest.mark.full)],
)
def test_right_answer_is_ok_and_its_files_are_where_they_belong(trial, tmp_path, engine, variant):
    options = {"capacity_eps": 50_000} if engine == "fake" else {}
    row = trial(variant, engine=engine, **options)
    assert row["status"] == "ok", row
    assert row["outputs"] == row["expected_outputs"] > 0
    assert row["returncode"] == 0
    # The monotonic clock is the machine's: 0 would be a clock of the container's own.
    assert 0.1 < row["startup_s"] < TIMEOUT_S
    found = sorted(str(p.relative_to(tmp_path)) for p in (tmp_path / "run").rglob("*.parquet"))
    assert found == ["run/outputs/t.parquet", "run/series/t.parquet"]
    assert pq.read_table(tmp_path / "run/outputs/t.parquet").num_rows == row["outputs"]
    assert "# attempt 1\n# phase: prepare\n" in (tmp_path / "trial.log").read_text()


def test_killed_process_is_a_crash_that_names_signal_and_phase(trial):
    row = trial("die")
    assert row["status"] == "crash"
    assert "was killed by SIGKILL in phase run" in row["reason"]
    assert row["returncode"] == -9


def test_trial_that_exceeds_its_memory_is_oom(trial):
    row = trial("hoard", memory="200m")
    assert row["status"] == "oom", row
    assert "in phase run" in row["reason"]
    assert row["returncode"] == -9


def test_an_answer_is_compared_with_the_stored_one_hidden_from_the_container(
    trial, small_dataset, tmp_path
):
    dataset = small_dataset()
    assert trial("correct")["status"] == "ok"

    # Replace the stored answer: the trial is compared with it.
    answer = oracle_cache.expected(workload("event_window"), dataset)
    (kept,) = oracle_cache.cached_answers(dataset.streams[0].path.parent)
    made_from = oracle_cache._hash(workload("event_window"), dataset)
    oracle_cache._write(kept, {**answer, "sum": answer["sum"] + 1}, made_from, None)
    row = trial("correct")
    assert (row["status"], row["wrong"]) == ("wrong_output", len(answer["ts"]))
    log = (tmp_path / "trial.log").read_text()
    assert log.count("# attempt 1\n") == log.count("# attempt 2\n") == 1


def test_the_folder_of_stored_answers_is_hidden_from_a_container(tmp_path, small_dataset):
    dataset = small_dataset()
    assert translate(OracleJob(dataset=dataset), tmp_path).hidden == ()  # it is not there yet
    oracle_cache.expected(workload("event_window"), dataset)
    assert translate(OracleJob(dataset=dataset), tmp_path).hidden == ("/data/0/expected",)


# The rights of a container.


def test_container_sees_only_its_mounts_and_cores(image, tmp_path):
    data, trial = tmp_path / "data", tmp_path / "trial"
    data.mkdir()
    trial.mkdir()
    outcome, printed = contained(
        image,
        ["python", "-c", REPORT],
        tmp_path / "log",
        mounts=[
            Mount(host=data, target="/data"),
            Mount(host=trial, target="/trial", writable=True),
        ],
        cpus="0",
    )
    assert outcome.returncode == 0, printed
    assert json.loads(printed) == {
        "root": "Read-only file system",
        "data": "Read-only file system",
        "tmp": None,
        "trial": None,
        "interfaces": ["lo"],
        "capabilities": ["0000000000000000"] * 3,
        "new_privileges": "1",
        "cores": [0],
        "user": os.getuid(),
    }
    assert (trial / "x").stat().st_uid == os.getuid()


def test_container_has_the_cores_of_the_lab_by_default(image, tmp_path):
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    _, printed = contained(image, ["python", "-c", code], tmp_path / "log")
    assert json.loads(printed) == sorted(os.sched_getaffinity(0))


def test_memory_limit_kills_a_process_only_beyond_it(image, tmp_path):
    code = "bytearray(100 << 20); print('done')"
    outcome, printed = contained(image, ["python", "-c", code], tmp_path / "a", memory="200m")
    assert (outcome.returncode, outcome.oom_kills, printed) == (0, 0, "done\n")
    code = "kept = [bytearray(8 << 20) for _ in range(100)]"
    outcome, _ = contained(image, ["python", "-c", code], tmp_path / "b", memory="200m")
    assert outcome.returncode == -9
    assert outcome.oom_kills >= 1


def test_signal_that_a_process_sends_itself_is_its_return_code(image, tmp_path):
    outcome, _ = contained(image, ["sh", "-c", "kill -TERM $$"], tmp_path / "log")
    assert outcome.returncode == -signal.SIGTERM
    outcome, _ = contained(image, ["sh", "-c", "exit 9"], tmp_path / "log")
    assert outcome.returncode == 9


@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.full)])
def test_everything_that_is_printed_is_in_the_log_each_time(image, tmp_path, times):
    for number in range(times):
        log = tmp_path / str(number)
        _, printed = contained(image, ["sh", "-c", "echo first; seq 20000; echo last >&2"], log)
        assert printed.splitlines() == ["first", *map(str, range(1, 20001)), "last"]


# Nothing is left.


def test_container_is_removed_when_the_wait_is_interrupted(image, tmp_path, podman_engine):
    log = tmp_path / "log"

    def interrupt(signum, frame):
        """Interrupt once the container runs, however long it takes to start."""
        if log.exists() and log.read_text():
            raise KeyboardInterrupt

    known = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            contained(image, ["sh", "-c", "echo here; sleep 3600"], log)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, known)
    assert log.read_text() == "here\n"
    assert podman_engine.containers() == []


def test_containers_of_a_dead_lab_are_removed_and_those_of_a_living_one_are_not(
    image, podman_engine
):
    client = connect()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = Path("/proc/self/ns/pid").readlink()
    parent = Path("/proc/1").stat().st_ctime
    labels = {
        "dead": f"{boot} {namespace} {2**22 + 1} 1.00",
        "reused": f"{boot} {namespace} {os.getpid()} 1.00",
        "rebooted": f"{'0' * 36} {namespace} 1 1.00",
        "elsewhere": f"{boot} pid:[1] 1 {parent:.2f}",
        "strange": "who knows",
    }
    try:
        for name, label in labels.items():
            client.containers.create(
                image, ["sleep", "9"], name=name, labels={LABEL_OWNER: label}, network_mode="none"
            )
        assert sorted(sweep(client)) == ["dead", "rebooted", "reused"]
        assert sorted(podman_engine.containers()) == ["elsewhere", "strange"]
    finally:
        podman_engine.run("rm", "--all", "--force")
        client.close()


# Checks before anything starts.


def test_check_says_which_engine_and_image_it_found(image, podman_engine):
    facts = check(Isolation(kind="container", image=image, memory="512m", cpus="0"))
    assert facts.engine.startswith("Podman Engine 4") or facts.engine.startswith("Podman Engine 5")
    assert facts.address == podman_engine.address
    assert facts.image_id.startswith("sha256:")


def test_missing_engine_is_an_error_that_names_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(IsolationError) as caught:
        check(Isolation(kind="container"))
    message = str(caught.value)
    assert f"no container engine answers at unix://{tmp_path}/nothing.sock" in message
    assert "podman system service" in message and "DOCKER_HOST=" in message


def test_an_engine_that_stops_after_its_first_reply_is_missing(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    monkeypatch.setitem(container_engine._api_versions, "tcp://127.0.0.1:9", "1.41")
    with pytest.raises(
        IsolationError, match=r"no container engine answers at tcp://127\.0\.0\.1:9"
    ):
        check(Isolation(kind="container"))


def test_the_version_and_kind_of_an_engine_are_requested_once(image, monkeypatch):
    calls = []
    for name in ("info", "version"):
        ask = getattr(DaemonApiMixin, name)
        monkeypatch.setattr(
            DaemonApiMixin,
            name,
            lambda self, *args, ask=ask, name=name, **more: (
                calls.append(name) or ask(self, *args, **more)
            ),
        )
    monkeypatch.setattr(container_engine, "_api_versions", {})
    monkeypatch.setattr(container_engine, "_rootless", {})
    isolation = Isolation(kind="container", image=image)
    for _ in range(2):
        client = connect()
        assert run_in(client, isolation, ["python", "-c", "print(6 * 7)"]) == (0, "42\n")
        client.close()
    assert calls == ["version", "info"]


def test_missing_image_is_an_error_that_names_the_build(image):
    with pytest.raises(IsolationError, match=r"no image 'nosuch'; .*make image IMAGE=nosuch"):
        check(Isolation(kind="container", image="nosuch"))


@pytest.mark.parametrize(
    ("label", "holds"), [("0" * 64, "source 000000000000"), ("", "no label lab.source")]
)
def test_image_of_another_source_is_refused(podman_engine, image, label, holds):
    podman_engine.import_image("lab-other", label=label)
    with pytest.raises(IsolationError) as caught:
        check(Isolation(kind="container", image="lab-other"))
    assert holds in str(caught.value)
    assert source_digest()[:12] in str(caught.value)
    assert "make image IMAGE=lab-other" in str(caught.value)


def test_image_without_python_is_refused(podman_engine, image):
    podman_engine.import_image("lab-bare", python=False)
    with pytest.raises(IsolationError, match="no python on its PATH"):
        check(Isolation(kind="container", image="lab-bare"))


# Paths, settings and the digest.


def test_every_path_of_a_specification_is_translated_also_of_a_cut_dataset(tmp_path, small_dataset):
    dataset = small_dataset()
    cut = truncate(dataset, event_times(dataset), 1000)
    spec = engine_trial(
        dataset=cut,
        series=tmp_path / "series" / "s.parquet",
        outputs=Path("outputs/o.parquet"),
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    inside = translate(spec, folder)
    assert {stream.path.parent for stream in inside.job.dataset.streams} == {Path("/data/0")}
    assert {s.path.parent for s in inside.job.dataset.complete().streams} == {Path("/data/0")}
    assert [s.path.name for s in inside.job.dataset.streams] == [s.path.name for s in cut.streams]
    assert (inside.job.series, inside.job.outputs) == (None, None)  # the judge writes them
    fields = {"dataset": cut, "series": spec.series, "outputs": spec.outputs}
    assert msgspec.structs.replace(inside.job, **fields) == spec
    assert [(m.target, m.writable) for m in inside.mounts] == [("/data/0", False), ("/trial", True)]


@pytest.mark.parametrize("attribute", ["", ":OTHER"])
def test_the_folder_of_a_workloads_own_file_is_there_to_be_read(tmp_path, small_dataset, attribute):
    own = tmp_path / "own" / "sensors.py"
    job = OracleJob(dataset=small_dataset(), workload=f"{own}{attribute}")
    inside = translate(job, tmp_path)
    assert inside.job.workload == f"/workload/sensors.py{attribute}"
    (mount,) = (m for m in inside.mounts if m.target == "/workload")
    assert (mount.host, mount.writable) == (own.parent, False)
    named = msgspec.structs.replace(job, workload="event_window")
    assert translate(named, tmp_path).job.workload == "event_window"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "jail"}, "kind is 'jail'; expected one of process, container"),
        ({"image": ""}, "image is empty"),
        ({"cpus": "all"}, "cpus is 'all'; expected a list of cores"),
        ({"memory": "lots"}, "memory is 'lots'; expected a number with k, m or g"),
        ({"memory": "1m"}, "expected 32m or more"),
    ],
)
def test_bad_setting_is_named_with_the_expected_form(settings, message):
    with pytest.raises(ValueError, match=message):
        Isolation(**settings)


def test_digest_changes_with_the_source_and_with_nothing_else(tmp_path):
    for name in ("lab/a.py", "results/store.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    first = source_digest(tmp_path)
    for name in ("docs/a.md", "lab/__pycache__/a.pyc", "results/runs/x/run.json", "lab/.hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert source_digest(tmp_path) == first
    (tmp_path / "lab/a.py").rename(tmp_path / "lab/b.py")
    renamed = source_digest(tmp_path)
    assert renamed != first
    (tmp_path / "lab/b.py").write_text("changed")
    assert source_digest(tmp_path) not in (first, renamed)


def test_digest_skips_files_that_no_interpreter_can_read(tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "nowhere.py").symlink_to("me@host:1")
    (tmp_path / "lab" / "itself.py").symlink_to("itself.py")
    (tmp_path / "lab" / "folder.py").mkdir()
    os.mkfifo(tmp_path / "lab" / "pipe.py")
    (tmp_path / "lab" / os.fsdecode(b"bytes\xff.py")).touch()
    first = source_digest(tmp_path)
    (tmp_path / "lab" / os.fsdecode(b"bytes\xff.py")).write_text("x = 1", encoding="ascii")
    assert source_digest(tmp_path) != first


def test_a_file_without_the_right_to_it_counts_as_empty(tmp_path, monkeypatch):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "a.py").touch()
    empty = source_digest(tmp_path)
    (tmp_path / "lab" / "a.py").write_text("x = 1", encoding="ascii")
    monkeypatch.setattr(Path, "read_bytes", refused)
    assert source_digest(tmp_path) == empty


def refused(path):
    """Read a file as a user without the right to it; root may read everything."""
    raise PermissionError(errno.EACCES, "Permission denied", str(path))
