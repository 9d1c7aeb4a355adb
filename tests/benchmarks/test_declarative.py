"""Trials of the benchmark of declared forms on small inputs: all forms of a case give one answer."""

import pytest

from benchmarks.declarative import CASES, run_trial

EVENTS = 150_000


@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES)
def test_the_forms_of_a_case_give_one_answer(case):
    results = {form: run_trial(case, form, EVENTS) for form in CASES[case]}
    (checksum,) = {checksum for _, _, checksum in results.values()}
    assert checksum > 0
    assert min(cpu_ns for _, cpu_ns, _ in results.values()) > 0
