"""Checks a program against the laws of its programming model.

For programs with DGS: conditions C1 to C3 of the DGS paper, Definition 2.3, and the law of time.

Consistency makes every plan give the sequential answer (Theorem 2.4), which is tested as well, on
forks within forks. The law of time says that an
output carries the timestamp of the event that caused it, so that a cut of the input gives the cut
of the answer; latency and open-loop runs rest on it. All are tested on generated histories, so a
pass is evidence, not proof; a failure is a counterexample, shrunk. How C1 is read, and why not
literally, is in `docs/decisions/0002-consistency-checker.md`.

For queries of operators O+: what virtual shared-nothing parallelism rests on, see `query_laws`. For
ordered pipelines: what lets several workers be at one operator, see `pipeline_laws`. For typed
dataflow graphs: what makes every deployment equal to the graph, see `dataflow.laws`.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import HypothesisDeprecationWarning, Unsatisfiable

from streamlab.workloads.model.answers.floats import order_is_fixed
from streamlab.workloads.model.dataflow import Dataflow, OpKeyedUnordered
from streamlab.workloads.model.dataflow import laws as dataflow_laws
from streamlab.workloads.model.dgs import cross_key_laws
from streamlab.workloads.model.dgs.laws import (
    BrokenLawError,
    cut_commutes,
    events_commute,
    join_commutes,
    join_restores,
    outputs_carry_time,
)
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.dgs.rounding import Rounding
from streamlab.workloads.model.dgs.wire_diagrams import diagrams_agree
from streamlab.workloads.model.dgs.wires import Draw, Semantics, reachable
from streamlab.workloads.model.errors import place_of
from streamlab.workloads.model.operators.laws import (
    instances_do_not_matter,
    keys_are_pure,
    outputs_are_declared,
    outputs_are_sorted,
    runs_repeat,
)
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline import laws as pipeline_laws
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATELESS, Pipeline
from streamlab.workloads.model.workload import Program

ROUNDS = (
    "answers of parallel runs are compared within a bound for rounding (docs/model.md, Floats); "
    "with streamlab.workloads.model.exact_sum they are equal bit for bit"
)
"""The note below laws that hold only up to rounding."""

_WORDS = {
    "C1": "the join of {where} does not associate",
    "C3": "events of {where} do not commute",
    "associative": "the combine of {where} does not associate",
    "commutative": "the combine of {where} does not commute",
}
"""By condition, what rounding does to it."""

Law = tuple[str, str, Callable[[Draw], None]]
"""A condition, the place where it must hold, and its test."""

ROUNDED = "with numbers that round"
"""Follows the place of a law that is tested on such numbers."""

FEWER = 8
"""Histories for each input of a law that `check_also` tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A condition that does not hold.

    Attributes:
        condition: `C1`, `C2`, `C3`, `wires`, `time`, `plans` or `cut`; of a query `keys`, `emits`,
            `split`, `repeat` or `sorted`; of a pipeline `keys`, `apart`, `order`, `emits` or
            `repeat`; or what `check_also` was given.
        where: the fork-join, the state type, the operator or the program.
        law: the equation that fails.
        lines: the counterexample: the history, the step, and both sides.
    """

    condition: str
    where: str
    law: str
    lines: tuple[str, ...]

    def render(self) -> str:
        """Return the counterexample as text."""
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"{self.condition} fails for {self.where}: {self.law}\n{body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsistencyReport:
    """The outcome of a check.

    Attributes:
        program: its name.
        checked: what was tested, e.g. `C2 for counter -> (counter, counter)`.
        skipped: what was not, with the reason.
        violations: what fails; empty when the program is consistent as far as was tested.
        rounding: the laws that hold only up to the rounding of floats, by how much, an example.
        examples: histories tested for each entry of `checked`, as far as it does not say otherwise.
    """

    program: str
    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    violations: tuple[Violation, ...]
    examples: int
    rounding: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.violations

    def render(self) -> str:
        """Return the report as text."""
        lines = [f"program {self.program}: {len(self.checked)} laws x {self.examples} histories"]
        failed = {f"{found.condition} for {found.where}" for found in self.violations}
        lines += [f"  {'FAILS' if name in failed else 'holds'}  {name}" for name in self.checked]
        lines += [f"  skipped  {what}" for what in self.skipped]
        lines += [found.render() for found in self.violations]
        lines += self.rounding
        if self.rounding:
            lines.append(ROUNDS)
        return "\n".join(lines)


def check(program: Program, *, examples: int = 200, seed: int = 0) -> ConsistencyReport:
    """Test the laws of a program's model on it.

    Args:
        program: the program.
        examples: histories to try for each law.
        seed: same seed, same histories.
    """
    if isinstance(program, Query):
        return check_query(program, examples=examples, seed=seed)
    if isinstance(program, Pipeline):
        return check_pipeline(program, examples=examples, seed=seed)
    if isinstance(program, Dataflow):
        return check_dataflow(program, examples=examples, seed=seed)
    return check_program(program, examples=examples, seed=seed)


def check_query(query: Query, *, examples: int = 200, seed: int = 0) -> ConsistencyReport:
    """Test that keys are pure and that answers do not depend on who runs the query.

    Args:
        query: the query.
        examples: inputs to try for each law.
        seed: same seed, same inputs.
    """
    laws: list[Law] = [
        ("keys", operator.name, partial(keys_are_pure, query, index))
        for index, operator in enumerate(query.operators)
    ]
    laws += [
        ("emits", query.name, partial(outputs_are_declared, query)),
        ("repeat", query.name, partial(runs_repeat, query)),
        ("split", query.name, partial(instances_do_not_matter, query)),
        ("sorted", query.name, partial(outputs_are_sorted, query)),
    ]
    return _report(query.name, laws, (), examples, seed)


def check_pipeline(pipeline: Pipeline, *, examples: int = 200, seed: int = 0) -> ConsistencyReport:
    """Test that operators mind only what they may: their record, and the history of its key.

    Args:
        pipeline: the pipeline.
        examples: inputs to try for each law.
        seed: same seed, same inputs.
    """
    laws: list[Law] = []
    for index, stage in enumerate(pipeline.stages):
        if stage.kind == PARTITIONED:
            keys = partial(pipeline_laws.keys_are_pure, pipeline, index)
            apart = partial(pipeline_laws.keys_are_apart, pipeline, index)
            laws += [("keys", stage.name, keys), ("apart", stage.name, apart)]
            if stage.ties_commute:
                ties = partial(pipeline_laws.ties_commute, pipeline, index)
                laws.append(("ties", stage.name, ties))
        elif stage.kind == STATELESS:
            order = partial(pipeline_laws.order_does_not_matter, pipeline, index)
            laws.append(("order", stage.name, order))
    laws += [
        ("emits", pipeline.name, partial(pipeline_laws.outputs_are_declared, pipeline)),
        ("repeat", pipeline.name, partial(pipeline_laws.runs_repeat, pipeline)),
    ]
    return _report(pipeline.name, laws, (), examples, seed)


def check_dataflow(flow: Dataflow, *, examples: int = 200, seed: int = 0) -> ConsistencyReport:
    """Test that vertices are what their templates say, so that the graph may be deployed anyhow.

    Args:
        flow: the graph.
        examples: inputs to try for each law.
        seed: same seed, same inputs.
    """
    checked: list[str] = []
    skipped: list[str] = []
    violations: list[Violation] = []

    def holds(condition: str, where: str, law: Callable[[Draw], None]) -> bool:
        found = _search(condition, where, law, examples, seed)
        checked.append(f"{condition} for {where}")
        violations.extend([] if found is None else [found])
        return found is None

    failed: set[int] = set()
    for index, vertex in enumerate(flow.vertices):
        if not failed.isdisjoint(vertex.inputs):
            # What reaches it is not what it would be.
            failed.add(index)
            skipped.append(f"laws of {vertex.name}: it reads what does not keep its own")
        elif vertex.operator is not None:
            # The first one that fails says what is wrong; the others fail because of it.
            for condition, law in dataflow_laws.of_vertex_alone(vertex.operator):
                if not holds(condition, vertex.name, partial(law, flow, index)):
                    failed.add(index)
                    break
    if failed:
        skipped.append(f"laws of the whole {flow.name}: a vertex does not keep its own")
    else:
        for condition, of_flow in dataflow_laws.OF_GRAPHS:
            holds(condition, flow.name, partial(of_flow, flow))
    report = ConsistencyReport(
        program=flow.name,
        checked=tuple(checked),
        skipped=tuple(skipped),
        violations=tuple(violations),
        examples=examples,
    )
    if order_is_fixed(flow) or not report.ok:
        return report
    for index, vertex in enumerate(flow.vertices):
        if isinstance(vertex.operator, OpKeyedUnordered):
            for condition, law in dataflow_laws.OF_MONOIDS:
                rounded = partial(
                    _rounded_monoid, condition, vertex.name, partial(law, flow, index)
                )
                report = _but_for_rounding(report, rounded, seed)
    return report


def _rounded_monoid(
    condition: str, where: str, law: Callable[..., None], rounding: Rounding
) -> Law:
    return condition, where, partial(law, rounding=rounding)


def check_program(program: DGSProgram, *, examples: int = 200, seed: int = 0) -> ConsistencyReport:
    """Test C1 and C2 for every fork-join, C3 and time for every state type, wires and cut for all.

    Of events across keys: time and number of their outputs, and plans as a whole.

    Args:
        program: the program.
        examples: histories to try for each law.
        seed: same seed, same histories.
    """
    skipped = [
        f"state type {state.name}: no fork leads to it"
        for state in program.states
        if not reachable(program, state.name)
    ]
    semantics = Semantics(program=program)
    laws = [*_of_states(semantics)]
    for across in program.across:
        declared = partial(cross_key_laws.outputs_are_declared, semantics, across)
        laws.append(("time", across.name, declared))
    if program.across:
        laws.append(("plans", program.name, partial(cross_key_laws.plans_agree, semantics)))
    laws.append(("wires", program.name, partial(diagrams_agree, semantics)))
    laws.append(("cut", program.name, partial(cut_commutes, semantics)))
    report = _report(program.name, laws, tuple(skipped), examples, seed)
    return report if order_is_fixed(program) or not report.ok else _rounded(report, program, seed)


def _of_states(semantics: Semantics) -> Iterator[Law]:
    """Yield C1 and C2 of the fork-joins, C3 and time of the state types, that can be reached."""
    program = semantics.program
    for pair in program.parallel:
        if reachable(program, pair.parent):
            where = f"{pair.parent} -> ({pair.first}, {pair.second})"
            yield "C1", where, partial(join_commutes, semantics, pair)
            yield "C2", where, partial(join_restores, semantics, pair)
    for state in program.states:
        if reachable(program, state.name):
            yield "C3", state.name, partial(events_commute, semantics, state.name)
            yield "time", state.name, partial(outputs_carry_time, semantics, state.name)


def _rounded(report: ConsistencyReport, program: DGSProgram, seed: int) -> ConsistencyReport:
    """Return a report that adds how far the laws are from holding for numbers that round."""

    def law_of(index: int, rounding: Rounding) -> Law:
        return [*_rounding_laws(Semantics(program=program, rounding=rounding))][index]

    for index in range(len([*_rounding_laws(Semantics(program=program))])):
        report = _but_for_rounding(report, partial(law_of, index), seed)
    return report


def _rounding_laws(semantics: Semantics) -> Iterator[Law]:
    """Yield the laws of states that rounding breaks."""
    return (law for law in _of_states(semantics) if law[0] in _WORDS)


def _but_for_rounding(
    report: ConsistencyReport, law_of: Callable[[Rounding], Law], seed: int
) -> ConsistencyReport:
    """Return a report with one law tested on numbers that round.

    Differences by rounding are measured; then the largest one is searched for again, and shrunk.
    """
    rounding = Rounding()
    condition, where, law = law_of(rounding)
    place = f"{where}, {ROUNDED}"
    broken = _search(condition, place, law, report.examples, seed)
    if broken is not None:
        return replace(
            report,
            checked=(*report.checked, f"{condition} for {place}"),
            violations=(*report.violations, broken),
        )
    if rounding.largest == 0:
        return report
    words = (
        f"rounds: {_WORDS[condition].format(where=where)} in floating point: the largest relative "
        f"difference of {report.examples} histories is {rounding.largest:.2g}"
    )
    if not report.rounding:  # one example is enough
        again = law_of(Rounding(unequal=rounding.largest))
        example = _search(*again, report.examples, seed)
        words = "\n    ".join((words, *(example.lines if example is not None else ())))
    return replace(report, rounding=(*report.rounding, words))


def check_also(
    report: ConsistencyReport, law: Callable[[Draw], None], condition: str, *, seed: int = 0
) -> ConsistencyReport:
    """Return a report with one more law, of an engine and not of the model.

    Its inputs are long, so there are fewer of them.

    Args:
        report: on the laws of the model.
        law: raises a counterexample when it does not hold for what it draws.
        condition: what it is called.
        seed: same seed, same inputs.
    """
    inputs = max(1, report.examples // FEWER)
    name = f"{condition} for {report.program}"
    found = _search(condition, report.program, law, inputs, seed)
    return replace(
        report,
        checked=(*report.checked, name if found else f"{name}: {inputs} inputs"),
        violations=report.violations if found is None else (*report.violations, found),
    )


def _report(
    program: str,
    laws: list[Law],
    skipped: tuple[str, ...],
    examples: int,
    seed: int,
) -> ConsistencyReport:
    found = [_search(*law, examples, seed) for law in laws]
    return ConsistencyReport(
        program=program,
        checked=tuple(f"{condition} for {where}" for condition, where, _ in laws),
        skipped=skipped,
        violations=tuple(violation for violation in found if violation is not None),
        examples=examples,
    )


def _search(
    condition: str, where: str, law: Callable[[Draw], None], examples: int, seed: int
) -> Violation | None:
    """Return the smallest counterexample that Hypothesis finds, if any."""

    # A law draws within one value: what is drawn at the top would be printed, for nobody to read.
    @st.composite
    def history(draw: Draw) -> None:
        law(draw)

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(history())
    def holds(_: None) -> None:
        """Has held when its history is there."""

    try:
        with warnings.catch_warnings():
            # The program's own calls of `random` look as if a strategy made them.
            warnings.simplefilter("ignore", HypothesisDeprecationWarning)
            holds()
    except Unsatisfiable:
        return None  # nothing that a program does is what the law is about
    except BrokenLawError as broken:
        return Violation(condition=condition, where=where, law=broken.law, lines=broken.lines)
    except Exception as error:  # whatever the program's own functions raise
        for part in getattr(error, "exceptions", ()):
            # A function that remembers its calls does not break the law again when it is tried
            # again, which Hypothesis reports in this way.
            if isinstance(part, BrokenLawError):
                lines = (*part.lines, "when the same was tried again, the law held")
                return Violation(condition=condition, where=where, law=part.law, lines=lines)
        text = f"{type(error).__name__}: {error}, in {place_of(error)}"
        law_text = "a function of the program raised on a reachable state"
        return Violation(condition=condition, where=where, law=law_text, lines=(text,))
    return None
