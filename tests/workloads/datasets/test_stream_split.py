"""The number of streams that a program's input may have, known before anything is read."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from streamlab.engines.multicore import _core
from streamlab.lab.cli.data import data
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.datasets.sorted_runs import SortedRuns, write_run
from streamlab.workloads.datasets.stream_split import (
    MAX_IN_ORDER,
    check_generated,
    check_streams,
    shares,
)
from streamlab.workloads.model import Program, Query
from streamlab.workloads.registry import names, workload
from tests.workloads.datasets.cuts import cut_small
from tests.workloads.datasets.tables.programs import COUNTER, PAIRS, REPORTS, SUMS, WORDS


def test_the_limit_of_streams_is_that_of_the_engine():
    assert MAX_IN_ORDER == _core.MAX_STREAMS


@pytest.mark.parametrize(
    ("program", "most"), [(REPORTS, 256), (WORDS, 256), (PAIRS, 1), (SUMS, 1024), (COUNTER, 1024)]
)
def test_more_streams_than_engines_take_are_refused(program: Program, most: int):
    check_streams(program, most)
    if most < 1024:
        with pytest.raises(DatasetError, match=f"streams is {most + 1}"):
            check_streams(program, most + 1)


@pytest.mark.parametrize("kind", ["tweets", "linear-road", "retail"])
def test_imports_know_the_limit_before_they_look_at_a_file(kind: str, tmp_path):
    options = ImportOptions(files=(tmp_path / "no such file",), streams=257)
    with pytest.raises(
        DatasetError, match=r"streams is 257, which makes 257 streams for .* 256 or"
    ):
        import_kind(kind).complete(options)


@pytest.mark.parametrize(
    ("name", "streams", "message"),
    [
        (
            "scale_join",
            2,
            "there would be 2 streams of left, but the input of scale_join takes one",
        ),
        ("forward", 129, "there would be 258 streams for forward; engines .* take 256 at most"),
        ("parametric", 257, "there would be 257 streams for"),
    ],
)
def test_generated_input_that_engines_would_refuse_is_not_made(name, streams, message, tmp_path):
    words = ["build", name, "--param", f"streams={streams}", "--events", "100"]
    result = CliRunner().invoke(data, [*words, "--root", str(tmp_path)])
    assert isinstance(result.exception, DatasetError)
    assert re.search(message, str(result.exception)) and "--param" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", names())
def test_default_streams_of_generators_are_accepted(name):
    subject = workload(name)
    for events in (0, 1000):
        check_generated(subject.program, subject.streams(subject.params({}), events))
    if "streams" in subject.parameters and not isinstance(subject.program, Query):
        many = {name: 64 for name in ("streams", "houses") if name in subject.parameters}
        check_generated(subject.program, subject.streams(subject.params(many), 1000))


def test_kinds_that_depend_on_themselves_stay_in_one_stream():
    assert [share.name for share in shares(SUMS, 3)] == ["value-0", "value-1", "value-2", "barrier"]


@pytest.mark.parametrize("rows_per_file", [1, 2, 3, 100])
def test_dealing_does_not_depend_on_files(
    rows_per_file: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cut_small(monkeypatch)
    ts = np.arange(83)
    rows = SortedRuns([write_run(tmp_path / "a.run", {"ts": ts})])
    for share in shares(SUMS, 3)[:3]:
        found: list[int] = []
        for begin in range(0, share.rows(len(ts)), rows_per_file):
            for block in share.blocks(rows, begin, begin + rows_per_file):
                found += np.asarray(block["ts"]).tolist()
        assert found == ts[share.turn :: 3].tolist()
        assert len(found) == share.rows(len(ts))
