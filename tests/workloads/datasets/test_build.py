import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.lab.cli import EXIT_INTERRUPTED, EXIT_USER_ERROR
from streamlab.workloads.datasets.builder import SMALLEST_SHARE, ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ListColumn, ModelError
from streamlab.workloads.registry import names, workload
from tests.processes import Popen
from tests.workloads.suite.streams import generated

ROOT = Path(__file__).parents[3]


BUILD = [sys.executable, "-m", "streamlab", "data", "build", "event_window"]


def run_apart(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


def plain(values: np.ndarray | ListColumn) -> list:
    return list(values.rows()) if isinstance(values, ListColumn) else values.tolist()


@pytest.mark.some(12)
@pytest.mark.parametrize("name", names())
def test_a_built_dataset_holds_what_the_generator_makes(name: str, catalog: Catalog):
    chosen = workload(name)
    params = {"streams": 3} if "streams" in chosen.parameters else {}
    dataset = ensure(chosen, params, 50_000, 5, catalog=catalog)
    expected, found = generated(chosen, params, 50_000, 5), dataset.load()
    specs = chosen.streams(chosen.params(params), 50_000)
    sizes = [stream.path.stat().st_size for stream in dataset.streams]
    least = [s.events * s.fields.itemsize // SMALLEST_SHARE for s in specs]
    assert all(size >= some for size, some in zip(sizes, least, strict=True)), "see check_room"
    assert found.alphabet == expected.alphabet
    for one, other in zip(found.streams, expected.streams, strict=True):
        assert (one.name, one.kinds) == (other.name, other.kinds)
        assert one.ts.tolist() == other.ts.tolist()
        assert (one.tag is None) == (other.tag is None)
        assert one.tag is None or other.tag is None or one.tag.tolist() == other.tag.tolist()
        assert {key: plain(values) for key, values in one.payload.items()} == {
            key: plain(values) for key, values in other.payload.items()
        }


def test_streams_longer_than_a_row_group_are_written_in_several(catalog: Catalog):
    shown: list[tuple[int, int]] = []
    dataset = ensure(
        workload("event_window"),
        {"streams": 1},
        1_200_000,
        5,
        catalog=catalog,
        progress=lambda step, done, total: shown.append((done, total)),
    )
    stream = dataset.streams[0]
    assert pq.ParquetFile(stream.path).num_row_groups == 2
    assert stream.ts_max == stream.rows - 1 == len(dataset.load().streams[0]) - 1
    assert shown[-1] == (dataset.events, dataset.events)


def test_ids_depend_on_content_alone(catalog: Catalog, tmp_path: Path):
    chosen = workload("keyed_counter")
    other = Catalog(root=tmp_path / "other")
    one = ensure(chosen, {}, 1000, 5, catalog=catalog)
    assert ensure(chosen, {}, 1000, 5, catalog=other).id == one.id
    assert ensure(chosen, {}, 1000, 6, catalog=catalog).id != one.id
    assert ensure(chosen, {"skew": 1.0}, 1000, 5, catalog=catalog).id != one.id
    assert len(catalog.list().datasets) == 3


def test_an_empty_dataset_can_be_built_and_loaded(catalog: Catalog):
    dataset = ensure(workload("fraud_detection"), {}, 0, 1, catalog=catalog)
    assert dataset.events == 0
    assert dataset.load().events == 0


def test_an_existing_dataset_is_not_made_again(catalog: Catalog, monkeypatch: pytest.MonkeyPatch):
    chosen = workload("event_window")
    made = ensure(chosen, {"streams": 1}, 100, 1, catalog=catalog)
    monkeypatch.setattr(
        "streamlab.workloads.datasets.builder.open_executor", None
    )  # calling it would fail
    assert ensure(chosen, {"streams": "1"}, 100, 1, catalog=catalog) == made


def test_bad_requests_leave_the_catalogue_as_it_was(catalog: Catalog):
    chosen = workload("page_view_join")
    with pytest.raises(DatasetError, match="events is -1"):
        ensure(chosen, {}, -1, 1, catalog=catalog)
    for seed in (-1, 2**63):
        with pytest.raises(DatasetError, match=f"seed is {seed}; give 0 to {2**63 - 1}"):
            ensure(chosen, {}, 10, seed, catalog=catalog)
    with pytest.raises(ModelError, match="no parameter pags"):
        ensure(chosen, {"pags": 2}, 10, 1, catalog=catalog)
    for value in ("nan", "inf", math.inf):
        with pytest.raises(ModelError, match=r"parameter skew: "):
            ensure(chosen, {"skew": value}, 10, 1, catalog=catalog)
        with pytest.raises(ModelError, match=r"parameter pages: "):
            ensure(chosen, {"pages": value}, 10, 1, catalog=catalog)
    with pytest.raises(ModelError, match=r"parameter streams: must be at most 1024"):
        ensure(chosen, {"streams": 10**6}, 10, 1, catalog=catalog)
    assert catalog.list().datasets == ()
    assert not catalog.root.exists() or list(catalog.root.iterdir()) == []


@pytest.mark.parametrize("events", [10**13, 10**20])
def test_a_dataset_larger_than_the_disk_is_refused_before_it_is_begun(
    events: int, catalog: Catalog
):
    with pytest.raises(DatasetError, match=r"events take at least .* GB on disk .* has .* GB free"):
        ensure(workload("event_window"), {}, events, 1, catalog=catalog)
    assert not catalog.root.exists()


@pytest.mark.parametrize(
    ("way", "begin"),
    [
        ("process", "generating event_window failed: "),
        pytest.param(
            "spark",
            "Spark failed in 'lab: generating event_window': OSError: ",
            marks=[pytest.mark.spark, pytest.mark.full],
        ),
    ],
)
def test_a_failed_write_is_reported_in_a_line(way: str, begin: str, catalog: Catalog):
    """In a process of its own, whose files may not grow: a full disk says the same."""
    command = [*BUILD, "--events", "1000000", "--with", way, "--root", str(catalog.root)]
    told = run_apart("sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *command)
    assert told.returncode == EXIT_USER_ERROR
    (line,) = filter(None, told.stderr.splitlines())
    assert line.startswith(f"lab: {begin}")
    assert line.endswith("File too large")
    assert list(catalog.root.iterdir()) == []


@pytest.mark.spark
def test_an_invalid_master_is_reported_in_the_words_of_spark(catalog: Catalog):
    """In a process of its own: pyspark leaves a pipe to a Java that did not start."""
    told = run_apart(*BUILD, "--master", "foo", "--root", str(catalog.root))
    assert told.returncode == EXIT_USER_ERROR
    (line,) = filter(None, told.stderr.splitlines())
    assert line.startswith("lab: Spark does not start with master 'foo': ")
    assert "Master must" in line
    assert list(catalog.root.iterdir()) == []


# On Spark half a minute; `make test` interrupts one that starts (see tests/lab/runner).
@pytest.mark.parametrize(
    "way", ["process", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.full])]
)
def test_an_interrupt_leaves_nothing_behind(way: str, catalog: Catalog):
    """In a process of its own, with a size that takes minutes, interrupted when it has begun."""
    command = [*BUILD, "--events", "1000000000", "--with", way, "--root", str(catalog.root)]
    process = Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 600
    while not list(catalog.root.glob(".building-*/dataset/*.done")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the build did not begin in 600 s"
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=600)  # ends when all that hold the pipe have ended
    assert process.returncode == EXIT_INTERRUPTED
    assert said.splitlines()[-1] == "lab: interrupted"
    assert "Traceback" not in said and "KeyboardInterrupt" not in said
    assert list(catalog.root.iterdir()) == []
