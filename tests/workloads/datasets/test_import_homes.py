"""Loads of plugs: DEBS 2014, and tracebase's readings, as they were published or as homes."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.inputs.power_readings.schema import FIELDS
from streamlab.workloads.model import Input
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import imported, real, rows, text_file
from tests.workloads.suite.streams import agreed

DAY = int(datetime(2012, 1, 21, tzinfo=UTC).timestamp())
WEEK = "smartplug/tracebase_complete_2012-01-16_22.tar.xz"


def day_file(folder: Path, *lines: str, name: str = "Lamp/dev_A_2012.01.21.csv") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return text_file(path, *lines)


def at(second: int, *watts: object) -> str:
    time = datetime.fromtimestamp(DAY + second, UTC).strftime("%d/%m/%Y %H:%M:%S")
    return ";".join([time, *map(str, watts)])


HOUR = 1_379_880_000 // 3600
"""The first whole hour of the challenge's data."""


def debs(catalog: Catalog, folder: Path, *lines: str, **options: object) -> Dataset:
    file = text_file(folder / "sorted.csv", *lines)
    return imported(catalog, "debs-2014", file, **options)


def line(second: int, value: object, plug: object = 0, household: object = 0, house: object = 0):
    return f"1,{HOUR * 3600 + second},{value},1,{plug},{household},{house}"


def events(data: Input) -> list[list[tuple[int, ...]]]:
    """Return (second since the first hour, kind, key) and the load, if any, of each stream."""
    found = []
    for stream in data.streams:
        columns = [stream.ts - HOUR * 3600, stream.tag % 3, stream.tag // 3]
        columns += stream.payload.values()
        found.append(list(zip(*(column.tolist() for column in columns), strict=True)))
    return found


LAYOUT = {"houses": 3, "households-per-house": 2, "plugs-per-household": 5}


def test_loads_are_stored_in_milliwatts_under_the_key_of_their_plug(
    catalog: Catalog, tmp_path: Path
):
    lines = [
        line(0, "82.042", plug=4, household=1, house=2),
        line(1, "1.0005"),
        line(2, "1e-3", house=1),
        line(3599, 0, plug=1),
        line(3601, 7),
    ]
    dataset = debs(catalog, tmp_path, *lines, streams=2, settings=LAYOUT)
    assert events(dataset.load()) == [
        [(0, 0, 29, 82_042), (1, 0, 0, 1001), (3599, 0, 1, 0), (3601, 0, 0, 7000)],
        [(2, 0, 10, 1)],
        [(3599, 2, 0)],
    ]
    assert dataset.alphabet.keys == 30
    assert [stream.name for stream in dataset.streams] == ["load-0", "load-1", "slice_end"]
    assert dataset.origin["invented"] == {"house_end": 0, "slice_end": 1}


def test_loads_become_readings_of_numbered_plugs_in_watts(catalog: Catalog, tmp_path: Path):
    lines = [
        line(0, "82.5", plug=4, household=1, house=2),
        line(0, 7, house=3),
        line(1, "0.499"),
        line(1, "2147483.4", plug=2, household=1),
        line(2, 5, plug=2, household=1).replace(",5,1,", ",5,0,"),
    ]
    file = text_file(tmp_path / "sorted.csv", *lines)
    dataset = imported(catalog, "debs-2014-readings", file, streams=2, settings=LAYOUT)
    assert dataset.workload == "power_readings"
    # Plug 29 is the last of 30; readings of work and of house 3 are left out.
    names = ("plug", "device", "unit", "building", "watts")
    assert [
        [(ts - HOUR * 3600, *more) for ts, *more in each] for each in rows(dataset, *names)
    ] == [
        [(1, 0, 0, 0, 0, 0)],
        [(0, 29, 9, 5, 2, 83), (1, 7, 7, 1, 0, 2_147_483)],
    ]
    for stream in dataset.load().streams:
        assert {name: stream.payload[name].dtype for name in names} == {
            name: FIELDS[name] for name in names
        }


def test_readings_of_the_challenge_are_predicted_in_both_forms(catalog: Catalog, tmp_path: Path):
    lines = [
        line(second, second % 7 + plug, plug=plug, house=house)
        for second in range(0, 300, 2)
        for house in range(3)
        for plug in range(5)
    ]
    file = text_file(tmp_path / "sorted.csv", *lines)
    dataset = imported(catalog, "debs-2014-readings", file, streams=2, settings=LAYOUT)
    for form in ("typed", "handcrafted"):
        chosen = workload("smart_home_prediction").bound({"form": form, "table_plugs": 30})
        answer = agreed(chosen, dataset.load())
        # Plugs 0 to 4, 10 to 14 and 20 to 24 have types 0 to 4 and 10 to 14.
        assert {device for _, device, *_ in answer} == {*range(5), *range(10, 15)}


def test_work_and_houses_beyond_are_left_out(catalog: Catalog, tmp_path: Path):
    work = line(0, "1000000").replace(",1,0,0,0", ",0,0,0,0")
    dataset = debs(catalog, tmp_path, work, line(0, 1, house=3), line(1, 2), settings=LAYOUT)
    assert events(dataset.load())[0] == [(1, 0, 0, 2000)]
    assert (dataset.origin["lines"], dataset.origin["bad_rows"]) == (3, 0)


def test_only_slices_with_loads_end_and_the_last_one_when_it_is_full(
    catalog: Catalog, tmp_path: Path
):
    lines = [line(0, 1), line(5 * 3600, 1), line(6 * 3600 - 1, 1)]
    last = events(debs(catalog, tmp_path, *lines, settings=LAYOUT).load())[-1]
    assert last == [(3599, 2, 0), (6 * 3600 - 1, 2, 0)]
    short = {**LAYOUT, "slice-s": 1800}
    last = events(debs(catalog, tmp_path, *lines, settings=short).load())[-1]
    assert last == [(1799, 2, 0), (5 * 3600 + 1799, 2, 0), (6 * 3600 - 1, 2, 0)]


def test_houses_that_have_loads_end_the_slice_each_for_itself(catalog: Catalog, tmp_path: Path):
    lines = [line(0, 1, house=2), line(9, 1), line(3600, 1, house=1), line(7200, 1)]
    dataset = debs(catalog, tmp_path, *lines, settings={**LAYOUT, "ends": "house"})
    assert events(dataset.load())[-1] == [(3599, 1, 0), (3599, 1, 2), (7199, 1, 1)]
    assert dataset.streams[-1].name == "house_end"


def test_plugs_of_tracebase_are_dealt_to_homes(catalog: Catalog, tmp_path: Path):
    files = [
        day_file(
            tmp_path, at(plug, plug, 0), at(3600, 1, 1), name=f"Lamp/dev_{plug}_2012.01.21.csv"
        )
        for plug in range(3)
    ]
    layout = {"households-per-house": 1, "plugs-per-household": 2}
    dataset = imported(catalog, "tracebase-homes", *files, streams=2, settings=layout)
    one, two, ends = dataset.load().streams
    assert (one.tag // 3).tolist() == [0, 1, 0, 1]
    assert (two.tag // 3).tolist() == [2, 2]
    assert one.payload["load_mw"].tolist() == [0, 1000, 1000, 1000]
    assert ((ends.ts - DAY).tolist(), ends.tag.tolist()) == ([3599], [2])
    assert dataset.workload == "smart_home"
    answer = workload("smart_home").bound({"households_per_house": 1, "plugs_per_household": 2})
    assert answer.oracle(dataset.load())["level"].tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_a_reading_whose_milliwatts_do_not_fit_is_bad(catalog: Catalog, tmp_path: Path):
    file = day_file(tmp_path, at(0, 1, 2), at(1, 2_147_484, 3), "x", at(2, 2_147_483, 4))
    with pytest.raises(
        DatasetError, match=r"csv:2: 2147484 W is above 2147483 W: .*; 2 of 4 lines"
    ):
        imported(catalog, "tracebase-homes", file)
    dataset = imported(catalog, "tracebase-homes", file, max_bad=2)
    assert dataset.load().streams[0].payload["load_mw"].tolist() == [1000, 2_147_483_000]


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


@pytest.mark.parametrize("name", ["Lamp/readings.csv", "Lamp/dev_A_21.01.2012.csv"])
def test_a_path_that_names_no_plug_is_refused(name: str, catalog: Catalog, tmp_path: Path):
    with pytest.raises(DatasetError, match=r"named <appliance>/dev_<plug>_<yyyy.mm.dd>.csv"):
        imported(catalog, "tracebase", day_file(tmp_path, at(0, 1, 1), name=name))


@pytest.mark.full
def test_the_real_week_has_all_its_readings_and_an_end_each_hour(catalog: Catalog):
    dataset = imported(catalog, "tracebase", real(WEEK), streams=2)
    # docs/workloads.md says so.
    assert (dataset.events, dataset.origin["bad_rows"]) == (9_384_839, 0)
    streams = dataset.load().streams
    for name, count in (("plug", 51), ("device", 30)):
        assert len(np.unique(np.concatenate([stream.payload[name] for stream in streams]))) == count
    homes = imported(catalog, "tracebase-homes", real(WEEK), streams=2)
    *loads, ends = homes.load().streams
    assert (sum(map(len, loads)), homes.alphabet.keys) == (9_384_839, 51)
    assert np.all(np.diff(ends.ts) == 3600)
