"""Measures the highest rate of each load generator on this machine, once a session.

Near this ceiling a trial measures the generator, not the engine.
A row whose offered rate is above half of the ceiling gets a warning.
The send lag shows whether the generator kept up in the trial itself.
"""

import json
from collections.abc import Mapping
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


def ceiling_warnings(ceiling: CeilingRecord, offered_eps: float | None) -> list[str]:
    """Return warnings about offering events at this rate."""
    if ceiling.reason is not None:
        return [f"the generator's ceiling is unknown: {ceiling.reason}"]
    eps = ceiling.ceiling_eps
    if eps is None or offered_eps is None or offered_eps <= SAFE_SHARE * eps:
        return []
    return [
        f"the offered rate, {offered_eps:,.0f} events/s, is {offered_eps / eps:.0%} of "
        f"the generator's ceiling, {eps:,.0f}; above {SAFE_SHARE:.0%} the trial may "
        "measure the generator instead of the engine"
    ]


def measure_ceiling(job: CeilingJob, log: Path, isolate: Isolation | None = None) -> CeilingRecord:
    """Measure the rate of a generator into a null engine, for about a second; None: a virtual source."""
    result = run_trial(job, log=log, timeout_s=CEILING_TIMEOUT_S, isolate=isolate).result
    if result.get("status") is not None:
        return CeilingRecord(reason=result["reason"])
    if result.get("warnings"):  # the ceiling is not finite
        return CeilingRecord(reason="; ".join(json.loads(result["warnings"])))
    return CeilingRecord(ceiling_eps=result.get("generator_ceiling_eps"))


class Generators:
    """Measures ceilings on first use, and records them for run.json."""

    def __init__(
        self, run_dir: Path, noted: Mapping[str, CeilingRecord], isolate: Isolation
    ) -> None:
        """Begin a session; `noted` are the ceilings of earlier sessions."""
        self._run_dir = run_dir
        self.records = dict(noted)
        self._isolate = isolate
        self._measured: set[str] = set()

    def ceiling(self, cell: Cell) -> CeilingRecord:
        """Return the ceiling of the cell's generator; the first call measures it."""
        batch = cell.batch or 1
        key = f"{cell.engine}/{cell.variant}/b{batch}"
        if key not in self._measured:
            job = CeilingJob(engine=cell.engine, variant=cell.variant, batch=batch)
            log = self._run_dir / "logs" / f"generator-{key.replace('/', '__')}.log"
            self.records[key] = measure_ceiling(job, log, self._isolate)
            self._measured.add(key)
        return self.records[key]
