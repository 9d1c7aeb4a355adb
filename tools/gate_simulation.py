"""Measures what the gate's rules are worth by simulation: `python tools/gate_simulation.py`.

Prints the tables of docs/gates.md. A process's cost is log-normal with a standard deviation of `sd`
(a share); there is no other noise unless a row says so. That is a model: what a gate does on a real
machine is measured by `lab gate --self-test`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from streamlab.results.stats.decision import (
    ONE_STAGE,
    TWO_STAGE,
    Arms,
    Decision,
    GateVerdict,
    Key,
    Rule,
    confirm,
    decide_once,
    screen,
    suspects,
)
from streamlab.results.stats.intervals import Interval, median_interval, ratio_interval
from streamlab.results.stats.mann_whitney import mann_whitney

SEED = 20
TRIALS = 4000
SUITES = 1000
INTERVALS = 2000
# Enough for a MAD to a few percent, and fast.
DRAWS = 200

Floats = npt.NDArray[np.float64]
Measure = Callable[[Sequence[Key], int], Mapping[Key, Arms]]
"""Measures cells in one stage, 0 or 1."""


def main() -> None:
    """Print all tables as Markdown; takes a few minutes."""
    for table in (intervals, alarms_of_suites, power, drift, stored_baseline):
        sys.stdout.write("\n".join(table()) + "\n\n")
        sys.stdout.flush()


def intervals() -> Iterator[str]:
    """Yield how often 95 % intervals contain the truth."""
    yield from _head("interval", "n", "says", "covers", "relative width")
    rng = np.random.default_rng(SEED)

    def of_median(n: int) -> Interval | None:
        return median_interval(_costs(rng, n, 0.03))

    def of_ratio(n: int) -> Interval | None:
        return ratio_interval(_costs(rng, n, 0.03), 1.05 * _costs(rng, n, 0.03), rng)

    for name, draw, sizes, truth in (
        ("median, order statistics", of_median, (6, 10, 20), 1),
        ("ratio of medians, BCa", of_ratio, (5, 10, 20), 1.05),
    ):
        for n in sizes:
            ends = [i for _ in range(INTERVALS) if (i := draw(n)) is not None]
            covers = _mean([i.low <= truth <= i.high for i in ends])
            width = _mean([i.high - i.low for i in ends])
            says = _share(ends[0].coverage)
            yield _row(name, n, says, _with_error(covers, INTERVALS), _share(width))


def alarms_of_suites() -> Iterator[str]:
    """Yield the share of suites without any change that raise an alarm."""
    yield from _head("cells", "sd", "one stage", "two stages")
    rng = np.random.default_rng(SEED)
    for cells in (1, 10, 30):
        for sd in (0.01, 0.03, 0.05):
            suites = TRIALS if cells == 1 else SUITES
            keys = [(str(k), "wall") for k in range(cells)]
            once = sum(_alarm(_once(keys, _steady(rng, sd), rng)) for _ in range(suites))
            twice = sum(_alarm(_twice(keys, _steady(rng, sd), rng)) for _ in range(suites))
            shares = (_with_error(alarms / suites, suites) for alarms in (once, twice))
            yield _row(cells, _share(sd), *shares)


def power() -> Iterator[str]:
    """Yield how often the one slower cell of a suite is called, by noise, size and cells."""
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
            still = [_twice(keys[:1], _steady(rng, sd), rng)[0].verdict for _ in range(suites)]
            yield _row(
                cells,
                _share(sd),
                *(_with_error(share, suites) for share in shares),
                _share(still.count(GateVerdict.UNSTABLE) / suites),
            )


def drift() -> Iterator[str]:
    """Yield false alarms of one test under a linear drift, by the order of processes."""
    yield from _head("drift over the job", "AAABBB", "ABBA")
    rng = np.random.default_rng(SEED)
    n = TWO_STAGE.n
    orders = (np.repeat([False, True], n), np.tile([False, True, True, False], n // 2))
    for total in (0.0, 0.02, 0.05):
        shares = []
        for is_new in orders:
            alarms = 0
            for _ in range(TRIALS):
                values = _costs(rng, 2 * n, 0.02) * np.exp(np.linspace(0, total, 2 * n))
                arms = Arms(old=tuple(values[~is_new]), new=tuple(values[is_new]))
                alarms += bool(suspects(screen({("a", "wall"): arms}, _quick(), rng)))
            shares.append(_with_error(alarms / TRIALS, TRIALS))
        yield _row(_share(total), *shares)


def stored_baseline() -> Iterator[str]:
    """Yield false alarms per cell when arms come from different jobs, and of simpler gates."""
    yield from _head("gate, no change", "sd within a job 1 %", "3 %")
    rng = np.random.default_rng(SEED)
    keys = [("a", "wall")]
    rows: list[tuple[str, Callable[[float], bool]]] = [
        ("one run against one on other hosts (sd 10 %), > 10 %", lambda sd: _single(rng, sd, 0.10)),
        ("one run against one on other hosts (sd 10 %), > 25 %", lambda sd: _single(rng, sd, 0.25)),
        (
            "5 processes x 20 values pooled, p < .01",
            lambda sd: mann_whitney(_pool(rng, sd), _pool(rng, sd), "greater") < 0.01,
        ),
    ]
    for between in (0.0, 0.01, 0.03):
        rows.append(
            (
                f"stored baseline, two stages, jobs differ by sd {between:.0%}",
                lambda sd, between=between: _alarm(  # type: ignore[misc]
                    _twice(keys, _jobs(rng, sd, between), rng)
                ),
            )
        )
    for name, alarm in rows:
        trials = TRIALS if "pooled" not in name else TRIALS // 4
        yield _row(
            name,
            *(
                _with_error(sum(alarm(sd) for _ in range(trials)) / trials, trials)
                for sd in (0.01, 0.03)
            ),
        )


def _steady(
    rng: np.random.Generator, sd: float, slower: Mapping[Key, float] | None = None
) -> Measure:
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


def _jobs(rng: np.random.Generator, sd: float, between: float) -> Measure:
    """The old arm was measured once, in another job; both stages of the new one are in this job."""
    old = tuple(_costs(rng, TWO_STAGE.n, sd))
    shift = float(np.exp(rng.normal(0, between)))

    def measure(keys: Sequence[Key], stage: int) -> Mapping[Key, Arms]:
        return {key: Arms(old=old, new=tuple(shift * _costs(rng, TWO_STAGE.n, sd))) for key in keys}

    return measure


def _twice(keys: Sequence[Key], measure: Measure, rng: np.random.Generator) -> tuple[Decision, ...]:
    first = screen(measure(keys, 0), _quick(), rng)
    return confirm(first, measure(suspects(first), 1), _quick(), rng)


def _once(keys: Sequence[Key], measure: Measure, rng: np.random.Generator) -> tuple[Decision, ...]:
    return decide_once(measure(keys, 0), replace(ONE_STAGE, draws=DRAWS), rng)


def _quick() -> Rule:
    return replace(TWO_STAGE, draws=DRAWS)


def _alarm(findings: Sequence[Decision]) -> bool:
    return any(finding.verdict is GateVerdict.REGRESSION for finding in findings)


def _single(rng: np.random.Generator, sd: float, above: float) -> bool:
    # Hosts of shared runners differ by about 10 %.
    old, new = np.exp(rng.normal(0, np.hypot(0.10, sd), 2))
    return bool(new / old > 1 + above)


def _pool(rng: np.random.Generator, sd: float) -> Floats:
    runs = rng.normal(0, sd, (5, 1))
    return np.exp(runs + rng.normal(0, sd, (5, 20))).ravel()


def _costs(rng: np.random.Generator, n: int, sd: float) -> Floats:
    return np.exp(rng.normal(0, sd, n))


def _with_error(share: float, trials: int) -> str:
    """Write a share with its 95 % interval (Clopper and Pearson)."""
    low, high = stats.binomtest(round(share * trials), trials).proportion_ci(0.95)
    return f"{_share(share)} ({_share(low)} - {_share(high)})"


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*("---" for _ in names))


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
