from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from engines.small_dataset import write_dataset
from tests.datasets.test_catalog import publish
from tests.workloads.streams import generated
from workloads.datasets.catalog import Catalog
from workloads.datasets.cut import before, event_times
from workloads.datasets.oracle_cache import expected
from workloads.registry import NAMES, workload

EVENT_WINDOW = workload("event_window")


def kept(catalog: Catalog):
    return sorted(catalog.root.glob("*/expected-*.parquet"))


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
def test_a_damaged_file_is_computed_again(tmp_path: Path, damage: str):
    data = generated(EVENT_WINDOW, {"values_per_barrier": 5}, 100, 1)
    dataset = write_dataset(data, "event_window", tmp_path)
    wanted = EVENT_WINDOW.oracle(data)
    expected(EVENT_WINDOW, dataset)
    (path,) = tmp_path.glob("**/expected-*.parquet")
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


def test_another_oracle_version_is_kept_apart(catalog: Catalog):
    dataset = publish(catalog, [1, 2])
    expected(EVENT_WINDOW, dataset)
    expected(replace(EVENT_WINDOW, oracle_version=99), dataset)
    assert len(kept(catalog)) == 2


def test_a_cut_dataset_has_the_cut_answer_of_the_whole(tmp_path: Path):
    data = generated(EVENT_WINDOW, {"values_per_barrier": 5}, 1_000, 1)
    dataset = write_dataset(data, "event_window", tmp_path)
    cut = before(dataset, event_times(dataset), 77)
    loaded = cut.load()
    assert 0 < loaded.events == cut.events < dataset.events
    assert all(int(stream.ts[-1]) < 77 for stream in loaded.streams)
    wanted = EVENT_WINDOW.oracle(loaded)
    assert len(wanted["sum"]) > 3
    answer = expected(EVENT_WINDOW, cut)
    assert {name: answer[name].tolist() for name in wanted} == {
        name: wanted[name].tolist() for name in wanted
    }
    assert cut.whole() == dataset


@pytest.mark.parametrize("name", NAMES)
def test_for_every_workload_the_oracle_of_a_cut_is_the_cut_of_the_oracle(tmp_path: Path, name: str):
    subject = workload(name)
    data = generated(subject, {}, 30_000, 1)
    dataset = write_dataset(data, name, tmp_path)
    last = max(int(stream.ts[-1]) for stream in data.streams if len(stream))
    for until_ts in (0, last // 3, last // 2 + 1, last):
        cut = before(dataset, event_times(dataset), until_ts)
        wanted, answer = subject.oracle(cut.load()), expected(subject, cut)
        assert all(wanted[field].tolist() == answer[field].tolist() for field in answer)
