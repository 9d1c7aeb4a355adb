import tarfile
from pathlib import Path

import numpy as np
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.text import decoding
from streamlab.workloads.inputs.power_readings.schema import FIELDS
from tests.workloads.datasets.files import imported, real, rows
from tests.workloads.datasets.tracebase_files import DAY, WEEK, at, day_file


def test_days_of_several_plugs_are_merged_by_time(catalog: Catalog, tmp_path: Path):
    files = [
        day_file(tmp_path, at(1, 5, 6), at(3, 7, 8), name="Lamp/dev_B_2012.01.21.csv"),
        day_file(tmp_path, at(0, 1, 2), at(2, 3, 4), name="Lamp/dev_A_2012.01.21.csv"),
        day_file(tmp_path, at(-2, 9, 9), name="Lamp/dev_B_2012.01.20.csv"),
        day_file(tmp_path, at(1, 2000, 1900), name="WaterKettle/device_C_2012.01.21.csv"),
        day_file(tmp_path, at(2, 0, 0), name="TV-LCD/_D_2012.01.21.csv"),
    ]
    dataset = imported(catalog, "tracebase", *files)
    found = [(ts - DAY, *more) for ts, *more in rows(dataset, "plug", "device", "watts")[0]]
    assert found == [
        (-2, 0, 0, 9),
        (0, 1, 0, 1),
        (1, 0, 0, 5),
        (1, 2, 1, 2000),
        (2, 1, 0, 3),
        (2, 3, 2, 0),
        (3, 0, 0, 7),
    ]
    assert dataset.workload == "power_readings"
    assert dataset.origin["rows_out_of_order"] == 2
    assert dataset.origin["settings"] == {"mean": "1s"}
    assert rows(imported(catalog, "tracebase", *files, settings={"mean": "8s"}), "watts")[0][0] == (
        DAY - 2,
        9,
    )


def test_a_plug_is_in_one_stream_and_its_number_says_where_it_is(catalog: Catalog, tmp_path: Path):
    files = [
        day_file(tmp_path, at(plug, 1, 1), at(50, 1, 1), name=f"Lamp/dev_{plug}_2012.01.21.csv")
        for plug in range(33)
    ]
    dataset = imported(catalog, "tracebase", *files, streams=3)
    assert [stream.name for stream in dataset.streams] == ["reading-0", "reading-1", "reading-2"]
    for index, stream in enumerate(dataset.load().streams):
        assert {name: values.dtype for name, values in stream.payload.items()} == {
            name: FIELDS[name] for name in FIELDS.names or ()
        }
        assert stream.payload["plug"].tolist() == 2 * list(range(index, 33, 3))
        assert stream.payload["unit"].tolist() == [p // 4 for p in range(index, 33, 3)] * 2
        assert stream.payload["building"].tolist() == [p // 16 for p in range(index, 33, 3)] * 2


def test_members_of_an_archive_and_line_ends_of_windows_are_read(catalog: Catalog, tmp_path: Path):
    file = day_file(tmp_path, f"{at(0, 1, 2)}\r", f"{at(1, 3, 4)}\r")
    archive = tmp_path / "week.tar.xz"
    with tarfile.open(archive, "w:xz") as made:
        made.add(file, "complete/Lamp/dev_A_2012.01.21.csv")
    assert rows(imported(catalog, "tracebase", archive), "watts") == [[(DAY, 1), (DAY + 1, 3)]]


def test_a_bad_line_is_told_with_its_file_and_can_be_left_out(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    bad = ["21/01/2012 00:00:00;1", at(0, "6a", 1), "32/01/2012 00:00:00;1;1", at(9, 1, 1, 1)]
    lines = [at(0, 1, 2), *bad, at(1, 3, 4)]
    file = day_file(tmp_path, *lines)
    with pytest.raises(DatasetError, match=r"dev_A_2012\.01\.21\.csv:2: 2 columns instead of 3.*"):
        imported(catalog, "tracebase", file)
    for size in (1, 40, 1 << 20):
        monkeypatch.setattr(decoding, "BLOCK_BYTES", size)
        monkeypatch.setattr(decoding, "_PIECE_BYTES", size)
        dataset = imported(catalog, "tracebase", file, max_bad=4)
        assert rows(dataset, "watts") == [[(DAY, 1), (DAY + 1, 3)]]
        told = [line.removeprefix(f"{file}:") for line in dataset.origin["bad_lines"]]
        assert [line.split(":")[0] for line in told] == ["2", "3", "4", "5"]
        assert told[1].startswith("3: column 1s is '6a', not a whole number from 0")
        assert told[2].startswith("4: '32/01/2012 00:00:00' is not of the form %d/%m/%Y %H:%M:%S: ")
        assert (dataset.origin["lines"], dataset.origin["bad_rows"]) == (6, 4)


@pytest.mark.parametrize("name", ["Lamp/readings.csv", "Lamp/dev_A_21.01.2012.csv"])
def test_a_path_that_names_no_plug_is_refused(name: str, catalog: Catalog, tmp_path: Path):
    with pytest.raises(DatasetError, match=r"called <appliance>/dev_<plug>_<yyyy.mm.dd>.csv"):
        imported(catalog, "tracebase", day_file(tmp_path, at(0, 1, 1), name=name))


@pytest.mark.full
def test_the_real_week_is_read_whole(catalog: Catalog):
    dataset = imported(catalog, "tracebase", real(WEEK), streams=2)
    # docs/data.md says so.
    assert (dataset.events, dataset.origin["bad_rows"]) == (9_384_839, 0)
    data = dataset.load()
    devices = np.concatenate([stream.payload["device"] for stream in data.streams])
    plugs = np.concatenate([stream.payload["plug"] for stream in data.streams])
    assert (len(np.unique(plugs)), len(np.unique(devices))) == (51, 30)
