"""Checks declared windows of arrival time. Of their answers, the lab can check only the totals over all windows."""

import re
from collections.abc import Mapping
from typing import Any

from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.datasets.tables.lateness import KEEP
from streamlab.workloads.declarative.declaration import ARRIVAL, EVENT, Aggregate, Function
from streamlab.workloads.declarative.input_columns import InputColumns
from streamlab.workloads.model import ModelError


def check_time(
    time: str,
    place: str,
    columns: InputColumns,
    *,
    is_sliced: bool,
    where: Any,
    result: Mapping[str, Aggregate] | None,
    allowed_lateness: Any,
) -> None:
    """Check the time of windows. Windows of arrival time must have totals that can be checked.

    `is_sliced`: whether the window size is a multiple of the advance. If so, each row is in the same number of windows.

    Raises:
        ModelError: the time is unknown, or windows of arrival time have no such totals.
    """
    if time not in (EVENT, ARRIVAL):
        raise ModelError(f"{place}: time is {time!r}; give {EVENT} or {ARRIVAL}")
    if time == EVENT:
        return
    aggregates = [part for part in (result or {}).values() if isinstance(part, Aggregate)]
    functions = {aggregate.function for aggregate in aggregates}
    texts = [where if isinstance(where, str) else "", *(aggregate.of for aggregate in aggregates)]
    table = columns.source
    problems = {
        "input is a declared workload; give a table": columns.declaration is not None,
        'input has late rows; give late="drop"': isinstance(table, Table) and table.late == KEEP,
        "allowed_lateness is given; leave it out": allowed_lateness is not None,
        "the size is not a multiple of every": not is_sliced,
        "no lab.count() counts the rows; give result={...} with one": (
            Function.COUNT not in functions
        ),
        "a lab.distinct has no total; leave it out": Function.DISTINCT in functions,
        "where is a function; give an expression": callable(where),
        "an expression reads ts, the time of arrival; leave it out": any(
            re.search(r"\bts\b", text) for text in texts
        ),
    }
    for problem, applies in problems.items():
        if applies:
            raise ModelError(
                f'{place}: time is "{ARRIVAL}", so totals of all windows are checked, and {problem}'
            )
