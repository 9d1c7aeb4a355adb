from dataclasses import replace

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.datasets.test_catalog import publish
from tests.workloads.streams import generated
from workloads.datasets.catalog import Catalog
from workloads.datasets.oracle_cache import expected
from workloads.registry import workload

EVENT_WINDOW = workload("event_window")


def kept(catalog: Catalog):
    return sorted(catalog.root.glob("*/expected-*.parquet"))


def test_the_second_answer_comes_from_the_file(catalog: Catalog):
    dataset = publish(catalog, [1, 2])
    first = expected(EVENT_WINDOW, dataset, dataset.load())
    (path,) = kept(catalog)
    before = path.stat().st_mtime_ns
    again = expected(EVENT_WINDOW, dataset, dataset.load())
    assert {name: values.tolist() for name, values in again.items()} == {
        name: values.tolist() for name, values in first.items()
    }
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["garbage", "truncated", "flipped", "other"])
def test_a_damaged_file_is_computed_again(catalog: Catalog, damage: str):
    dataset = publish(catalog, [1, 2])
    data = generated(EVENT_WINDOW, {"values_per_barrier": 5}, 100, 1)
    wanted = EVENT_WINDOW.oracle(data)
    expected(EVENT_WINDOW, dataset, data)
    (path,) = kept(catalog)
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
    answer = expected(EVENT_WINDOW, dataset, data)
    assert len(wanted["sum"]) == 9
    assert answer["sum"].tolist() == wanted["sum"].tolist()
    assert path.read_bytes() == good


def test_another_oracle_version_is_kept_apart(catalog: Catalog):
    dataset = publish(catalog, [1, 2])
    data = dataset.load()
    expected(EVENT_WINDOW, dataset, data)
    expected(replace(EVENT_WINDOW, oracle_version=99), dataset, data)
    assert len(kept(catalog)) == 2
