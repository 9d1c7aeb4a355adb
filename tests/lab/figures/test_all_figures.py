"""`lab figure --all` makes what its folder lacks, and the gallery shows it."""

import contextlib
import io
import json
from dataclasses import replace

import msgspec
import pytest
from pyarrow import csv

from streamlab.lab.cli import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.gallery import write_page
from streamlab.lab.figures.registry import PAPERS
from streamlab.lab.figures.stored_figures import read_failure, read_figure
from streamlab.workloads.datasets.catalog import Catalog
from tests.lab.figures import toy
from tests.lab.runner.published import publish


def raising(error):
    def outcome(options, runs):
        raise error

    return outcome


SMALL = replace(toy.FIGURES[0], stages=toy.STAGES[:1])
OTHER = replace(SMALL, id="toy:2", stages=(replace(toy.STAGES[0], name="other"),))
IMPOSSIBLE = toy.FIGURES[2]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The folders of figures and runs, with a small input; only the toy's figures are registered."""
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("all")
        patch.setenv("LAB_DATA", str(root / "catalogue"))
        patch.setenv("LAB_RUNS", str(root / "runs"))
        for paper in [*PAPERS]:
            patch.delitem(PAPERS, paper)
        patch.setitem(PAPERS, "toy", "tests.lab.figures.toy")
        patch.setattr(toy, "dataset", publish(Catalog.default()).id)
        yield root / "out", root / "runs"


def make_all(monkeypatch, out, *registered, more=()):
    """Call the command; return its exit code and what it printed."""
    monkeypatch.setattr(toy, "FIGURES", registered)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        options = ("--quick", "--workers", "1", "--format", "svg")
        code = call(["figure", "--all", *options, "--out", str(out), *more])
    return code, said.getvalue()


@pytest.fixture(scope="module")
def resumed(places):
    """What an interrupted call, and the same call after it, returned and wrote."""
    out, runs = places
    with pytest.MonkeyPatch.context() as patch:
        interrupted = replace(OTHER, outcome=raising(KeyboardInterrupt()))
        first = make_all(patch, out, SMALL, interrupted)
        record = (out / "toy-1.json").read_bytes()
        between = {path.name for path in out.iterdir()}
        second = make_all(patch, out, SMALL, OTHER)
        assert (out / "toy-1.json").read_bytes() == record
    return first, between, second, sorted(path.name.split("-", 1)[1] for path in runs.iterdir())


def test_an_interruption_leaves_the_finished_figures_and_a_table(resumed):
    (code, said), between, _, _ = resumed
    assert code == EXIT_INTERRUPTED
    assert between == {"toy-1.svg", "toy-1.csv", "toy-1.json"}
    assert "figure 1 of 2: toy:1" in said
    assert "figure 2 of 2: toy:2, about " in said
    assert said.splitlines()[-2].startswith("toy:1  one trial: drawn, not judged (quick lengths, ")
    assert said.splitlines()[-1] == "toy:2  interrupted"


def test_a_second_call_makes_only_the_figures_that_are_missing(resumed):
    _, _, (code, said), runs = resumed
    assert code == EXIT_OK
    assert "toy:1  one trial" in said
    assert "figure 2 of 2: toy:2" in said
    assert "figure 1 of 2" not in said
    assert runs == ["toy-1-rates", "toy-2-other", "toy-2-other"]


def test_figures_with_other_options_are_made_again(resumed, places, monkeypatch):
    code, said = make_all(monkeypatch, places[0], SMALL, more=("--repetitions", "2", "--dry-run"))
    assert code == EXIT_OK
    assert "event_window@small/multicore/dgs/w1/b4096  x2" in said


def test_a_figure_with_the_stages_of_a_stored_one_takes_its_runs(resumed, places, monkeypatch):
    out, runs = places
    before = sorted(runs.iterdir())
    assert make_all(monkeypatch, out, SMALL, replace(SMALL, id="toy:5"))[0] == EXIT_OK
    assert sorted(runs.iterdir()) == before
    assert (out / "toy-5.svg").is_file()


def test_figures_that_fail_are_recorded_and_do_not_end_the_others(resumed, places, monkeypatch):
    out, _ = places
    broken = replace(SMALL, id="toy:6", outcome=raising(RuntimeError("a bug")))
    refused = replace(SMALL, id="toy:7", outcome=raising(FigureError("no such rate")))
    last = replace(SMALL, id="toy:8")
    code, said = make_all(monkeypatch, out, SMALL, broken, refused, IMPOSSIBLE, last)
    assert code == max(EXIT_BUG, EXIT_USER_ERROR)
    assert (out / "toy-8.svg").is_file()
    reasons = {figure.id: read_failure(figure, out).reason for figure in (broken, refused)}
    assert reasons == {"toy:6": "failed: RuntimeError('a bug')", "toy:7": "failed: no such rate"}
    assert all(f"{figure}  {reason}" in said for figure, reason in reasons.items())
    assert "missing workload no_such_workload" in read_failure(IMPOSSIBLE, out).reason
    mended = replace(broken, outcome=SMALL.outcome)
    assert make_all(monkeypatch, out, SMALL, mended)[0] == EXIT_OK
    assert read_failure(mended, out) is None


def test_a_missing_engine_alone_is_no_failure_of_the_command(places, monkeypatch):
    code, said = make_all(monkeypatch, places[0], IMPOSSIBLE)
    assert code == EXIT_OK
    assert "toy:3  cannot be made here: missing workload no_such_workload" in said


def test_a_record_reads_back_as_it_was_written(resumed, places):
    out, _ = places
    record = read_figure(SMALL, out)
    written = json.loads((out / "toy-1.json").read_text())
    read = json.loads(msgspec.json.encode(record))
    assert read == {key: written[key] for key in read} | {
        "runs": [{key: run[key] for key in ("run", "commit", "dirty")} for run in written["runs"]]
    }
    assert record.command == "lab figure toy:1 --quick --workers 1"
    assert record.trials == {"ok": 2}
    (claim,) = record.claims
    assert claim.text == "compiled is not far slower"


def test_the_trials_are_stored_as_csv_without_empty_columns(resumed, places):
    table = csv.read_csv(places[0] / "toy-1.csv")
    assert table.num_rows == 2
    assert {"cell", "status", "throughput_eps"} <= set(table.column_names)
    assert all(column.null_count < 2 for column in table.columns)


def test_a_damaged_record_is_an_error_that_names_the_file(tmp_path):
    (tmp_path / "toy-1.json").write_text('{"figure": 1}')
    with pytest.raises(
        FigureError, match=r"toy-1\.json is not a record of this version of the lab"
    ):
        read_figure(SMALL, tmp_path)


@pytest.mark.parametrize("arguments", [[], ["--all", "stretch:6"], ["--all", "--run", "latest"]])
def test_a_figure_and_all_exclude_each_other(arguments, capsys):
    assert call(["figure", *arguments]) == EXIT_USER_ERROR
    assert "--all" in capsys.readouterr().err


def test_a_card_shows_drawing_claims_machine_command_and_data(resumed, places):
    page = "\n".join(write_page((SMALL, OTHER, replace(SMALL, id="toy:9")), places[0]))
    assert "2 of 3 are made" in page
    for part in (
        'src="out/toy-1.svg" alt="a toy: rates. No verdict: each cell has one trial',
        "quick lengths, 1 repetition, ",
        "compiled is not far slower",
        "<code>lab figure toy:1 --quick --workers 1</code>",
        'href="out/toy-1.csv"',
        "<dd>2 ok</dd>",
    ):
        assert part in page
