"""Searches through `lab run`: real processes, real verification, engines of known capacity."""

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec import convert
from msgspec.structs import asdict

from streamlab.lab.cli import EXIT_OK, call
from streamlab.lab.runner.provenance import revision
from streamlab.lab.runner.search.state import Bracket
from streamlab.results.store import read_run
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.manifest import Content
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Alphabet
from streamlab.workloads.registry import workload
from tests.lab.runner.runs import stored_searches
from tests.results.records import change_meta

CAPACITY_EPS = 5_300
EVENTS = 48_000

MATRIX = """
[run]
timeout_s = 600
[[workload]]
name = "event_window"
dataset = "{dataset}"
[[engine]]
name = "fake"
label = "bounded"
options = {{ capacity_eps = {capacity} }}
[[engine]]
name = "fake"
label = "boundless"
[load]
search = "sustainable"
start_eps = 2_000
tolerance = 0.1
votes = 1
confirmations = 1
levels = [0.5]
warm_up_s = 1
window_s = 3
"""


@pytest.fixture
def matrix(tmp_path, places):
    """A matrix with a search on two fake engines, over an input that lasts 4 s at 12,000 events/s."""
    catalog = Catalog.default()
    subject = workload("event_window")
    params = subject.params({"values_per_barrier": 20})
    specs = subject.streams(params, EVENTS)
    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        streams = []
        alphabet = Alphabet(kinds=subject.program.kinds, keys=subject.keys(params))
        for index, spec in enumerate(specs):
            columns = dict(subject.generate(params, 7, specs, index, 0, spec.events))
            columns["ts"] = columns["ts"].astype(np.int64)
            types = {name: values.dtype for name, values in columns.items()}
            kinds = subject.program.kind_indices(spec.kinds)
            streams.append(write_stream(folder, spec.name, kinds, types, [columns], alphabet))
        content = Content(
            workload="event_window",
            alphabet=alphabet,
            streams=tuple(streams),
            origin={"generator": "event_window", "seed": 7},
            source="test",
            licence="CC0-1.0",
        )
        dataset = catalog.publish(folder, content).id
    path = tmp_path / "m.toml"
    path.write_text(MATRIX.format(dataset=dataset[:12], capacity=CAPACITY_EPS), encoding="utf-8")
    return path


def run_lab(capsys, *arguments):
    code = call(["run", *map(str, arguments)])
    printed = capsys.readouterr()
    assert code == EXIT_OK, printed.err
    return read_run(Path(printed.out.splitlines()[-1]))


def brackets(run):
    """Return the results of the searches on the bounded and on the boundless engine."""
    records = stored_searches(run.path)
    assert all(record["over"] for record in records.values())
    return [
        convert(next(record["bracket"] for id_, record in records.items() if name in id_), Bracket)
        for name in ("bounded", "boundless")
    ]


@pytest.mark.full  # some 80 real trials, half a minute
def test_a_run_finds_the_capacity_and_can_be_resumed_in_the_middle(matrix, capsys):
    run = run_lab(capsys, matrix)
    bounded, boundless = brackets(run)
    assert bounded.r_pass_eps <= CAPACITY_EPS <= bounded.r_fail_eps
    assert bounded.r_fail_eps <= 1.11 * bounded.r_pass_eps
    assert bounded.confirmed
    assert bounded.refuted
    assert boundless.r_pass_eps == pytest.approx(EVENTS / 4, rel=0.01)
    assert boundless.r_fail_eps is None
    assert "the input is too short" in boundless.reason

    purposes = {row.purpose for row in run.rows}
    assert purposes == {"double", "bisect", "confirm", "refute", "level"}
    assert {row.status for row in run.rows} == {"ok", "unsustained"}
    for row in run.rows:
        assert row.missing == row.wrong == 0
        assert "quick" in row.sustained_reason
    first = [row.cell for row in run.rows[:6]]
    assert first == first[:2] * 3, "the searches do not take turns"

    # As if the run had been killed after a third of its trials.
    before = [row.offered_eps for row in run.rows]
    complete = len(run.rows) // 3
    for path in (run.path / "trials").glob("*.json"):
        if json.loads(path.read_text(encoding="utf-8"))["order_index"] >= complete:
            path.unlink()
    # The checkout may have changed meanwhile; that resume refuses this is tested elsewhere.
    change_meta(run.path, vcs=asdict(revision()))
    resumed = run_lab(capsys, "--resume", run.path)
    assert [row.offered_eps for row in resumed.rows] == before
    assert brackets(resumed) == [bounded, boundless]
