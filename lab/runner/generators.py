"""Measures the highest rate of each load generator on this machine, once a session.

Near this ceiling a trial measures the generator, not the engine.
A row whose offered rate is above half of the ceiling gets a warning.
The send lag shows whether the generator kept up in the trial itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.isolate.isolation import Isolation
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import CeilingJob
from streamlab.results.meta import CeilingRecord

SAFE_SHARE = 0.5
"""Highest share of the ceiling without a warning: the generator must be able to do twice the rate
(docs/method.md)."""
CEILING_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The ceiling of one kind of generator.

    Attributes:
        eps: events/s into a null engine; None for a virtual source, or if unknown.
        reason: why `eps` is unknown; None otherwise.
    """

    eps: float | None = None
    reason: str | None = None

    def warnings(self, offered_eps: float | None) -> list[str]:
        """Return warnings about offering events at this rate."""
        if self.reason is not None:
            return [f"the generator's ceiling is unknown: {self.reason}"]
        if self.eps is None or offered_eps is None or offered_eps <= SAFE_SHARE * self.eps:
            return []
        return [
            f"the offered rate, {offered_eps:,.0f} events/s, is {offered_eps / self.eps:.0%} of "
            f"the generator's ceiling, {self.eps:,.0f}; above {SAFE_SHARE:.0%} the trial may "
            "measure the generator instead of the engine"
        ]


class Generators:
    """Measures ceilings on first use, and records them for run.json."""

    def __init__(
        self, run_dir: Path, noted: Mapping[str, CeilingRecord], isolate: Isolation
    ) -> None:
        """Begin a session.

        Args:
            run_dir: the run directory, for logs.
            noted: the ceilings of earlier sessions.
            isolate: where trials run.
        """
        self._run_dir = run_dir
        self.records = dict(noted)
        self._isolate = isolate
        self._ceilings: dict[str, Ceiling] = {}

    def ceiling(self, cell: Cell) -> Ceiling:
        """Return the ceiling of the cell's generator; the first call measures for about a second."""
        batch = cell.batch or 1
        key = f"{cell.engine}/{cell.variant}/b{batch}"
        if key not in self._ceilings:
            self._ceilings[key] = ceiling = self._measure(key, cell, batch)
            self.records[key] = CeilingRecord(ceiling_eps=ceiling.eps, reason=ceiling.reason)
        return self._ceilings[key]

    def _measure(self, key: str, cell: Cell, batch: int) -> Ceiling:
        job = CeilingJob(engine=cell.engine, variant=cell.variant, batch=batch)
        log = self._run_dir / "logs" / f"generator-{key.replace('/', '__')}.log"
        ended = run_trial(job, log=log, timeout_s=CEILING_TIMEOUT_S, isolate=self._isolate)
        if ended.result.get("status") is not None:
            return Ceiling(reason=ended.result["reason"])
        if ended.result.get("warnings"):  # the ceiling is not finite
            return Ceiling(reason="; ".join(json.loads(ended.result["warnings"])))
        return Ceiling(eps=ended.result.get("generator_ceiling_eps"))
