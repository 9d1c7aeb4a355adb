"""Makes the workload of a declared step: the program of the previous steps, and one more operator or stage."""

from dataclasses import dataclass

from streamlab.workloads.datasets.times.duration import PER_SECOND
from streamlab.workloads.declarative import row_stages, windows
from streamlab.workloads.declarative.declaration import (
    ARRIVAL,
    ROW,
    SESSION,
    Declaration,
    FlatMapStep,
    JoinStep,
    SelectStep,
    WindowStep,
)
from streamlab.workloads.declarative.input_columns import InputColumns
from streamlab.workloads.model import InputType, ModelError, Operator, Pipeline, Query, Workload
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.operators.program import DROP, FLUSH
from streamlab.workloads.model.pipeline.program import Stage
from streamlab.workloads.user_workload import program_workload


def _is_session(part: Declaration) -> bool:
    return isinstance(part.step, WindowStep) and part.step.kind == SESSION


def _windows(part: Declaration) -> str:
    """Return what a declaration makes, for messages."""
    if isinstance(part.step, JoinStep):
        return "a join"
    return "sessions" if _is_session(part) else "windows of time"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredStep:
    """Makes the workload of a declaration from its last operator or stage.

    Attributes:
        columns: the columns of the input.
        before: the workload that makes the input; None if the input is a table or function.
        place: the place of the declaration, for messages.
        at_end: the effect of the input's end on open windows, see `Query.at_end`.
        declaration: the step, with its previous steps.
    """

    columns: InputColumns
    before: Workload | None
    place: str
    at_end: str
    declaration: Declaration

    @property
    def name(self) -> str:
        """The name of the workload."""
        return self.declaration.name

    @property
    def source(self) -> InputType:
        """The schema of the rows that the operator reads: the input, or the output of the previous step."""
        before = self.declaration.before
        columns = self.declaration.reads if before is None else before.output[1:]
        return InputType(name=ROW, fields=windows.fields_of(columns))

    def query(self, operator: Operator) -> Workload:
        """Return the workload whose last operator is `operator`."""
        steps = self.declaration.steps()
        for part in steps[:-1]:
            self._check_sessions(part)
        for part in steps:
            self._check_order(part)
        program = None if self.before is None else self.before.program
        operators: tuple[Operator, ...] = ()
        if isinstance(program, Pipeline):
            operators = row_stages.operators_of(program)
        elif isinstance(program, Query):
            operators = program.operators
        ends = {self.at_end, program.at_end if isinstance(program, Query) else DROP}
        at_end = FLUSH if FLUSH in ends else DROP
        step, tick_ns = self.declaration.step, None
        if isinstance(step, WindowStep) and step.time == ARRIVAL:
            tick_ns = PER_SECOND["ns"] // PER_SECOND[self.declaration.unit]
        return self._workload(
            Query(
                name=self.name,
                operators=(*operators, operator),
                at_end=at_end,
                arrival_tick_ns=tick_ns,
            )
        )

    def pipeline(self, stage: Stage) -> Workload:
        """Return the workload whose last stage is `stage`; after windows of time, the stage becomes an operator."""
        program = None if self.before is None else self.before.program
        if isinstance(program, Query):
            return self.query(row_stages.operator_of(stage, self.source))
        assert program is None or isinstance(program, Pipeline), (
            "declarations have no other program"
        )
        event = program.event if program else windows.fields_of(self.declaration.reads)
        stages = (*(() if program is None else program.stages), stage)
        return self._workload(Pipeline(name=self.name, record=ROW, event=event, stages=stages))

    def _check_sessions(self, part: Declaration) -> None:
        """Check that sessions do not read windows of time or vice versa, because outputs of sessions leave early."""
        declaration = self.declaration
        if (
            not declaration.on_rows
            and not part.on_rows
            and (_is_session(declaration) or _is_session(part))
        ):
            raise ModelError(
                f"{self.place}: {declaration.name} makes {_windows(declaration)} of {part.name}, which is "
                f"{_windows(part)}; sessions neither read windows and joins nor are read by them: let "
                f"{declaration.name} read the input of {part.name}, or end with a step on rows (select, alert, "
                "deduplicate, count_window)"
            )

    def _check_order(self, part: Declaration) -> None:
        """Check that a step on rows does not depend on an order that parallel operators lose."""
        before = part.before
        if before is None or not part.on_rows or isinstance(part.step, SelectStep | FlatMapStep):
            return
        order = before.order_of_ties()
        if order.lost:
            raise ModelError(
                f"{self.place}: {before.name} gives rows of equal time in no order, and {part.name} depends "
                "on it: joins have none, and select has one only with the key of the step before it; select that "
                f"column and give it to {part.name} as key, or put a window between them"
            )
        if order.keys and not {*order.keys} <= {*part.keys}:
            keys = order.keys[0] if len(order.keys) == 1 else list(order.keys)
            raise ModelError(
                f"{self.place}: {part.name} depends on the order of rows of equal time, and in a chain with "
                f"windows {before.name} has one for each {keys} only; give {part.name} key={keys!r}, or "
                "let it read the table"
            )

    def _workload(self, program: Query | Pipeline) -> Workload:
        return program_workload(
            program,
            self.columns.source_of(self.declaration.reads),
            name=self.name,
            output=inferred_output(program),
            declaration=self.declaration,
        )
