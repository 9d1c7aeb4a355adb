from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.inputs.linear_road.schema import FIELDS
from streamlab.workloads.model import Input
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import expected_answer, imported, real, rows, rows_of, text_file
from tests.workloads.suite.streams import generated

HEADER = "Type,Time,VID,Spd,XWay,Lane,Dir,Seg,Pos,QID"
WORKLOADS = [workload(name) for name in ("linear_road_pos_rep", "linear_road_new_seg")]


def records(data: Input) -> list[list[tuple[int, ...]]]:
    return rows(data, *(FIELDS.names or ()))


class TestImport:
    def test_generated_records_come_back_from_a_file_in_both_forms(
        self, catalog: Catalog, tmp_path: Path
    ):
        data = generated(WORKLOADS[0], {"vehicles": 60, "streams": 2}, 4000, seed=1)
        expected = records(data)
        in_order = sorted(row for stream in expected for row in stream)
        commas = [",".join(map(str, (kind, ts // 1000, *more, -1))) for ts, kind, *more in in_order]
        file = text_file(tmp_path / "road.csv.gz", HEADER, *commas)
        dataset = imported(catalog, "linear-road", file, streams=2)
        assert dataset.workload == "linear_road"
        assert [stream.name for stream in dataset.streams] == ["report-0", "report-1"]
        assert [sorted(stream) for stream in records(dataset.load())] == [
            sorted(stream) for stream in expected
        ]
        reports = [row for row in in_order if row[1] == 0]
        blanks = [
            f"{ts // 1000}\t\t{vid} {speed}  {xway}\t{lane} {way} {pos} "
            for ts, _, vid, speed, xway, lane, way, _, pos in reports
        ]
        dataset = imported(catalog, "linear-road", text_file(tmp_path / "road.txt", *blanks))
        assert records(dataset.load()) == [reports]

    def test_imported_records_are_answered_as_the_oracle_says(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = real("linearroad/lrb-data-small-ht.txt.xz")
        dataset = imported(catalog, "linear-road", file, streams=3)
        data = dataset.load()
        assert dataset.events == 16_384
        forwarded = {of.name: len(expected_answer(of, data)["ts"]) for of in WORKLOADS}
        # docs/workloads.md says so.
        assert forwarded == {"linear_road_pos_rep": 16_384, "linear_road_new_seg": 5_032}


def parsed(folder: Path, *lines: str) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return the rows of lines, and why others are none."""
    found, rows = rows_of("linear-road", text_file(folder / "road", *lines))
    assert found.lines == len(lines)
    return rows, found.bad_lines


def test_both_forms_are_read_even_from_one_file(tmp_path: Path):
    rows, bad = parsed(
        tmp_path,
        "31   107\t41 0 1 0 54978",
        "0,31,107,41,0,1,0,10,54978,-1,-1",
        "0, 31, 107, 41, 0, 1, 0, 10, 54978",
    )
    assert rows == [(31_000, 0, 107, 41, 0, 1, 0, 10, 54_978)] * 3
    assert not bad


def test_requests_need_no_position(tmp_path: Path):
    rows, bad = parsed(tmp_path, "2,4,9,-1,-1,-1,-1,-1,-1,17", "4,4,9,,3,,,,,17")
    assert rows == [(4000, 2, 9, -1, -1, -1, -1, -1, -1), (4000, 4, 9, -1, 3, -1, -1, -1, -1)]
    assert not bad


@pytest.mark.parametrize("header", [HEADER, HEADER.lower()])
def test_a_header_is_skipped_in_the_first_line_only(header: str, tmp_path: Path):
    good = "0,31,107,41,0,1,0,10,54978"
    assert len(parsed(tmp_path, header, good)[0]) == 1
    rows, (bad,) = parsed(tmp_path, good, header)
    assert len(rows) == 1
    assert f"road:2: column Type is '{header[:4]}', not a whole number from 0" in bad
