"""Simulates how well the gate's rules detect changes: `python tools/gate_simulation.py`.

Prints the tables of docs/gates.md. A process's cost is log-normal with a standard deviation of `sd`
(a share); there is no other noise unless a row says so. This is a model; `lab gate --self-test`
measures what a gate does on a real machine.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from streamlab.results.stats.decision import (
    TWO_STAGE,
    Arms,
    Decision,
    GateVerdict,
    Key,
    Rule,
    confirm,
    screen,
    suspects,
)

SEED = 20
TRIALS = 4000
SUITES = 1000
# Fast, and enough to estimate a median absolute deviation to a few percent.
DRAWS = 200

Floats = npt.NDArray[np.float64]
Measure = Callable[[Sequence[Key], int], Mapping[Key, Arms]]
"""Measures cells in one stage, 0 or 1."""


def main() -> None:
    """Print all tables as Markdown; takes a few minutes."""
    for table in (alarms_of_suites, power, stored_baseline):
        sys.stdout.write("\n".join(table()) + "\n\n")
        sys.stdout.flush()


def alarms_of_suites() -> Iterator[str]:
    """Yield a table of false alarms: the share of unchanged suites that raise an alarm."""
    yield from _head("cells", "sd", "alarms")
    rng = np.random.default_rng(SEED)
    for cells in (1, 10, 30):
        for sd in (0.01, 0.03, 0.05):
            suites = TRIALS if cells == 1 else SUITES
            keys = [(str(k), "wall") for k in range(cells)]
            alarms = sum(_alarm(_twice(keys, _steady(rng, sd), rng)) for _ in range(suites))
            yield _row(cells, _share(sd), _with_error(alarms / suites, suites))


def power() -> Iterator[str]:
    """Yield a table of power: how often the gate reports a suite's only slower cell, by cells, noise and slow-down."""
    yield from _head("cells", "sd", "5 % slower", "10 % slower", "unstable, 0 % slower")
    rng = np.random.default_rng(SEED)
    for cells in (1, 10, 30):
        for sd in (0.01, 0.03, 0.05):
            suites = SUITES if cells == 1 else SUITES // 4
            keys = [(str(k), "wall") for k in range(cells)]
            shares = []
            for slower in (0.05, 0.10):
                measure = _steady(rng, sd, slower={keys[0]: slower})
                verdicts = [_twice(keys, measure, rng)[0].verdict for _ in range(suites)]
                shares.append(verdicts.count(GateVerdict.REGRESSION) / suites)
            unchanged_verdicts = [
                _twice(keys[:1], _steady(rng, sd), rng)[0].verdict for _ in range(suites)
            ]
            yield _row(
                cells,
                _share(sd),
                *(_with_error(share, suites) for share in shares),
                _share(unchanged_verdicts.count(GateVerdict.UNSTABLE) / suites),
            )


def stored_baseline() -> Iterator[str]:
    """Yield a table of false alarms per cell, for arms from different jobs."""
    yield from _head("jobs differ by sd", "sd within a job 1 %", "3 %")
    rng = np.random.default_rng(SEED)
    keys = [("a", "wall")]
    for job_sd in (0.0, 0.01, 0.03):
        shares = []
        for sd in (0.01, 0.03):
            verdicts = (_twice(keys, _jobs(rng, sd, job_sd), rng) for _ in range(TRIALS))
            shares.append(_with_error(sum(map(_alarm, verdicts)) / TRIALS, TRIALS))
        yield _row(_share(job_sd), *shares)


def _steady(
    rng: np.random.Generator, sd: float, slower: Mapping[Key, float] | None = None
) -> Measure:
    """Return a measurement in which each process has noise of `sd`; `slower` has the slow-down by cell."""
    effects = slower or {}

    def measure(keys: Sequence[Key], stage: int) -> Mapping[Key, Arms]:
        n = TWO_STAGE.n
        return {
            key: Arms(
                old=tuple(_costs(rng, n, sd)),
                new=tuple((1 + effects.get(key, 0.0)) * _costs(rng, n, sd)),
            )
            for key in keys
        }

    return measure


def _jobs(rng: np.random.Generator, sd: float, job_sd: float) -> Measure:
    """Return a measurement whose old arm comes from another job; both stages of the new arm are in this job."""
    old = tuple(_costs(rng, TWO_STAGE.n, sd))
    shift = float(np.exp(rng.normal(0, job_sd)))

    def measure(keys: Sequence[Key], stage: int) -> Mapping[Key, Arms]:
        return {key: Arms(old=old, new=tuple(shift * _costs(rng, TWO_STAGE.n, sd))) for key in keys}

    return measure


def _twice(keys: Sequence[Key], measure: Measure, rng: np.random.Generator) -> tuple[Decision, ...]:
    """Decide in two stages, as the gate does: screen all cells, then measure suspects again."""
    findings = screen(measure(keys, 0), _quick(), rng)
    return confirm(findings, measure(suspects(findings), 1), _quick(), rng)


def _quick() -> Rule:
    return replace(TWO_STAGE, draws=DRAWS)


def _alarm(findings: Sequence[Decision]) -> bool:
    return any(finding.verdict is GateVerdict.REGRESSION for finding in findings)


def _costs(rng: np.random.Generator, n: int, sd: float) -> Floats:
    return np.exp(rng.normal(0, sd, n))


def _with_error(share: float, trials: int) -> str:
    """Write a share with its 95 % interval (Clopper and Pearson)."""
    low, high = stats.binomtest(round(share * trials), trials).proportion_ci(0.95)
    return f"{_share(share)} ({_share(low)} - {_share(high)})"


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*("---" for _ in names))


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
