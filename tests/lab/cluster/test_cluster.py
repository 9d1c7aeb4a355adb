"""A cluster of real processes starts, runs tasks that are verified, and leaves nothing behind."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import psutil
import pytest

from streamlab.engines.clusters import ClusterPlan
from streamlab.lab.cluster.daemons import is_alive
from streamlab.lab.cluster.network import free_ports, loopback
from streamlab.lab.cluster.record import ClusterRecord, StartedDaemon, read_record, write_record
from streamlab.lab.errors import ClusterError
from streamlab.lab.trial.timed_part import DRIVER_ONLY
from streamlab.results.store import read_run
from tests.lab.cluster.commands import LAB, ROOT_ONLY, cluster, run_command, run_row

pytestmark = pytest.mark.spark


def run_spark(place: Path, master: str, *words: str, query: str = "event_window"):
    """Run a workload on a cluster of Spark and return its row."""
    options = ("--option", f"spark.master={master}", "--option", "spark.warm_up_rounds=0")
    return run_row(place, *options, *words, query=query)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def master(place):
    """The address of a cluster of two workers with a core each."""
    with cluster(place, "spark") as address:
        yield address


def test_a_query_on_two_workers_is_verified_and_its_row_says_where_it_ran(place, master):
    row = run_spark(place, master, "--engine", "spark/batch")
    assert (row.status, row.reason) == ("ok", None)
    assert (row.cluster, row.nodes, row.node_cores) == ("spark standalone", 2, "1, 1")
    # The executors' work, and not only the driver's, which waits for them.
    assert row.prepare_cpu_s > 5
    assert row.cpu_s > 0.2


def test_a_second_cluster_is_refused_and_the_status_shows_the_first(place, master):
    status = run_command(place, "cluster", "status").stdout
    assert status.startswith(f"spark  {master}  2 of 2 workers, 2 cores")
    second = run_command(place, "cluster", "up", "--engine", "spark")
    assert second.returncode == 2
    assert f"a cluster of spark exists, at {master}" in second.stderr


IMPORTS = {
    "table": ("--workload", "keyed_counter", "--columns", "ts=at,key=who,kind==increment"),
    "trades": ("--columns", "ts=at,price=paid,symbol=who"),
}


@pytest.mark.full
@pytest.mark.parametrize("kind", IMPORTS)
def test_an_import_on_two_workers_is_the_dataset_of_this_process(kind, place, master):
    """The file has splits: one of a block, and the rest."""
    row = "170000{:07},customer {},{}\n"
    rows = (row.format(n * 7919 % 4_000_000, n % 999, 1 + n % 77) for n in range(300_000))
    file = place / "visits.csv"
    file.write_text("at,who,paid\n" + "".join(rows), encoding="utf-8")
    times = "--time-format" if kind == "table" else "--time"
    command = ("data", "import", kind, "--file", file, *IMPORTS[kind], times, "ms")
    one, two = (
        run_command(place, *map(str, command), "--root", str(place / f"{name}-{kind}"), *more)
        for name, more in (("there", ("--master", master)), ("here", ()))
    )
    assert one.returncode == 0, one.stderr
    reports = [
        [
            line
            for line in done.stderr.splitlines()
            if not line.startswith(("input of", "import of"))
        ]
        for done in (one, two)
    ]
    assert one.stdout == two.stdout
    assert reports[0] == reports[1]
    assert reports[0][0].startswith("300,00")


def test_a_task_with_more_workers_than_the_cluster_has_is_refused(place, master):
    row = run_spark(place, master, "--engine", "spark/batch", "-w", "3")
    assert row.status == "crash"
    assert "has 2 cores on 2 workers, and the task needs 3" in row.reason


def python_without(folder: Path, *lacking: str) -> Path:
    """Return the Python of an environment like this one, but without some packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(lacking) and not (site / path.name).exists():
            (site / path.name).symlink_to(path)
    return folder / "bin" / "python"


@pytest.mark.full
@pytest.mark.parametrize("variant", ["generic-batch", "native"])
def test_the_labs_code_travels_to_nodes_without_it(variant, place, master, tmp_path):
    python = python_without(tmp_path / "bare", "_editable", "stream_lab", "streamlab")
    command = [python, "-c", "import streamlab"]
    missing = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert b"ModuleNotFoundError" in missing.stderr
    option = ("--option", f"spark.python={python}")
    engine = ("--engine", f"spark/{variant}")
    row = run_spark(place, master, *engine, *option, query="keyed_counter")
    assert (row.status, row.reason) == ("ok", None)


@pytest.mark.full
def test_a_node_without_a_package_is_named(place, master, tmp_path):
    python = python_without(tmp_path / "bare", "pandas")
    row = run_spark(place, master, "--engine", "spark/batch", "--option", f"spark.python={python}")
    assert row.status == "crash"
    assert "has pandas missing (the driver has " in row.reason


@pytest.mark.full
def test_a_python_that_nodes_lack_is_named(place, master):
    row = run_spark(place, master, "--engine", "spark/batch", "--option", "spark.python=/no/python")
    assert row.status == "crash"
    assert "/no/python" in row.reason


@pytest.mark.full
@ROOT_ONLY
def test_data_that_nodes_do_not_see_is_named(place, master):
    data = place / "data-of-the-driver"
    data.mkdir()
    script = f"mount -t tmpfs none {data} && exec {LAB} run event_window --events 20000 -w 2"
    done = subprocess.run(
        [
            *("unshare", "--mount", "sh", "-c"),
            f"{script} --engine spark/batch --option spark.master={master}",
        ],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"LAB_DATA": str(data), "LAB_RUNS": str(place / "runs")},
        check=False,
    )
    (row,) = read_run(Path(done.stdout.splitlines()[-1])).rows
    assert row.status == "crash"
    assert f"does not see {data}" in row.reason
    assert "set LAB_SHARED" in row.reason


@pytest.mark.full
@ROOT_ONLY
def test_cpu_and_memory_of_nodes_that_cannot_be_observed_are_absent(place, master):
    folders = {f"LAB_{name.upper()}": str(place / name) for name in ("clusters", "runs", "data")}
    words = ("run", "event_window", "--events", "20000", "-w", "2", "--engine", "spark/batch")
    done = subprocess.run(
        [
            *("unshare", "--pid", "--fork", "--mount-proc", LAB, *words),
            *("--option", f"spark.master={master}", "--option", "spark.warm_up_rounds=0"),
        ],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | folders,
        check=False,
    )
    (row,) = read_run(Path(done.stdout.splitlines()[-1])).rows
    assert (row.status, row.reason, row.nodes) == ("ok", DRIVER_ONLY, 2)
    assert (row.cpu_s, row.peak_rss_bytes, row.prepare_cpu_s) == (None, None, None)


@pytest.mark.full
def test_micro_batches_on_a_shared_folder_are_verified(place, master, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_SHARED", str(tmp_path))
    row = run_spark(place, master, "--engine", "spark/streaming")
    assert (row.status, row.reason, row.nodes) == ("ok", None, 2)
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.full
@ROOT_ONLY
def test_workers_in_network_namespaces_are_reached_and_the_namespaces_end(tmp_path):
    with cluster(tmp_path, "spark", "--network", "namespaces") as address:
        row = run_spark(tmp_path, address, "--engine", "spark/batch")
    assert (row.status, row.reason, row.nodes) == ("ok", None, 2)
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert "lab-spark" not in left.stdout


def test_a_daemon_that_does_not_start_is_named_with_its_last_words(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1k")
    up = run_command(tmp_path, "cluster", "up", "--engine", "spark")
    assert up.returncode == 2
    assert "lab: " in up.stderr
    assert not (tmp_path / "clusters" / "spark").exists()


def test_an_engine_without_clusters_is_named(tmp_path):
    up = run_command(tmp_path, "cluster", "up", "--engine", "reference")
    assert up.returncode == 2
    assert up.stderr == "lab: engine reference has no clusters that the lab can start\n"


def test_without_a_cluster_down_and_status_say_so(tmp_path):
    assert "no cluster; start one" in run_command(tmp_path, "cluster", "status").stdout
    down = run_command(tmp_path, "cluster", "down", "--engine", "spark")
    assert down.returncode == 2
    assert "no cluster of spark was started" in down.stderr


def record(folder: Path) -> ClusterRecord:
    plan = ClusterPlan(
        folder=folder,
        host="127.0.0.1",
        ports=free_ports("127.0.0.1"),
        worker_hosts=loopback(2).workers,
        cores=1,
        memory_mb=512,
    )
    daemon = StartedDaemon(name="master", pid=os.getpid(), started=1.0)
    return ClusterRecord(engine="spark", address="spark://a:1", plan=plan, daemons=(daemon,))


def test_a_record_reads_back_and_a_damaged_one_names_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CLUSTERS", str(tmp_path))
    (tmp_path / "spark").mkdir()
    written = record(tmp_path / "spark")
    write_record(written)
    assert read_record("spark") == written
    assert read_record("flink") is None
    (tmp_path / "spark" / "cluster.json").write_text("{")
    with pytest.raises(ClusterError, match=r"cluster\.json"):
        read_record("spark")


def test_a_process_that_got_the_number_of_an_ended_daemon_is_not_the_daemon(tmp_path):
    (daemon,) = record(tmp_path).daemons
    assert not is_alive(daemon)
    now = psutil.Process().create_time()
    assert is_alive(StartedDaemon(name="master", pid=os.getpid(), started=now))
