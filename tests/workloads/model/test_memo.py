"""Results stored by arguments, which need no hash: programs may hold lists."""

from dataclasses import dataclass, replace

import pytest

from streamlab.workloads.model.check import check
from streamlab.workloads.model.code.functions import memo
from streamlab.workloads.registry import workload


def test_a_result_is_kept_and_without_a_hash_made_again():
    calls = []

    @memo(2)
    def length(of, *, more=0):
        calls.append(of)
        return len(of) + more

    assert [length((1, 2)), length((1, 2)), length((1, 2), more=1)] == [2, 2, 3]
    assert len(calls) == 2
    assert [length([1]), length([1]), length((), more=1)] == [1, 1, 1]
    assert calls[2:] == [[1], [1], ()]


@dataclass
class Called:
    """A function that is an object, which `==` leaves without a hash."""

    function: object

    def __call__(self, *arguments):
        return self.function(*arguments)


def with_an_object(program):
    return replace(program, init=Called(program.init))


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("fraud_detection", lambda program: replace(program, kinds=list(program.kinds))),
        ("fraud_detection", lambda program: replace(program, states=list(program.states))),
        ("fraud_detection", with_an_object),
        ("wordcount", lambda program: replace(program, operators=list(program.operators))),
        ("forward", lambda program: replace(program, operators=list(program.operators))),
        ("linear_road_toll", lambda program: replace(program, stages=list(program.stages))),
    ],
)
def test_a_program_without_a_hash_is_checked_as_any_other(name, changed):
    program = changed(workload(name).program)
    with pytest.raises(TypeError):
        hash(program)
    report = check(program, examples=3)
    assert report.ok, report.render()
