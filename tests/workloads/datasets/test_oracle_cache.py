import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.oracle_cache import expected, expected_rows
from streamlab.workloads.datasets.time_cutoff import event_times, truncate, truncate_answer
from streamlab.workloads.model import ProgramError
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.workload import INVARIANTS
from streamlab.workloads.registry import names, workload
from tests.workloads.datasets.small_datasets import publish
from tests.workloads.suite.streams import generated

EVENT_WINDOW = workload("event_window")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    data = generated(EVENT_WINDOW, {"values_per_barrier": 5}, 100, 1)
    return write_dataset(data, "event_window", tmp_path)


def kept(catalog: Catalog):
    return sorted(catalog.root.glob("*/expected/*.parquet"))


def test_the_second_answer_comes_from_the_file(catalog: Catalog):
    dataset = publish(catalog, [1, 2])
    first = expected(EVENT_WINDOW, dataset)
    (path,) = kept(catalog)
    before = path.stat().st_mtime_ns
    again = expected(EVENT_WINDOW, dataset)
    assert {name: values.tolist() for name, values in again.items()} == {
        name: values.tolist() for name, values in first.items()
    }
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["garbage", "truncated", "flipped", "other"])
def test_a_damaged_file_is_computed_again(dataset: Dataset, tmp_path: Path, damage: str):
    wanted = EVENT_WINDOW.oracle(dataset.load())
    expected(EVENT_WINDOW, dataset)
    (path,) = tmp_path.glob("**/expected/*.parquet")
    good = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(b"not Parquet")
    elif damage == "truncated":
        path.write_bytes(good[: len(good) // 2])
    elif damage == "flipped":
        table = pq.read_table(path)
        column = table.schema.get_field_index("sum")
        changed = pc.add(table.column("sum"), 1)
        pq.write_table(table.set_column(column, table.schema.field("sum"), changed), path)
    else:
        path.write_bytes(dataset.streams[0].path.read_bytes())
    answer = expected(EVENT_WINDOW, dataset)
    assert len(wanted["sum"]) == 9
    assert answer["sum"].tolist() == wanted["sum"].tolist()
    assert path.read_bytes() == good


def test_an_answer_of_other_types_is_refused_and_not_stored(dataset: Dataset, tmp_path: Path):
    def halves(data):
        return {name: values + 0.5 for name, values in EVENT_WINDOW.oracle(data).items()}

    with pytest.raises(ProgramError, match=r"output field ts is of type int64 and got .*\.5"):
        expected(replace(EVENT_WINDOW, oracle=halves), dataset)
    assert not list(tmp_path.glob("**/expected/*"))


@pytest.mark.parametrize(
    "name", [name for name in names() if workload(name).checked_by != INVARIANTS]
)
def test_the_oracle_of_a_cut_input_gives_the_cut_of_the_answer(name: str, tmp_path: Path):
    subject = workload(name)
    dataset = write_dataset(ordinary_input(subject), name, tmp_path)
    whole = subject.oracle(dataset.load())
    outputs, times = np.unique(whole["ts"]), event_times(dataset)
    middle, last = (
        int(outputs[len(outputs) // 2]),
        max(int(stream.ts_max) for stream in dataset.streams),
    )
    for time in (0, last // 3, middle, last):
        cut = truncate(dataset, times, time // subject.output.grid * subject.output.grid)
        answer = expected(subject, cut)
        difference = compare(answer, subject.oracle(cut.load()), subject.output)
        assert difference.equal, difference.render()
        if time == middle:
            assert 0 < cut.events < dataset.events
            assert 0 < len(answer["ts"]) < len(whole["ts"])


def test_answers_of_other_query_parameters_versions_and_workloads_are_stored_apart(tmp_path: Path):
    forward = workload("forward")
    data = generated(forward, {}, 100, 1)
    dataset = write_dataset(data, "forward", tmp_path)
    for copies in (2, 3, 2):
        answer = expected(forward.bound({"copies": copies}), dataset)
        assert len(answer["ts"]) == copies * data.events
    assert len(list(tmp_path.glob("expected/forward-*"))) == 2
    expected(replace(forward, oracle_version=99), dataset)
    assert len(list(tmp_path.glob("expected/forward-*"))) == 3
    expected(replace(forward, name="backward"), dataset)  # it would take the same input
    assert len(list(tmp_path.glob("expected/backward-*"))) == 1


def test_answers_are_computed_again_when_code_that_the_oracle_uses_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    helper = tmp_path / "rule_of_an_oracle.py"
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import replace\n"
        "from streamlab.workloads.suite.event_window import WORKLOAD as BASE\n"
        "from rule_of_an_oracle import chosen\n"
        "def answer(data):\n    return chosen(BASE.oracle(data))\n"
        "WORKLOAD = replace(BASE, name='own', oracle=answer)\n"
    )
    dataset = write_dataset(generated(EVENT_WINDOW, {}, 100, 1), "event_window", tmp_path / "data")
    for change in ("answer", "dict(answer)", "answer"):
        helper.write_text(f"def chosen(answer):\n    return {change}\n")
        own.write_text(own.read_text() + "#\n")  # a process loads it once
        sys.modules.pop("rule_of_an_oracle", None)
        importlib.invalidate_caches()
        expected(workload(str(own)), dataset)
    assert len(list((tmp_path / "data").glob("expected/*"))) == 2


def test_an_answer_cannot_be_cut_off_its_grid():
    answer = {"ts": np.arange(5, dtype=np.int64)}
    output = replace(EVENT_WINDOW.output, delay=2, grid=2)
    assert truncate_answer(answer, 2, output)["ts"].tolist() == [0, 1, 2, 3]
    with pytest.raises(DatasetError, match=r"cut at event time 3.* multiples of 2"):
        truncate_answer(answer, 3, output)


def test_the_number_of_records_is_known_while_the_answer_is_stored(
    dataset: Dataset, tmp_path: Path
):
    assert expected_rows(EVENT_WINDOW, dataset) is None
    assert expected_rows(EVENT_WINDOW, dataset) is None  # and it computed nothing
    answer = expected(EVENT_WINDOW, dataset)
    assert expected_rows(EVENT_WINDOW, dataset) == len(answer["ts"]) == 9
    times = event_times(dataset)
    for share in (0.0, 0.3, 0.7):
        cut = truncate(dataset, times, int(times[0][int(share * len(times[0]))]))
        assert expected_rows(EVENT_WINDOW, cut) == len(expected(EVENT_WINDOW, cut)["ts"])
    (path,) = tmp_path.glob("**/expected/*.parquet")
    path.write_bytes(b"not Parquet")
    assert expected_rows(EVENT_WINDOW, dataset) is None
