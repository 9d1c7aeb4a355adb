"""Options of figures, their stamp in a matrix, and matrices written from Python."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.options import Options, parse_stamp, stamp
from streamlab.lab.figures.registry import find
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.workloads.datasets.catalog import Catalog
from tests.lab.runner.published import publish


@pytest.mark.parametrize(
    ("cores", "instances"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))]
)
def test_sweeps_stop_at_the_cores(cores, instances):
    assert Options(cores=cores).instances == Options(cores=cores).within == instances


def test_more_workers_than_cores_run_on_request_and_are_marked():
    options = Options(cores=2, workers=(4, 1, 2, 2))
    assert options.instances == (1, 2, 4)
    assert options.within == (1, 2)


def test_quick_is_shorter_unless_something_was_chosen():
    quick = Options(cores=2, quick=True)
    assert (quick.scaled(1.0, 0.1), quick.repeated(5)) == (0.1, 1)
    chosen = Options(cores=2, quick=True, scale=0.5, repetitions=3)
    assert (chosen.scaled(1.0, 0.1), chosen.repeated(5)) == (0.5, 3)


_OPTIONS = st.builds(
    Options,
    cores=st.integers(1, 99),
    workers=st.none() | st.lists(st.integers(1, 99), min_size=1).map(tuple),
    repetitions=st.none() | st.integers(1, 9),
    scale=st.none() | st.floats(1e-6, 10),
    dataset=st.none() | st.text("0123456789abcdef", min_size=1),
    quick=st.booleans(),
)


@given(_OPTIONS)
def test_a_run_knows_its_program_and_input(options):
    text = stamp("stretch:6", "latency", options) + "[run]\n"
    assert parse_stamp(text) == ("stretch:6", "latency", options)
    tomllib.loads(text)


def test_a_matrix_written_by_hand_has_no_stamp_and_a_damaged_one_is_an_error():
    assert parse_stamp("[run]\n") is None
    with pytest.raises(FigureError, match="damaged"):
        parse_stamp("# figure: {}\n")


def text_of(figure_id: str, dataset: str) -> str:
    options = Options(cores=2, dataset=dataset)
    figure = find(figure_id)
    return figure.text(figure.stages[0], figure.stages[0].plan(options, ()), options)


def test_a_dataset_replaces_the_generated_input_of_the_workloads_that_read_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    dataset = publish(Catalog.default(), "event_window").id
    matrix = parse_matrix(text_of("flumina:4", dataset), "flumina:4")
    assert {entry.key: entry.dataset for entry in matrix.workloads} == {
        "event_window@even": dataset,
        "page_view_join@even": None,
        "fraud_detection@even": None,
    }
    tweets = publish(Catalog.default(), "wordcount").id
    matrix = parse_matrix(text_of("stretch:6", tweets), "stretch:6")
    assert [entry.key for entry in matrix.workloads][:2] == ["wordcount", "paircount@L"]
    assert {entry.dataset for entry in matrix.workloads} == {tweets}


def test_a_dataset_that_no_workload_of_a_figure_reads_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    dataset = publish(Catalog.default(), "event_window").id
    with pytest.raises(
        FigureError, match="is the input of event_window, and stretch:6 reads tweets"
    ):
        text_of("stretch:6", dataset)
