"""Checks a program against the laws of its programming model, with generated inputs.

A pass is evidence, not proof; a failure is a shrunk counterexample. The laws, by model:

- DGS programs: conditions C1 to C3 (DGS paper, Definition 2.3) and the law of time. Consistent programs
  give the sequential answer under every plan (Theorem 2.4); nested forks test this, too.
  The law of time: an output carries the timestamp of the event that caused it. So cutting the input at a
  time cuts the answer at that time. Latency measurements and open-loop runs rely on this.
  `docs/decisions/0002-consistency-checker.md` explains why C1 is not read literally.
- O+ queries: the assumptions of virtual shared-nothing parallelism, see `operators.laws`.
- Ordered pipelines: the assumptions that let several workers run one operator, see `pipeline.laws`.
- Typed dataflow graphs: the assumptions that make every deployment equal to the graph, see `dataflow.laws`.
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
    Law,
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
from streamlab.workloads.model.operators import laws as query_laws
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline import laws as pipeline_laws
from streamlab.workloads.model.workload import Program

ROUNDS = (
    "answers of parallel runs are compared within a bound for rounding (docs/model.md, Floats); "
    "with streamlab.workloads.model.exact_sum they are equal bit for bit"
)
"""Text after laws that hold only up to rounding."""

_WORDS = {
    "C1": "the join of {where} does not associate",
    "C3": "events of {where} do not commute",
    "associative": "the combine of {where} does not associate",
    "commutative": "the combine of {where} does not commute",
}
"""How rounding breaks each condition."""

ROUNDED = "with numbers that round"
"""Text after the place of a law that is tested on floats whose sums round."""

HISTORIES_PER_INPUT = 8
"""`check_also` tests one input for this many histories of the other laws."""

Progress = Callable[[str, int, int], None]
"""Receives the law under test, the number of histories tested so far, and the number of histories of all laws."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Describes a condition that does not hold.

    Attributes:
        condition: Name of the law, such as `C1` or `split`, from the law modules of the models; or the
            condition passed to `check_also`.
        where: The fork-join, state type, operator or program.
        law: The equation that fails.
        lines: The counterexample: the history, the step, and both sides.
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
    """Holds the outcome of a check.

    Attributes:
        program: Name of the program.
        checked: The tested laws, e.g. `C2 for counter -> (counter, counter)`.
        skipped: The laws that were not tested, with the reason.
        violations: The laws that fail; empty if no counterexample was found.
        rounding: A text for each law that holds only up to the rounding of floats, with the largest
            difference; the first text has an example, too.
        examples: Histories tested for each entry of `checked`, unless the entry states a number.
    """

    program: str
    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    violations: tuple[Violation, ...]
    examples: int
    rounding: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no law failed."""
        return not self.violations

    def render(self) -> str:
        """Return the report as text."""
        lines = [f"program {self.program}: {len(self.checked)} laws x {self.examples} histories"]
        failed = {f"{violation.condition} for {violation.where}" for violation in self.violations}
        lines += [f"  {'FAILS' if name in failed else 'holds'}  {name}" for name in self.checked]
        lines += [f"  skipped  {law}" for law in self.skipped]
        lines += [violation.render() for violation in self.violations]
        lines += self.rounding
        if self.rounding:
            lines.append(ROUNDS)
        return "\n".join(lines)


def check(
    program: Program, *, examples: int = 200, seed: int = 0, progress: Progress | None = None
) -> ConsistencyReport:
    """Test a program against the laws of its model, each on `examples` histories drawn from `seed`."""
    tests = _Tests(examples, seed, progress)
    if isinstance(program, Dataflow):
        return _check_dataflow(program, tests)
    if isinstance(program, DGSProgram):
        return _check_dgs(program, tests)
    if isinstance(program, Query):
        laws = query_laws.laws_of(program)
    else:
        laws = pipeline_laws.laws_of(program)
    return _report(program.name, laws, (), tests)


def _check_dataflow(flow: Dataflow, tests: "_Tests") -> ConsistencyReport:
    """Test that vertices obey their templates, so that every deployment equals the graph."""
    report = ConsistencyReport(
        program=flow.name, checked=(), skipped=(), violations=(), examples=tests.examples
    )
    vertex_laws = [[*dataflow_laws.vertex_laws(vertex)] for vertex in flow.vertices]
    tests.expect(sum(map(len, vertex_laws)) + len(dataflow_laws.GRAPH_LAWS))

    def holds(condition: str, where: str, law: Callable[[Draw], None]) -> bool:
        nonlocal report
        violation = tests.search(condition, where, law)
        report = _with_law(report, f"{condition} for {where}", violation)
        return violation is None

    failed: set[int] = set()
    skipped: list[str] = []
    for index, (vertex, laws) in enumerate(zip(flow.vertices, vertex_laws, strict=True)):
        if not failed.isdisjoint(vertex.inputs):
            # A vertex that breaks its laws may pass on an input that no correct graph has.
            failed.add(index)
            skipped.append(f"laws of {vertex.name}: it reads a vertex that breaks its laws")
        # Only the first failure is informative; it makes later laws fail too.
        elif not all(holds(name, vertex.name, partial(law, flow, index)) for name, law in laws):
            failed.add(index)
    if failed:
        skipped.append(f"laws of the whole {flow.name}: a vertex breaks its laws")
        return replace(report, skipped=tuple(skipped))
    for condition, graph_law in dataflow_laws.GRAPH_LAWS:
        holds(condition, flow.name, partial(graph_law, flow))
    if order_is_fixed(flow) or not report.ok:
        return report
    for index, vertex in enumerate(flow.vertices):
        if isinstance(vertex.operator, OpKeyedUnordered):
            for condition, law in dataflow_laws.MONOID_LAWS:
                report = _test_with_rounding(
                    report, condition, vertex.name, partial(law, flow, index), tests
                )
    return report


def _check_dgs(program: DGSProgram, tests: "_Tests") -> ConsistencyReport:
    """Test C1 and C2 for every fork-join, C3 and time for every state type, wires and cut for the program.

    Events across keys are tested for the time and number of their outputs, and by whole plans.
    """
    skipped = [
        f"state type {state.name}: no fork leads to it"
        for state in program.states
        if not reachable(program, state.name)
    ]
    semantics = Semantics(program=program)
    laws = [*_state_laws(semantics)]
    for across in program.across:
        declared = partial(cross_key_laws.outputs_are_declared, semantics, across)
        laws.append(("time", across.name, declared))
    if program.across:
        laws.append(("plans", program.name, partial(cross_key_laws.plans_agree, semantics)))
    laws.append(("wires", program.name, partial(diagrams_agree, semantics)))
    laws.append(("cut", program.name, partial(cut_commutes, semantics)))
    report = _report(program.name, laws, tuple(skipped), tests)
    if order_is_fixed(program) or not report.ok:
        return report
    for index, (condition, where, _) in enumerate(laws):
        if condition in _WORDS:

            def rounded(draw: Draw, rounding: Rounding, index: int = index) -> None:
                [*_state_laws(Semantics(program=program, rounding=rounding))][index][2](draw)

            report = _test_with_rounding(report, condition, where, rounded, tests)
    return report


def _state_laws(semantics: Semantics) -> Iterator[Law]:
    """Yield C1 and C2 of the reachable fork-joins, C3 and time of the reachable state types."""
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


def _test_with_rounding(
    report: ConsistencyReport,
    condition: str,
    where: str,
    law: Callable[..., None],
    tests: "_Tests",
) -> ConsistencyReport:
    """Return the report with `law(draw, rounding=...)` tested on floats whose sums round.

    Measure the differences by rounding, then search for the largest difference again and shrink it.
    """
    rounding = Rounding()
    place = f"{where}, {ROUNDED}"
    broken = tests.search(condition, place, partial(law, rounding=rounding))
    if broken is not None:
        return _with_law(report, f"{condition} for {place}", broken)
    if rounding.largest == 0:
        return report
    words = (
        f"rounds: {_WORDS[condition].format(where=where)} in floating point: the largest relative "
        f"difference of {report.examples} histories is {rounding.largest:.2g}"
    )
    if not report.rounding:  # one example is enough
        largest_again = partial(law, rounding=Rounding(unequal=rounding.largest))
        example = tests.search(condition, where, largest_again)
        words = "\n    ".join((words, *(example.lines if example is not None else ())))
    return replace(report, rounding=(*report.rounding, words))


def check_also(
    report: ConsistencyReport,
    law: Callable[[Draw], None],
    condition: str,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> ConsistencyReport:
    """Test a law that an engine must obey, and return the report with its result.

    `law` draws an input and raises if the engine breaks the law. Inputs are longer than histories, so fewer
    are tried.
    """
    inputs = max(1, report.examples // HISTORIES_PER_INPUT)
    name = f"{condition} for {report.program}"
    violation = _Tests(inputs, seed, progress).search(condition, report.program, law)
    return _with_law(report, name if violation else f"{name}: {inputs} inputs", violation)


def _with_law(
    report: ConsistencyReport, name: str, violation: Violation | None
) -> ConsistencyReport:
    """Return the report with one more tested law, and its violation, if any."""
    violations = report.violations if violation is None else (*report.violations, violation)
    return replace(report, checked=(*report.checked, name), violations=violations)


def _report(
    program: str, laws: list[Law], skipped: tuple[str, ...], tests: "_Tests"
) -> ConsistencyReport:
    tests.expect(len(laws))
    violations = [tests.search(*law) for law in laws]
    return ConsistencyReport(
        program=program,
        checked=tuple(f"{condition} for {where}" for condition, where, _ in laws),
        skipped=skipped,
        violations=tuple(violation for violation in violations if violation is not None),
        examples=tests.examples,
    )


class _Tests:
    """Tests one law after another on `examples` histories each, and reports progress."""

    def __init__(self, examples: int, seed: int, progress: Progress | None) -> None:
        self.examples = examples
        self._seed = seed
        self._progress = progress
        self._expected = self._begun = 0

    def expect(self, laws: int) -> None:
        """Add a number of laws to the total that is passed to `progress`."""
        self._expected += laws

    def search(self, condition: str, where: str, law: Callable[[Draw], None]) -> Violation | None:
        """Return the smallest counterexample that Hypothesis finds, if any."""
        before = self.examples * self._begun
        self._begun += 1
        total = self.examples * max(self._begun, self._expected)
        tried = 0

        def counted(draw: Draw) -> None:
            nonlocal tried
            if self._progress is not None:  # a counterexample shrinks in further trials
                done = before + min(tried, self.examples)
                self._progress(f"{condition} for {where}", done, total)
            tried += 1
            law(draw)

        return _search(condition, where, counted, self.examples, self._seed)


def _search(
    condition: str, where: str, law: Callable[[Draw], None], examples: int, seed: int
) -> Violation | None:
    """Return the smallest counterexample that Hypothesis finds, if any."""

    # The law draws within one value, because Hypothesis prints values drawn at the top level.
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
        """Do nothing: drawing the history has tested the law."""

    try:
        with warnings.catch_warnings():
            # Hypothesis mistakes a program's calls of `random` for calls by a strategy.
            warnings.simplefilter("ignore", HypothesisDeprecationWarning)
            holds()
    except Unsatisfiable:
        return None  # the law applies to none of the program's histories
    except BrokenLawError as broken:
        return Violation(condition=condition, where=where, law=broken.law, lines=broken.lines)
    except Exception as error:  # the program's functions may raise anything
        for part in getattr(error, "exceptions", ()):
            # Hypothesis groups exceptions that do not recur. A function that remembers its calls
            # may break the law only once.
            if isinstance(part, BrokenLawError):
                lines = (*part.lines, "the law held when the same history was tried again")
                return Violation(condition=condition, where=where, law=part.law, lines=lines)
        text = f"{type(error).__name__}: {error}, in {place_of(error)}"
        law_text = "a function of the program raised on a reachable state"
        return Violation(condition=condition, where=where, law=law_text, lines=(text,))
    return None
