from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.inputs.connections.schema import COLUMNS, COMBINATIONS, TEXTS
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.outlier_detection.quality import main, measure_quality
from tests.workloads.datasets.files import imported, text_file

# The first line of the file, as published.
HTTP = (
    "0,tcp,http,SF,181,5450,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0.00,0.00,0.00,0.00,1.00,0.00,"
    "0.00,9,9,1.00,0.00,0.11,0.00,0.00,0.00,0.00,0.00,normal."
)


def line(label: str = "normal.", **changed: object) -> str:
    cells = dict(zip((*COLUMNS, "label"), HTTP.split(","), strict=True))
    cells |= {name: str(value) for name, value in changed.items()}
    return ",".join([*(cells[name] for name in COLUMNS), label])


def test_rows_are_dealt_to_streams_with_a_check_after_each_period(catalog: Catalog, tmp_path: Path):
    rows = [
        line(),
        line() + ",more",  # bad, so without a time
        line(service="smtp", src_bytes=3, serror_rate="0.29"),
        line("smurf."),
        line(),
        line(),
    ]
    file = text_file(tmp_path / "kdd.gz", *rows)
    settings = {"check-every": 2}
    dataset = imported(catalog, "kdd-cup", file, streams=2, max_bad=1, settings=settings)
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
    assert {found.name for found in dataset.dictionaries} == {"combination", *TEXTS, "label"}
    assert measure_quality(dataset).connections.tolist() == [4, 1]


def test_the_number_of_streams_changes_no_answer(catalog: Catalog, tmp_path: Path):
    rows = [line(count=n % 5, duration=n % 3, service=f"s{n % 2}") for n in range(160)]
    rows[150] = line("odd.", flag="REJ")
    file = text_file(tmp_path / "kdd", *rows)
    subject = workload("outlier_detection")
    answers = []
    for streams in (1, 3):
        data = imported(
            catalog, "kdd-cup", file, streams=streams, settings={"check-every": 40}
        ).load()
        answer = [column.tolist() for column in answer_of(subject.program, data).values()]
        assert answer == [column.tolist() for column in subject.oracle(data).values()]
        answers.append(answer)
    assert answers[0] == answers[1]
    assert 150 in answers[0][2]


def test_precision_and_recall_of_an_imported_file_are_a_command(
    catalog: Catalog, tmp_path: Path, monkeypatch, capsys
):
    rows = [line(count=n % 5, duration=n % 3, service=f"s{n % 2}") for n in range(160)]
    rows[150] = line("odd.", flag="REJ")
    file = text_file(tmp_path / "kdd", *rows)
    dataset = imported(catalog, "kdd-cup", file, settings={"check-every": 40})
    monkeypatch.setenv("LAB_DATA", str(catalog.root))
    assert main([dataset.id[:16]]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "precision 1.0000, recall 1.0000",
        "normal: 0 of 159 found",
        "odd: 1 of 1 found",
    ]
    assert main([]) == main(["0" * 16]) == 2
    errors = capsys.readouterr().err
    assert "usage: python -m streamlab.workloads.suite.outlier_detection.quality DATASET" in errors
    assert "0" * 16 in errors


def test_more_combinations_than_a_model_has_room_for_are_refused(catalog: Catalog, tmp_path: Path):
    file = text_file(tmp_path / "kdd", *(line(service=f"s{n}") for n in range(COMBINATIONS + 1)))
    with pytest.raises(DatasetError, match=r"257 combinations of protocol_type, .* supports 256"):
        imported(catalog, "kdd-cup", file)
