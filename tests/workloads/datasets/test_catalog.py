import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.catalog import Catalog, damages
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.stream_file import write_stream
from tests.workloads.datasets.small_datasets import DTYPES, KINDS, RECIPE, publish, stage


def test_a_published_dataset_is_found_by_recipe_and_by_prefix(catalog: Catalog):
    assert catalog.find(RECIPE) is None
    made = publish(catalog, [4, 5, 6])
    assert catalog.find(RECIPE) == made
    assert catalog.get(made.id[:6]) == made
    assert catalog.get(made.id) == made
    assert made.load().streams[0].payload["value"].tolist() == [4, 5, 6]


def test_columns_are_contiguous_and_aligned(catalog: Catalog):
    stream = publish(catalog, list(range(1000))).load().streams[0]
    for column in (stream.ts, stream.payload["value"]):
        assert column.flags.c_contiguous
        assert column.ctypes.data % 64 == 0


def test_equal_content_has_one_id_whatever_its_source(catalog: Catalog):
    one, two = publish(catalog, [1, 2], source="a"), publish(catalog, [1, 2], source="b")
    assert one == two
    assert len(catalog.list().datasets) == 1
    assert publish(catalog, [1, 3]).id != one.id


def test_two_that_make_the_same_dataset_at_once_both_get_it(catalog: Catalog):
    with catalog.staging() as first, catalog.staging() as second:
        made = []
        for staging in (first, second):
            folder = staging / "dataset"
            folder.mkdir()
            made.append((folder, stage(folder, [1, 2, 3])))
        one, two = (catalog.publish(folder, content, RECIPE) for folder, content in made)
    assert one == two == catalog.find(RECIPE)
    assert {path.name for path in catalog.root.iterdir()} == {one.id[:16], "recipes"}


def test_an_id_that_matches_nothing_or_too_much_is_an_error(catalog: Catalog):
    made = publish(catalog, [1])
    shutil.copytree(catalog.folder(made.id), catalog.root / (made.id[:8] + "00000000"))
    with pytest.raises(DatasetError, match="no dataset 'ffffff'"):
        catalog.get("ffffff")
    with pytest.raises(DatasetError, match="ambiguous"):
        catalog.get(made.id[:8])
    with pytest.raises(DatasetError, match="too short"):
        catalog.get("")


@pytest.mark.parametrize("damage", ["truncate", "remove", "json", "field", "record"])
def test_list_reports_a_damaged_entry_and_it_is_made_again(catalog: Catalog, damage: str):
    made = publish(catalog, [7, 8])
    folder = catalog.folder(made.id)
    record = folder / manifest.NAME
    if damage == "truncate":
        os.truncate(folder / "value-0.parquet", 10)
    elif damage == "remove":
        (folder / "value-0.parquet").unlink()
    elif damage == "json":
        record.write_text('{"format": 1, ')
    elif damage == "field":
        record.write_text(json.dumps({"format": 1, "id": made.id}))
    else:
        record.unlink()
    listing = catalog.list()
    assert listing.datasets == ()
    assert str(folder) in listing.damaged[0]
    assert catalog.find(RECIPE) is None
    with pytest.raises(DatasetError, match="build or import it again"):
        catalog.get(made.id)
    assert publish(catalog, [7, 8]) == made
    assert catalog.find(RECIPE) == made


def test_another_dataset_in_its_folder_is_not_taken_for_it(catalog: Catalog):
    made, other = publish(catalog, [7, 8]), stage_other(catalog)
    shutil.rmtree(catalog.folder(made.id))
    shutil.copytree(catalog.folder(other.id), catalog.folder(made.id))
    assert catalog.find(RECIPE) is None
    listing = catalog.list()
    assert [dataset.id for dataset in listing.datasets] == [other.id]
    (told,) = listing.damaged
    assert str(catalog.folder(made.id)) in told and f"another dataset, {other.id}" in told
    assert list(damages(catalog.folder(made.id))) == [told]
    assert publish(catalog, [7, 8]).id == made.id
    assert catalog.find(RECIPE) == made


def stage_other(catalog: Catalog) -> Dataset:
    """Put a dataset that no recipe made into a catalogue."""
    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        return catalog.publish(folder, stage(folder, [1, 2, 3]))


def test_nothing_is_left_when_the_work_fails(catalog: Catalog):
    with pytest.raises(KeyboardInterrupt), catalog.staging() as staging:
        (staging / "dataset").mkdir()
        raise KeyboardInterrupt
    assert list(catalog.root.iterdir()) == []


def test_leftovers_of_a_killed_process_are_removed_by_the_next(catalog: Catalog):
    with catalog.staging() as staging:
        gone = 2**22 + 1  # above the largest process id of Linux
        dead = staging.with_name(staging.name.replace(f"-{os.getpid()}-", f"-{gone}-"))
        dead.mkdir()
        with catalog.staging():
            assert not dead.exists()
            assert staging.exists()


def test_files_of_another_format_are_refused_with_the_format_seen(catalog: Catalog):
    made = publish(catalog, [1])
    path = catalog.folder(made.id) / manifest.NAME
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(DatasetError, match="has format 99, but this version reads 1"):
        catalog.get(made.id)


def test_a_catalogue_may_be_moved(catalog: Catalog, tmp_path: Path):
    made = publish(catalog, [1, 2])
    catalog.root.rename(tmp_path / "elsewhere")
    found = Catalog(root=tmp_path / "elsewhere").get(made.id)
    assert found.load().streams[0].ts.tolist() == [0, 1]


def test_a_catalogue_that_cannot_be_written_is_an_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(DatasetError, match="LAB_DATA"),
        Catalog(root=tmp_path / "file" / "data").staging(),
    ):
        pass


def test_blocks_out_of_order_are_refused(tmp_path: Path):
    blocks = [
        {"ts": np.array([1, 5]), "value": np.array([0, 0])},
        {"ts": np.array([4]), "value": np.array([0])},
    ]
    with pytest.raises(DatasetError, match="row 2 has timestamp 4"):
        write_stream(tmp_path, "value-0", (0,), DTYPES, iter(blocks), KINDS)
