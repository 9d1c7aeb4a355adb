"""The command `lab project`: what it prints and writes, and what it refuses."""

import csv
import json
import math

import pytest

from lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from lab.cli.project import Numbers
from lab.project.validation import Measured, Point, worst_error

WORDS = ["project", "event_window", "--grow", "streams", "--events", "20000", "--repetitions", "1"]
DAYS = ["--param", "values_per_barrier=1000"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure once for all tests here: a process for costs, and the runs to compare with."""
    folder = tmp_path_factory.mktemp("projected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_DATA", str(folder / "data"))
        patch.setenv("LAB_RUNS", str(folder / "runs"))
        patch.setenv("XDG_DATA_HOME", str(folder / "share"))
        assert call([*WORDS, *DAYS, "--cores", "1..128", "--out", str(folder)]) == EXIT_OK
        yield folder


def predictions(folder):
    text = (folder / "projection.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.full
def test_files_have_predictions_apart_from_measurements(measured):
    rows = predictions(measured)
    assert {row["kind"] for row in rows} == {"predicted"}
    assert [int(row["cores"]) for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert all(float(row["rate_eps"]) > 0 for row in rows)
    assert float(rows[0]["over_one_worker"]) == pytest.approx(1)
    data = json.loads((measured / "projection.json").read_text(encoding="utf-8"))
    points = data["validation"]
    assert {point["measured"]["workers"] for point in points} >= {1, 2, 4, 8}
    assert any(point["oversubscribed"] for point in points)
    errors = [abs(point["predicted_eps"] / point["measured_eps"] - 1) for point in points]
    assert data["worst_error"] == pytest.approx(max(errors))
    assert data["measured"]["calibration"]["costs"]["update_ns"] > 0
    assert (measured / "projection.png").stat().st_size > 0
    svg = (measured / "projection.svg").read_text(encoding="utf-8")
    assert "predicted, not measured" in svg and "stroke-dasharray" in svg


def test_nothing_is_stored_as_a_run(measured):
    assert not (measured / "runs").exists()


def test_what_was_measured_is_kept_and_says_the_same_again(measured, tmp_path, capsys):
    assert call([*WORDS, *DAYS, "--cores", "1..128", "--out", str(tmp_path)]) == EXIT_OK
    said = capsys.readouterr()
    assert said.err == ""
    for name in ("projection.csv", "projection.svg"):
        assert (tmp_path / name).read_bytes() == (measured / name).read_bytes()
    assert "PREDICTED, not measured" in said.out
    assert "validation: worst error" in said.out
    assert "ignored: caches" in said.out


def test_nodes_are_predicted_by_a_network(measured, tmp_path):
    words = [*WORDS, *DAYS, "--cores", "4", "--nodes", "1,2..64"]
    assert call([*words, "--out", str(tmp_path)]) == EXIT_OK
    rows = predictions(tmp_path)
    assert [int(row["machines"]) for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    sent = [float(row["sent_bytes_per_s"]) for row in rows]
    assert sent[0] == 0 and all(sent[1:])
    slow = tmp_path / "slow"
    assert call([*words, "--network-us", "10000", "--out", str(slow)]) == EXIT_OK
    later = predictions(slow)
    assert float(later[1]["rate_eps"]) < float(rows[1]["rate_eps"])
    assert later[0]["rate_eps"] == rows[0]["rate_eps"]


def test_memory_bounds_what_is_predicted(measured, tmp_path, capsys):
    words = [*WORDS, *DAYS, "--cores", "128", "--memory-gb-s", "0.1", "--out", str(tmp_path)]
    assert call(words) == EXIT_OK
    [row] = predictions(tmp_path)
    assert float(row["memory_bytes_per_s"]) <= 0.1e9 * 1.01


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wordcount", "--cores", "4"], "wordcount is a query of operators O+"),
        (["event_window", "--cores", "0"], "'0' is not a list of numbers"),
        (["event_window", "--cores", "4..x"], "'4..x' is not a list of numbers"),
        (["event_window", "--cores", "8..2"], "ends at 2, below 8"),
        (["smart_home", "--cores", "4"], "events across keys (house, homes)"),
        (["event_window", "--cores", "4", "--out", "/dev/null/x"], "/dev/null: the projection"),
        (["event_window", "--cores", "4", "--grow", "nope"], "no parameter nope"),
        (["event_window", "--cores", "1,2", "--nodes", "1,2"], "give one number of cores"),
        (["event_window", "--cores", "99", "--nodes", "99"], "at most 4096 are simulated"),
        (["event_window", "--cores", "4", "--optimizer", "cost"], "chooses the number of workers"),
        (["event_window", "--cores", "4", "--optimizer", "nix"], "no optimizer 'nix'"),
        (["event_window", "--cores", "4", "--param", "a"], "not of the form name=value"),
        (["event_window", "--cores", "4", "--dataset", "0123456789"], "0123456789"),
        (
            ["event_window", "--cores", "4", "--dataset", "0123456789", "--grow", "streams"],
            "--grow belongs to generated input",
        ),
    ],
)
def test_what_cannot_be_projected_is_refused_before_anything_is_measured(
    words, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    assert call(["project", *words]) == EXIT_USER_ERROR
    error = capsys.readouterr().err
    assert said in " ".join(error.split())
    assert "process 1" not in error


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("36", [36]),
        ("4,1,4", [1, 4]),
        ("1..128", [1, 2, 4, 8, 16, 32, 64, 128]),
        ("1,2,4,...,128", [1, 2, 4, 8, 16, 32, 64, 128]),
        ("3..20", [3, 6, 12, 20]),
        ("2..64", [2, 4, 8, 16, 32, 64]),
    ],
)
def test_numbers_of_cores_are_lists_or_doublings(text, numbers):
    assert Numbers().convert(text, None, None) == numbers


def test_the_worst_error_counts_without_its_sign():
    def point(predicted: float) -> Point:
        measured = Measured(workers=1, rates_eps=(90.0, 100.0, 300.0), loadavg=0)
        return Point(
            measured=measured,
            predicted_eps=predicted,
            steady_eps=predicted,
            oversubscribed=False,
        )

    assert worst_error([point(110), point(80)]) == pytest.approx(0.2)
    assert math.isnan(worst_error([]))
