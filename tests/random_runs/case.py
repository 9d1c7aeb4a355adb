"""The plain values of a random run, which people read and another process receives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model import Input, ListColumn

ROWS_SHOWN = 200
"""Of a stream: those that are shrunk have fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: of which family's program, on which input, and how (options by name)."""

    family: str
    program: str
    data: Input
    how: Mapping[str, Any]

    def text(self) -> str:
        """Return it for people."""
        how = ", ".join(f"{name} = {value!r}" for name, value in self.how.items())
        lines = [f"{self.family}, program {self.program!r}", how]
        data = self.data
        lines.append(f"keys: {data.alphabet.keys}, until_ts: {data.until_ts}")
        for stream in data.streams:
            lines.append(f"{stream.name}, kinds {stream.kinds}, {len(stream)} events")
            columns = {"ts": stream.ts, "tag": stream.tag, **stream.payload}
            columns["heartbeats"] = stream.heartbeats
            for name, column in columns.items():
                if column is not None:
                    lines.append(f"  {name} = {_shown(column)}")
        return "\n".join(lines)


def _shown(column: Any) -> str:
    rows = list(column.rows()) if isinstance(column, ListColumn) else np.asarray(column).tolist()
    cut = f" ... {len(rows) - ROWS_SHOWN} more" if len(rows) > ROWS_SHOWN else ""
    return f"{rows[:ROWS_SHOWN]}{cut}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of runs, by its name in the core.

    `check` does a case; it returns why that was refused, None when all is right, and raises
    whatever says that it is not.
    """

    name: str
    cases: st.SearchStrategy[Case]
    check: Callable[[Case], str | None]
