from pathlib import Path

import numpy as np
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import Input
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import imported, real, text_file
from tests.workloads.datasets.tracebase_files import DAY, WEEK, at, day_file

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


def test_loads_are_kept_in_milliwatts_under_the_key_of_their_plug(catalog: Catalog, tmp_path: Path):
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
    with pytest.raises(DatasetError, match=r"csv:2: 2147484 W is above 2147483: .*; 2 of 4 lines"):
        imported(catalog, "tracebase-homes", file)
    dataset = imported(catalog, "tracebase-homes", file, max_bad=2)
    assert dataset.load().streams[0].payload["load_mw"].tolist() == [1000, 2_147_483_000]


@pytest.mark.full
def test_the_real_week_has_all_its_readings_and_an_end_each_hour(catalog: Catalog):
    dataset = imported(catalog, "tracebase-homes", real(WEEK), streams=2)
    *loads, ends = dataset.load().streams
    assert (sum(map(len, loads)), dataset.origin["bad_rows"]) == (9_384_839, 0)  # docs/data.md
    assert dataset.alphabet.keys == 51
    assert np.all(np.diff(ends.ts) == 3600)
