"""Defines the variants `adhoc`, `1t` and `indexed`, which run hand-written band joins."""

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.joins.run import (
    ADHOC,
    SUMMARIES,
    JoinsOptions,
    JoinsRun,
    check_join,
)
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.workloads.model import Query

_ONE_THREAD = "one thread, so there is no placement or communication"
_VIOLATED = properties(
    "the code deals tuples to its threads, by their number",
    "which thread keeps a tuple follows from its position",
    "threads share the log and each other's columns by hand",
    holds=False,
)


def _family(kind: str) -> Family:
    return Family(
        name=kind,
        summary=SUMMARIES[kind],
        models=(Query,),
        run=lambda query, data, settings, options: JoinsRun(
            kind, query, data, settings, options.join_form
        ),
        compiles=False,
        unsupported=lambda task, options: check_join(task.workload, kind, task.workers, options),
        options_type=JoinsOptions,
        properties=_VIOLATED if kind == ADHOC else properties(*[_ONE_THREAD] * 3),
    )


JOINS = tuple(_family(kind) for kind in _core.JOIN_KINDS)
