"""`memo` also accepts arguments without a hash, because programs may hold lists."""

from dataclasses import dataclass, replace

import pytest

from streamlab.workloads.model.check import check
from streamlab.workloads.model.code.functions import memo
from streamlab.workloads.registry import workload


def test_results_are_cached_and_computed_again_for_arguments_without_a_hash():
    calls = []

    @memo(2)
    def length(values, *, more=0):
        calls.append(values)
        return len(values) + more

    assert [length((1, 2)), length((1, 2)), length((1, 2), more=1)] == [2, 2, 3]
    assert len(calls) == 2
    assert [length([1]), length([1]), length((), more=1)] == [1, 1, 1]
    assert calls[2:] == [[1], [1], ()]


@dataclass
class CallableObject:
    """A function that is an object; it has no hash, because its class defines `==`."""

    function: object

    def __call__(self, *arguments):
        return self.function(*arguments)


def with_callable_object(program):
    return replace(program, init=CallableObject(program.init))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("fraud_detection", lambda program: replace(program, kinds=list(program.kinds))),
        ("fraud_detection", lambda program: replace(program, states=list(program.states))),
        ("fraud_detection", with_callable_object),
        ("wordcount", lambda program: replace(program, operators=list(program.operators))),
        ("forward", lambda program: replace(program, operators=list(program.operators))),
        ("linear_road_toll", lambda program: replace(program, stages=list(program.stages))),
    ],
)
def test_a_program_without_a_hash_is_checked_as_any_other(name, change):
    program = change(workload(name).program)
    with pytest.raises(TypeError):
        hash(program)
    report = check(program, examples=3)
    assert report.ok, report.render()
