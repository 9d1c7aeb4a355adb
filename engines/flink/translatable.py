"""Decides which declared workloads have a query in Flink's SQL."""

from streamlab.engines.declared_queries import nan_columns, untranslatable, value_of_aggregate
from streamlab.engines.flink.generated import SQL
from streamlab.engines.protocol import Task
from streamlab.workloads.declarative.declaration import (
    ASOF,
    INNER,
    Declaration,
    Function,
    JoinStep,
    SelectStep,
    TopStep,
    WindowStep,
)
from streamlab.workloads.model import Workload


def refuse(workload: Workload) -> str | None:
    """Return why a workload has no query in Flink's SQL, worded to follow the variant's name; None if it has one."""
    reason = untranslatable(workload)
    if reason is not None:
        return reason
    assert isinstance(workload.declaration, Declaration), "untranslatable refuses other workloads"
    steps = workload.declaration.steps()
    join = steps[0].step
    if isinstance(join, JoinStep):
        # A joined row has no time attribute. Flink may also emit rows before their bound has passed.
        selects = all(isinstance(part.step, SelectStep) for part in steps[1:])
        if len(steps) == 1 or (selects and (join.how == INNER or steps[-1].flushes)):
            return None
        return (
            f"cannot translate {steps[1].name}, which reads the join {steps[0].name}: in Flink's SQL rows of a join "
            "have no event time; run it on duckdb, polars or an engine for any program"
        )
    if len({part.on_rows for part in steps}) > 1:
        names = ", ".join(part.name for part in steps)
        return (
            f"cannot translate the chain {names}, which has steps on rows and on windows of time; "
            "run it on duckdb, polars or an engine for any program"
        )
    for part in steps:
        column = _nan_column(part)
        if column is not None:
            return (
                f"cannot translate {part.name}: {column} may be NaN, which Flink's SQL orders in another way; "
                "run it on duckdb, polars or an engine for any program"
            )
    return None


def _nan_column(part: Declaration) -> str | None:
    """Return a column for which the step orders values that may be NaN; None if there is no such column."""
    if isinstance(part.step, TopStep):
        return part.step.by if part.step.by in nan_columns(part) else None
    results = (part.step.result or {}) if isinstance(part.step, WindowStep) else {}
    for name, aggregate in results.items():
        value = value_of_aggregate(aggregate, part, SQL)
        is_ordered = aggregate.function not in (Function.COUNT, Function.SUM, Function.MEAN)
        if value is not None and is_ordered and value.may_be_nan:
            return name
    return None


def refuse_times(task: Task) -> str | None:
    """Return why a generated query does not take the times of an input, or None.

    Flink's interval joins begin at a watermark of 0 and drop rows up to this time.
    """
    join = task.workload.declaration.steps()[0].step
    if not isinstance(join, JoinStep) or join.how == ASOF:
        return None
    earliest = min((stream.ts_min for stream in task.dataset.streams if stream.rows), default=1)
    if earliest > 0:
        return None
    return (
        f"Flink's interval joins drop rows up to time 0, and the input begins at {earliest}; use times above 0, or "
        "run it on duckdb, polars or an engine for any program"
    )
