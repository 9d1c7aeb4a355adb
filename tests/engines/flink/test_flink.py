"""The Flink adapter without Flink: refusals, what Java is given, how answers are read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamlab.engines import environment
from streamlab.engines.conformance import CASES, ordinary_input
from streamlab.engines.conformance_load import small_load
from streamlab.engines.errors import EngineError
from streamlab.engines.event_files import ROW, read_rows
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.build import compile_programs
from streamlab.engines.flink.files import warm_up_rows, write_task
from streamlab.engines.flink.workloads import SHAPES
from streamlab.engines.options import OptionError, check_options
from streamlab.workloads.registry import workload
from tests.engines.tasks import task_of

ENGINE = FlinkEngine()


def flink_task(name, folder, data=None, variant="automatic", **more):
    data = ordinary_input(workload(name)) if data is None else data
    return task_of(name, data, folder, variant, workers=2, **more)


def column(folder: Path, name: str, dtype: str) -> list[int]:
    return np.fromfile(folder / name, dtype=dtype).tolist()


def test_without_its_environment_a_task_is_unsupported_and_the_command_is_named(
    tmp_path, monkeypatch
):
    monkeypatch.setenv(environment.ENGINES_VARIABLE, str(tmp_path / "none"))
    reason = ENGINE.unsupported(flink_task("event_window", tmp_path))
    assert "`lab environment flink` (in a checkout: `make engine NAME=flink`)" in reason
    with pytest.raises(EngineError, match="lab environment flink"):
        ENGINE.generator_ceiling_eps("automatic", 1)


def test_without_a_java_compiler_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=r"javac.*openjdk-17-jdk-headless.*lab environment flink"):
        compile_programs(tmp_path)


@pytest.mark.parametrize(
    ("variant", "options", "message"),
    [
        ("automatic", {"state": "disk"}, "state is 'disk'; it must be one of heap, rocksdb"),
        ("automatic", {"heap_mb": -1}, "heap_mb is -1; it must be a whole number of at least 0"),
        ("automatic", {"warm_up_rounds": True}, "is True; it must be a whole number"),
        ("automatic", {"nosuch": 1}, "no option 'nosuch'; there are broker, state"),
        ("automatic", {"service": "rmi"}, "variant automatic of flink has no option 'service'"),
        ("manual", {"state": "rocksdb"}, "manual of flink stores its state in fields"),
    ],
)
def test_a_wrong_option_is_reported(variant, options, message):
    with pytest.raises(OptionError, match=message):
        check(variant, options)


def test_right_options_are_not():
    check("automatic", {"state": "rocksdb", "buffer_timeout_ms": 0})
    check("manual", {"service": "memory", "heap_mb": 512})


def check(name, options):
    (variant,) = (variant for variant in ENGINE.variants() if variant.name == name)
    check_options(ENGINE, variant, options)


def test_states_that_rocksdb_would_not_change_are_refused(tmp_path):
    task = flink_task("fraud_detection", tmp_path, options={"state": "rocksdb"})
    assert "state = rocksdb would change nothing" in ENGINE.refused(task)


def test_map_instances_are_refused_without_a_map_stage(tmp_path):
    with pytest.raises(OptionError, match="manual of flink has no map stage"):
        check("manual", {"map_instances": 2})
    task = flink_task("event_window", tmp_path / "window", options={"map_instances": 2})
    assert "no map stage in event_window" in ENGINE.refused(task)
    task = flink_task("wordcount", tmp_path / "words", options={"map_instances": 2})
    assert ENGINE.refused(task) is None


def test_heartbeats_close_no_window_before_an_event_at_or_after_its_end_is_due(tmp_path):
    task = flink_task("wordcount", tmp_path)
    data = task.dataset.load()
    load = small_load([stream.ts for stream in data.streams], np.arange(data.events) * 1000)
    write_task(replace(task, load=load), data, {}, tmp_path)
    due = np.concatenate(load.due_ns)
    ts = np.concatenate([stream.ts for stream in data.streams])
    assert len(load.heartbeat_due_ns[0]) > 1
    for beat, at in zip(
        column(tmp_path, "0.beat_ts", "<i8"), load.heartbeat_due_ns[0], strict=True
    ):
        assert beat < ts[due <= at].max()


def test_a_key_of_more_than_32_bits_is_an_error(tmp_path):
    data = ordinary_input(workload("forward"))
    left, right = data.streams
    large = replace(left, payload={**left.payload, "id": left.payload["id"] + 2**31})
    data = replace(data, streams=(large, right))
    with pytest.raises(EngineError, match=r"column id of stream left.* has values up to 21474"):
        write_task(flink_task("forward", tmp_path, data), data, {}, tmp_path)


def test_more_trees_than_there_is_memory_for_are_refused(tmp_path):
    task = flink_task("page_view_join", tmp_path, variant="manual")
    assert ENGINE.refused(task) is None
    many = replace(task.dataset, alphabet=replace(task.dataset.alphabet, keys=1_000_000))
    assert "1000000 keys and 2 workers" in ENGINE.refused(replace(task, dataset=many))


def test_every_form_declares_its_properties_and_manual_ones_cost_all_three():
    for name in SHAPES:
        assert set(ENGINE.properties(name, "automatic")) == {"PIP1", "PIP2", "PIP3"}
        assert not any(p.holds for p in ENGINE.properties(name, "manual").values())


def test_an_event_carries_the_column_of_its_kind(tmp_path):
    (single,) = [case for case in CASES if case.name == "a single stream"]
    data = single.derive(ordinary_input(workload("page_view_join")))
    task = flink_task("page_view_join", tmp_path, data)
    write_task(task, data, {}, tmp_path)
    (stream,) = data.streams
    update = stream.tag % 2 == 1
    expected = np.where(update, stream.payload["meta"], stream.payload["user"])
    assert column(tmp_path, "0.value", "<i8") == expected.tolist()
    assert column(tmp_path, "0.tag", "<i4") == stream.tag.tolist()
    assert "kinds_of.0=0,1\n" in (tmp_path / "job.properties").read_text()


def test_lists_are_packed_with_their_ends(tmp_path):
    data = ordinary_input(workload("wordcount"))
    write_task(flink_task("wordcount", tmp_path, data), data, {}, tmp_path)
    words = data.streams[1].payload["words"].packed()
    assert column(tmp_path, "1.list_end", "<i4") == words.offsets[1:].tolist()
    assert column(tmp_path, "1.list", "<i4") == words.values.tolist()
    last = max(int(stream.ts[-1]) for stream in data.streams)
    assert f"until={last}\n" in (tmp_path / "job.properties").read_text()


def test_a_warm_up_takes_a_prefix_in_event_time():
    data = ordinary_input(workload("event_window"))
    rows = warm_up_rows(data, 1000)
    assert 900 < sum(rows) <= 1000
    cut = min(s.ts[n] for s, n in zip(data.streams, rows, strict=True) if n < len(s))
    assert all((s.ts[:n] < cut).all() for s, n in zip(data.streams, rows, strict=True))
    assert sum(warm_up_rows(data, 10**9)) == data.events
    assert sum(warm_up_rows(data, 0)) == 0


def part(folder: Path, number: int, places: list[tuple[int, int, int]]) -> None:
    rows = np.zeros(len(places), dtype=ROW)
    rows["ts"], rows["stream"], rows["row"] = np.array(places).T.reshape(3, -1)
    rows["value"] = np.arange(len(places)) + 10 * number
    rows.tofile(folder / f"{number}.part")


def test_rows_of_several_tasks_are_merged_by_the_events_that_made_them(tmp_path):
    part(tmp_path, 0, [(1, 0, 0), (2, 0, 1), (2, 0, 1)])
    part(tmp_path, 1, [(1, 1, 0), (2, 0, 0), (3, 0, 2)])
    part(tmp_path, 2, [])
    rows = read_rows(tmp_path, 3, timed=False)
    assert rows["value"].tolist() == [0, 10, 11, 1, 2, 12]


def test_a_row_that_left_its_task_late_stays_late(tmp_path):
    part(tmp_path, 0, [(5, 0, 5), (1, 0, 1), (6, 0, 6)])
    part(tmp_path, 1, [(2, 1, 0)])
    rows = read_rows(tmp_path, 2, timed=False)
    assert rows["ts"].tolist() == [2, 5, 1, 6]
