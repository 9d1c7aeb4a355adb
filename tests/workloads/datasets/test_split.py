"""How many streams a program's input may have, known before anything is read."""

import numpy as np
import pytest

from engines.multicore import _core
from tests.workloads.datasets.tables.programs import COUNTER, PAIRS, REPORTS, SUMS, WORDS
from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import ImportOptions
from workloads.datasets.imports.registry import import_kind
from workloads.datasets.split import MOST_IN_ORDER, check_streams, shares
from workloads.model import Program


def test_what_the_engine_merges_is_the_limit():
    assert MOST_IN_ORDER == _core.MOST_STREAMS


@pytest.mark.parametrize(
    ("program", "most"), [(REPORTS, 64), (WORDS, 64), (PAIRS, 1), (SUMS, 1024), (COUNTER, 1024)]
)
def test_more_streams_than_engines_take_are_refused(program: Program, most: int):
    check_streams(program, most)
    if most < 1024:
        with pytest.raises(DatasetError, match=f"streams is {most + 1}"):
            check_streams(program, most + 1)


@pytest.mark.parametrize("kind", ["tweets", "linear-road", "retail"])
def test_imports_know_the_limit_before_they_look_at_a_file(kind: str, tmp_path):
    options = ImportOptions(files=(tmp_path / "no such file",), streams=65)
    with pytest.raises(DatasetError, match=r"streams is 65, which makes 65 streams for .* 64 or"):
        import_kind(kind).complete(options)


def test_kinds_that_depend_on_themselves_stay_in_one_stream():
    assert [share.name for share in shares(SUMS, 3)] == ["value-0", "value-1", "value-2", "barrier"]


@pytest.mark.parametrize("blocks", [[12], [1, 0, 4, 7], [5, 7]])
def test_dealing_does_not_depend_on_blocks(blocks: list[int]):
    kinds = np.array([0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1], np.int8)
    dealt = []
    for share in shares(SUMS, 2):
        mine, begin, found = share.dealer(), 0, []
        for rows in blocks:
            found += (begin + np.flatnonzero(mine(kinds[begin : begin + rows]))).tolist()
            begin += rows
        dealt.append(found)
    assert dealt == [[0, 3, 6, 9], [1, 5, 8, 10], [2, 4, 7, 11]]
