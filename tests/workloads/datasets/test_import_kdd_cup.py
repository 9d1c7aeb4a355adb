from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.importer import import_files
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.inputs.connections.schema import COLUMNS, COMBINATIONS, TEXTS
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.outlier_detection.quality import main, measure_quality
from tests.workloads.datasets.files import rows_of, text_file

KIND = import_kind("kdd-cup")
# The first line of the file, as published.
HTTP = (
    "0,tcp,http,SF,181,5450,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0.00,0.00,0.00,0.00,1.00,0.00,"
    "0.00,9,9,1.00,0.00,0.11,0.00,0.00,0.00,0.00,0.00,normal."
)


def line(label: str = "normal.", **changed: object) -> str:
    cells = dict(zip((*COLUMNS, "label"), HTTP.split(","), strict=True))
    cells |= {name: str(value) for name, value in changed.items()}
    return ",".join([*(cells[name] for name in COLUMNS), label])


def imported(catalog: Catalog, file: Path, **options: object) -> Dataset:
    return import_files(KIND, ImportOptions(files=(file,), **options), catalog=catalog)


def test_rows_are_dealt_to_streams_with_a_check_after_each_period(catalog: Catalog, tmp_path: Path):
    rows = [
        line(),
        line(service="smtp", src_bytes=3, serror_rate="0.29"),
        line("smurf."),
        line(),
        line(),
    ]
    file = text_file(tmp_path / "kdd.gz", *rows)
    dataset = imported(catalog, file, streams=2, settings={"check-every": 2})
    first, second, checks = dataset.load().streams
    assert first.payload["row"].tolist() == first.ts.tolist() == [0, 2, 4]
    assert second.ts.tolist() == [1, 3]
    assert checks.ts.tolist() == [1, 3, 4]
    assert second.payload["combination"].tolist() == [1, 0]
    assert second.payload["service"].tolist() == [1, 0]
    assert second.payload["src_bytes"].tolist()[0] == 256
    assert second.payload["serror_rate"].tolist() == [29, 0]
    assert first.payload["label"].tolist() == [0, 1, 0]
    assert dataset.origin["invented"] == {"check": 3}
    assert measure_quality(dataset).present.tolist() == [4, 1]


def test_the_number_of_streams_changes_no_answer(catalog: Catalog, tmp_path: Path):
    rows = [line(count=n % 5, duration=n % 3, service=f"s{n % 2}") for n in range(160)]
    rows[150] = line("odd.", flag="REJ")
    file = text_file(tmp_path / "kdd", *rows)
    found = workload("outlier_detection")
    answers = []
    for streams in (1, 3):
        data = imported(catalog, file, streams=streams, settings={"check-every": 40}).load()
        answer = [column.tolist() for column in answer_of(found.program, data).values()]
        assert answer == [column.tolist() for column in found.oracle(data).values()]
        answers.append(answer)
    assert answers[0] == answers[1]
    assert 150 in answers[0][2]


def test_precision_and_recall_of_an_imported_file_are_a_command(
    catalog: Catalog, tmp_path: Path, monkeypatch, capsys
):
    rows = [line(count=n % 5, duration=n % 3, service=f"s{n % 2}") for n in range(160)]
    rows[150] = line("odd.", flag="REJ")
    file = text_file(tmp_path / "kdd", *rows)
    dataset = imported(catalog, file, settings={"check-every": 40})
    monkeypatch.setenv("LAB_DATA", str(catalog.root))
    assert main([dataset.id[:16]]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "precision 1.0000, recall 1.0000",
        "normal: 0 of 159 found",
        "odd: 1 of 1 found",
    ]
    assert main([]) == main(["0" * 16]) == 2
    said = capsys.readouterr().err
    assert "usage: python -m streamlab.workloads.suite.outlier_detection.quality DATASET" in said
    assert "0" * 16 in said


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"duration": "-1"}, "column duration is '-1', not a whole number from 0"),
        ({"land": "2"}, "column land is 2, above 1"),
        ({"count": "40000"}, "column count is 40000, above 32767"),
        ({"serror_rate": "1.01"}, "column serror_rate is 1.01, not from 0 to 1"),
        ({"serror_rate": "nan"}, "column serror_rate is nan, not from 0 to 1"),
        ({"serror_rate": "x"}, "column serror_rate is 'x', not a number from 0 to 1"),
        ({"service": ""}, "column service is '', not a word without /"),
        ({"label": "."}, "column label is empty"),
    ],
)
def test_a_bad_column_is_told(changed: dict[str, str], message: str, tmp_path: Path):
    found, rows = rows_of("kdd-cup", text_file(tmp_path / "kdd", line(**changed)))
    assert not rows
    assert message in found.bad_lines[0]


def test_bad_lines_are_counted_and_left_out_on_demand(catalog: Catalog, tmp_path: Path):
    file = text_file(tmp_path / "kdd", line(), line() + ",more", line())
    with pytest.raises(DatasetError, match="kdd:2: 43 columns instead of 42"):
        imported(catalog, file)
    dataset = imported(catalog, file, max_bad=1)
    assert dataset.origin["bad_rows"] == 1
    assert dataset.load().streams[0].ts.tolist() == [0, 1]  # of rows, not lines


def test_more_combinations_than_a_model_has_room_for_are_refused(catalog: Catalog, tmp_path: Path):
    file = text_file(tmp_path / "kdd", *(line(service=f"s{n}") for n in range(COMBINATIONS + 1)))
    with pytest.raises(DatasetError, match=r"257 combinations of protocol_type, .* room"):
        imported(catalog, file)


def test_checks_need_a_period(catalog: Catalog, tmp_path: Path):
    with pytest.raises(DatasetError, match="--check-every is 0; give 1 or more"):
        imported(catalog, text_file(tmp_path / "kdd", line()), settings={"check-every": 0})


def test_words_are_in_dictionaries(catalog: Catalog, tmp_path: Path):
    dataset = imported(catalog, text_file(tmp_path / "kdd", line(), line("smurf.")))
    assert {found.name for found in dataset.dictionaries} == {"combination", *TEXTS, "label"}
