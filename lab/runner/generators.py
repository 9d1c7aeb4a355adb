"""What the sources of offered loads can hand over on this machine, measured once a session.

A rate that comes near to the source's own ceiling measures the source. Above half of the ceiling a
row says so; whether the source kept up in the trial itself is judged there, by its send lag.
"""

import json
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlab.lab.isolate.isolation import Isolation
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import CeilingJob

SAFE_SHARE = 0.5
"""Of the ceiling: a null engine at twice the claimed rate shows that the source is not what was
measured (docs/method.md)."""
CEILING_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The ceiling of one kind of source.

    Attributes:
        eps: events/s into a null engine; None for a virtual source, or when it is unknown.
        reason: why it is unknown; None otherwise.
    """

    eps: float | None = None
    reason: str | None = None

    def warnings(self, offered_eps: float | None) -> list[str]:
        """Return what is doubtful about offering at this rate."""
        if self.reason is not None:
            return [f"the generator's ceiling is unknown: {self.reason}"]
        if self.eps is None or offered_eps is None or offered_eps <= SAFE_SHARE * self.eps:
            return []
        return [
            f"the offered rate, {offered_eps:,.0f} events/s, is {offered_eps / self.eps:.0%} of "
            f"what the generator can do, {self.eps:,.0f}; above {SAFE_SHARE:.0%} it may be the "
            "generator that is measured"
        ]


class Generators:
    """Measures ceilings when they are first asked for, and notes them for run.json."""

    def __init__(self, run_dir: Path, noted: MutableMapping[str, Any], isolate: Isolation) -> None:
        """Begin a session.

        Args:
            run_dir: for the logs.
            noted: `generators` of run.json; entries of an earlier session are replaced.
            isolate: where trials run.
        """
        self._run_dir = run_dir
        self._noted = noted
        self._isolate = isolate
        self._known: dict[str, Ceiling] = {}

    def ceiling(self, cell: Cell) -> Ceiling:
        """Return the ceiling of the cell's source; measured now, for about a second, if need be."""
        batch = cell.batch or 1
        key = f"{cell.engine}/{cell.variant}/b{batch}"
        if key not in self._known:
            self._known[key] = found = self._measure(key, cell, batch)
            self._noted[key] = {"ceiling_eps": found.eps, "reason": found.reason}
        return self._known[key]

    def _measure(self, key: str, cell: Cell, batch: int) -> Ceiling:
        job = CeilingJob(engine=cell.engine, variant=cell.variant, batch=batch)
        log = self._run_dir / "logs" / f"generator-{key.replace('/', '__')}.log"
        ended = run_trial(job, log=log, timeout_s=CEILING_TIMEOUT_S, isolate=self._isolate)
        if ended.result.get("status") is not None:
            return Ceiling(reason=ended.result["reason"])
        if ended.result.get("warnings"):  # no finite number
            return Ceiling(reason="; ".join(json.loads(ended.result["warnings"])))
        return Ceiling(eps=ended.result.get("generator_ceiling_eps"))
