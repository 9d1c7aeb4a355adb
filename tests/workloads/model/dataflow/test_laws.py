"""`check` on graphs: correct graphs pass, and graphs broken on purpose are caught with their law."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.model import Dataflow
from streamlab.workloads.model.check import ConsistencyReport, Violation, check
from streamlab.workloads.model.dataflow.traces import close, near, trace
from streamlab.workloads.model.streams.records import record_type
from streamlab.workloads.registry import names, workload
from tests.examples import examples
from tests.workloads.model.dataflow.parts import AVG, JFM, LI, averages, of_loads, split_by_plug

GRAPHS = [name for name in names() if isinstance(workload(name).program, Dataflow)]


def conditions(report: ConsistencyReport) -> set[tuple[str, str]]:
    return {(violation.condition, violation.where) for violation in report.violations}


def found(flow: Dataflow, condition: str, where: str, number: int = 40) -> Violation:
    """Return the counterexample to one law, which is looked for at this many inputs."""
    report = check(flow, examples=number)
    assert (condition, where) in conditions(report), report.render()
    return next(v for v in report.violations if (v.condition, v.where) == (condition, where))


def of_readings(operator: Any) -> Dataflow:
    """Return a graph of one operator that reads readings."""
    flow = of_loads()
    return replace(flow, vertices=(flow.vertices[0], replace(flow.vertices[1], operator=operator)))


def test_the_pipeline_of_the_paper_passes():
    report = check(averages(), examples=examples(60))
    assert report.ok, report.render()
    assert [name for name in report.checked if name.endswith(" avg")] == [
        "pure for avg",
        "emits for avg",
        "associative for avg",
        "commutative for avg",
        "identity for avg",
        "consistent for avg",
    ]
    assert report.checked[-4:] == (
        "consistent for averages",
        "monotone for averages",
        "repeat for averages",
        "split for averages",
    )


@pytest.mark.some(3)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_graphs_of_the_suite_pass(name: str):
    program = workload(name).program
    report = check(program, examples=examples(20))
    assert report.ok, report.render()


def test_inputs_that_are_declared_disjoint_are_tested():
    report = check(split_by_plug(), examples=examples(30))
    assert report.ok, report.render()
    assert "disjoint for both" in report.checked
    violation = found(split_by_plug(common=3), "disjoint", "both")
    assert "both reads plug 3 from pass0 and pass1" in violation.law


def test_an_ordered_operator_that_changes_keys_is_caught():
    def shifted(s: Any, key: Any, value: Any, out: Any) -> None:
        out.emit(key + value.load % 2, value.ts, value.load)

    violation = found(of_loads(replace(LI, on_item=shifted)), "keys", "li")
    assert violation.law == "an OpKeyedOrdered emits an item of another key"
    assert "on_item at plug 0, record(ts=0, load=1)" in violation.lines[0]
    assert "emits an item of plug 1: (0, 1)" in violation.lines[1]
    assert "only an OpStateless changes keys" in violation.lines[2]


@pytest.mark.full
def test_a_combine_that_does_not_associate_is_caught():
    def minus(x: Any, y: Any, into: Any) -> None:
        into.total = x.total - y.total
        into.count = x.count + y.count

    flow = of_loads(replace(AVG, combine=minus))
    violation = found(flow, "associative", "avg")
    assert violation.law == "combine(combine(x, y), z) is not combine(x, combine(y, z))"
    # Shrunk: one item in each.
    assert violation.lines[:3] == ("an aggregate is of plug 0: (ts=0, load=1)",) * 3
    assert "left side: aggregate(total=-1, count=3)" in violation.lines
    assert "right side: aggregate(total=1, count=3)" in violation.lines


def test_a_combine_that_does_not_commute_is_caught():
    def first(x: Any, y: Any, into: Any) -> None:  # associative, with a neutral element
        into.total = y.total if x.count == 0 else x.total
        into.count = x.count + y.count

    report = check(of_loads(replace(AVG, combine=first)), examples=40)
    assert conditions(report) == {("commutative", "avg")}
    assert "combine(x, y) is not combine(y, x)" in report.render()
    assert "skipped  laws of the whole row: a vertex breaks its laws" in report.render()


def test_state_outside_its_template_makes_a_vertex_inconsistent():
    # Each call repeats, but remembers the item before: what the paper's types rule out.
    before: list[int] = []

    def on_item(key: Any, value: Any, out: Any) -> None:
        if not before or before[-1] != value.load:
            before.append(value.load)
        out.emit(1, value.ts, before[-2] if len(before) > 1 else 0)

    def forgetting(m: Any, out: Any) -> None:
        before.clear()

    broken = of_readings(replace(JFM, on_item=on_item, on_marker=forgetting))
    violation = found(broken, "consistent", "jfm")
    assert violation.law.startswith("inputs that are the same trace of U(unit, ts plug load) have")
    assert "in another order, of the same trace:" in violation.lines


def test_an_identity_that_is_not_neutral_is_caught():
    def one(a: Any) -> None:
        a.count = 1

    violation = found(of_loads(replace(AVG, identity=one)), "identity", "avg")
    assert violation.law == "combine(x, identity) is not x"
    assert "id: aggregate(total=0, count=1)" in violation.lines


FLOATS = np.dtype([("sum", np.float64), ("count", np.int64)])


def tenth(a: Any, key: Any, value: Any) -> None:
    a.sum = value.load / 10
    a.count = 1


def float_sum(x: Any, y: Any, into: Any) -> None:
    into.sum = x.sum + y.sum
    into.count = x.count + y.count


def in_tenths(s: Any, agg: Any) -> None:
    s.total += round(10 * agg.sum)


def given_total(s: Any, key: Any, m: Any, out: Any) -> None:
    out.emit(key, m.ts, s.total)


TENTHS = replace(
    AVG,
    aggregate=FLOATS,
    take=tenth,
    combine=float_sum,
    update_state=in_tenths,
    on_marker=given_total,
)


@pytest.mark.full
def test_sums_of_floats_are_a_monoid_up_to_rounding():
    report = check(of_loads(TENTHS), examples=examples(100))
    assert report.ok, report.render()


@pytest.mark.full
def test_a_mean_of_means_is_no_monoid_in_floats_either():
    def middle(x: Any, y: Any, into: Any) -> None:
        into.sum = (x.sum + y.sum) / 2
        into.count = x.count + y.count

    assert ("associative", "avg") in conditions(
        check(of_loads(replace(TENTHS, combine=middle)), examples=40)
    )


def test_near_is_within_rounding_and_no_more():
    assert near(0.1 + 0.2, 0.3)
    assert near((1, (float("nan"), 2.0)), (1, (float("nan"), 2.0)))
    assert not near(1.0, 1.000001)
    assert not near(1, 2)
    assert not near((1.0,), (1.0, 2.0))
    assert not near(float("nan"), 1.0)


def test_traces_are_close_where_their_bags_are():
    make = record_type(("x", "n"))._make
    of = replace(LI.reads, ordered=False, key=None)
    one = trace(of, [(0, make((1, 0.1 + 0.2, 5))), (0, make((1, 7.0, 6)))])
    assert close(one, trace(of, [(0, make((1, 7.0, 6))), (0, make((1, 0.3, 5)))]))
    assert not close(one, trace(of, [(0, make((1, 7.0, 5))), (0, make((1, 0.3, 6)))]))
    assert not close(one, trace(of, [(0, make((1, 7.0, 6)))]))


CALLS = [0]


def counting(*_: Any) -> int:
    CALLS[0] += 1
    return CALLS[0]


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("operator", "role", "function"),
    [
        (JFM, "on_item", lambda key, value, out: out.emit(1, value.ts, counting())),
        (JFM, "on_marker", lambda m, out: out.emit(1, m.ts, counting())),
        (LI, "initial_state", lambda s: setattr(s, "load", counting())),
        (LI, "on_item", lambda s, key, value, out: setattr(s, "load", counting())),
        (LI, "on_marker", lambda s, key, m, out: out.emit(key, m.ts, counting())),
        (AVG, "take", lambda a, key, value: setattr(a, "total", counting())),
        (AVG, "identity", lambda a: setattr(a, "total", counting())),
        (AVG, "combine", lambda x, y, into: setattr(into, "total", counting())),
        (AVG, "initial_state", lambda s: setattr(s, "total", counting())),
        (AVG, "update_state", lambda s, agg: setattr(s, "total", counting())),
        (AVG, "on_item", lambda s, key, value, out: out.emit(key, value.ts, counting())),
        (AVG, "on_marker", lambda s, key, m, out: out.emit(key, m.ts, counting())),
    ],
    ids=lambda part: part if isinstance(part, str) else getattr(part, "name", ""),
)
def test_a_function_that_remembers_its_calls_is_caught(operator: Any, role: str, function: Any):
    broken = replace(operator, **{role: function})
    report = check((of_readings if operator is JFM else of_loads)(broken), examples=25)
    violation = next(v for v in report.violations if v.condition == "pure")
    assert violation.where == operator.name
    assert violation.law == (
        f"{role} does something else when it is called again with the same arguments"
    )


def spoiling(name: str) -> Any:
    """Return a function that changes the record of that name among its arguments."""

    def on_item(s: Any, key: Any, value: Any, out: Any) -> None:
        s.count += 1

    def on_marker(s: Any, key: Any, m: Any, out: Any) -> None:
        s.count += 1

    def combine(x: Any, y: Any, into: Any) -> None:
        into.total = x.total + y.total
        x.count += 1

    def update_state(s: Any, agg: Any) -> None:
        agg.total += 1

    return locals()[name]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("role", "record"),
    [("on_item", "s"), ("on_marker", "s"), ("combine", "x"), ("update_state", "agg")],
)
def test_a_function_that_changes_a_read_only_record_is_caught(role: str, record: str):
    violation = found(of_loads(replace(AVG, **{role: spoiling(role)})), "pure", "avg", 25)
    assert violation.law == f"{role} changes {record}, which it may only read"
    assert violation.lines[0].startswith(f"{role}(")
    assert f"{record} afterwards: " in violation.lines[-1]


def test_a_value_that_is_written_to_is_caught():
    def writing(key: Any, value: Any, out: Any) -> None:
        value.load = 1

    violation = found(of_readings(replace(JFM, on_item=writing)), "emits", "jfm", 25)
    assert "AttributeError" in violation.lines[0]


def test_more_pairs_than_declared_are_caught_and_where():
    violation = found(of_loads(replace(LI, max_outputs=3)), "emits", "li")
    assert "operator li emits more than 3 pairs in one call; raise its max" in violation.lines[0]


@pytest.mark.full
def test_a_vertex_behind_one_that_fails_is_not_blamed():
    report = check(of_loads(replace(LI, max_outputs=3), AVG), examples=40)
    assert conditions(report) == {("emits", "li")}
    assert report.skipped == (
        "laws of avg: it reads a vertex that breaks its laws",
        "laws of the whole row: a vertex breaks its laws",
    )
