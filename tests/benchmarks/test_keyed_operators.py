"""Trials of the keyed-operator benchmark on small inputs: each compares its answer with NumPy's."""

import pytest

from benchmarks import keyed_operators
from benchmarks.keyed_operators import Case, library_trial, loop_trial, run_trial

# The second has more entries than the caches hold, so their lines are asked for ahead of time.
CASES = {
    "few keys": Case(4_000, 50),
    "many keys": Case(80_000, 60_000),
    "windows that overlap": Case(40_000, 30_000, advance=25_000),
    "lists of keys": Case(2_000, 300, words=11, advance=50_000),
    "pairs of words": Case(600, 300, words=11, advance=50_000, pairs=True),
    "lists longer than the room for keys": Case(600, 5_000, words=300),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("variant", ["vsn", "sn"])
@pytest.mark.parametrize("case", CASES)
def test_a_trial_counts_right(case, variant):
    for instances in (1, 2):
        rate, cpu_ns = run_trial(CASES[case], variant, instances, batch=64)
        assert rate > 0
        assert cpu_ns > 0


def test_a_trial_that_counts_wrong_has_no_figure(monkeypatch):
    query_and_data = keyed_operators.query_of(CASES["few keys"])
    ts, stream, keys = keyed_operators.columns_of(CASES["few keys"])
    monkeypatch.setattr(keyed_operators, "query_of", lambda case: query_and_data)
    monkeypatch.setattr(keyed_operators, "columns_of", lambda case: (ts, stream, keys[:-1]))
    with pytest.raises(ArithmeticError, match="counted 4000, not 3999"):
        run_trial(CASES["few keys"], "vsn", 1, batch=64)


def test_the_bare_loop_counts_right():
    for case in ("few keys", "lists of keys"):
        rate, _ = loop_trial(CASES[case])
        assert rate > 0


@pytest.mark.parametrize("library", ["numpy", "polars"])
def test_the_libraries_count_right(library):
    rate, _ = library_trial(CASES["few keys"], library)
    assert rate > 0
