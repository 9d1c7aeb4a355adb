"""Measures the gate itself on this machine: false alarms without a change, power with a planted.

A round runs one cell in four arms, all of this very lab: twice as it is, and with 5 % and 10 % of
busy work planted; in turn, every second repetition backwards, two stages of n repetitions. The gate
is then held as usual between the first arm and each of the others. Instruction counts are gated the
same way, on the core's micro-benchmarks.

Rounds are few, so each is also dealt anew many times: which of both unchanged arms is called old is
chosen by lot in every repetition, which changes nothing when nothing differs. These resampled gates
share their trials; their rate is steadier than that of the rounds, its error is that of the rounds.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from lab.gate.arm import Arm, Result
from lab.gate.errors import GateError
from lab.gate.instructions import Counts, compare_counts, count_tree
from lab.gate.metrics import METRICS, Metric
from lab.gate.outcome import Word
from lab.gate.render import aligned
from lab.gate.trials import Bench, Say, find_inputs, works
from lab.matrix.cells import expand
from lab.matrix.matrix import parse_matrix
from lab.parent.host import SOURCE
from results import schema
from results.stats.decision import TWO_STAGE, Arms, GateVerdict, Rule, confirm, screen, suspects
from results.stats.noise import resampled_noise

MATRIX = """
[run]
name = "self-test"
timeout_s = 60

[[workload]]
name = "event_window"
events = 10_000_000

[[engine]]
name = "multicore"
workers = [1]
"""

PLANTS = (0.05, 0.10)
SEED = 1
DEALS = 200
"""Resampled gates per round; they cost a second and no trial."""

# The rest of the time is for trials: counts repeat themselves exactly.
SHARE_FOR_COUNTS = 0.25

_SAME = ("same 1", "same 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The costs of one round and metric: float[2 n] by arm, in the order of repetitions."""

    same: tuple[np.ndarray, np.ndarray]
    planted: Mapping[float, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often the gate called a regression.

    Attributes:
        alarms: of rounds without a change.
        seen: of rounds with one, by its size.
        resampled_alarms: share of the resampled gates without a change.
        resampled_seen: the same with one.
        noise: 95th percentile of A/A differences, median over rounds.
    """

    rounds: int
    alarms: int
    seen: Mapping[float, int]
    resampled_alarms: float
    resampled_seen: Mapping[float, float]
    noise: float


def run_self_test(*, rounds: int, minutes: float, master: str, say: Say) -> Iterator[str]:
    """Yield the lines of the result; begins no round after `minutes`.

    Raises:
        GateError: a trial failed, or nothing could be measured in that time.
    """
    began = time.monotonic()
    names = ("wall", "cpu")
    blocks: dict[str, list[Block]] = {name: [] for name in names}
    bench, arms = _bench(master, say)
    trial_s = (1 - SHARE_FOR_COUNTS) * minutes * 60
    for number in range(rounds):
        if number and (time.monotonic() - began) * (1 + 1 / number) > trial_s:
            break
        found = _round(bench, arms, TWO_STAGE)
        for name in names:
            blocks[name].append(_block(found, METRICS[name]))
        say(f"round {number + 1} of {rounds}: {time.monotonic() - began:.0f} s")
    rng = np.random.default_rng(SEED)
    rates = {name: rate(blocks[name], TWO_STAGE, rng) for name in names}
    head = ["metric", "rounds", "false alarms", *(f"{p:.0%} slower seen" for p in PLANTS)]
    rows = [[*head, "A/A 95 %"]]
    rows += [_row(name, found) for name, found in rates.items()]
    counted = _counts(rounds, began + minutes * 60, say)
    if isinstance(counted, str):
        rows.append(["instructions", "0", *("" for _ in range(1 + len(PLANTS))), "not counted"])
    else:
        rows.append(counted)
    yield f"one cell, {TWO_STAGE.n} processes per arm and stage; counts of all benchmarks"
    yield ""
    yield from aligned(rows)
    yield ""
    yield "intervals: 95 %, Clopper-Pearson, of the rounds; [ ]: the same rounds dealt anew"
    if isinstance(counted, str):
        yield f"instructions: {counted}"
    yield f"{time.monotonic() - began:.0f} s"


def rate(
    blocks: Sequence[Block], rule: Rule, rng: np.random.Generator, deals: int = DEALS
) -> Rates:
    """Return how often a gate calls a regression on blocks of costs."""
    quick = replace(rule, draws=200)
    n = rule.n
    resampled = [
        (
            _deal(block, None, quick, rng, deals),
            {p: _deal(block, p, quick, rng, deals) for p in block.planted},
        )
        for block in blocks
    ]
    return Rates(
        rounds=len(blocks),
        alarms=sum(_called(*block.same, rule, rng) for block in blocks),
        seen={
            p: sum(_called(block.same[0], block.planted[p], rule, rng) for block in blocks)
            for p in blocks[0].planted
        },
        resampled_alarms=float(np.mean([null for null, _ in resampled])),
        resampled_seen={
            p: float(np.mean([seen[p] for _, seen in resampled])) for p in blocks[0].planted
        },
        noise=median(
            resampled_noise([arm[:n] for arm in block.same], n, rng).p95 for block in blocks
        ),
    )


def _deal(
    block: Block, planted: float | None, rule: Rule, rng: np.random.Generator, deals: int
) -> float:
    """Return the share of resampled gates that call a regression."""
    calls = 0
    for _ in range(deals):
        swap = rng.random(len(block.same[0])) < 0.5
        old = np.where(swap, block.same[1], block.same[0])
        other = np.where(swap, block.same[0], block.same[1])
        new = other if planted is None else block.planted[planted]
        calls += _called(old, new, rule, rng)
    return calls / deals


def _called(old: np.ndarray, new: np.ndarray, rule: Rule, rng: np.random.Generator) -> bool:
    key = ("cell", "metric")

    def stage(number: int) -> dict[tuple[str, str], Arms]:
        part = slice(number * rule.n, (number + 1) * rule.n)
        return {key: Arms(old=tuple(old[part]), new=tuple(new[part]))}

    first = screen(stage(0), rule, rng)
    if not suspects(first):
        return False
    return confirm(first, stage(1), rule, rng)[0].verdict is GateVerdict.REGRESSION


def _bench(master: str, say: Say) -> tuple[Bench, tuple[Arm, ...]]:
    cells = expand(parse_matrix(MATRIX, "the self-test's matrix"))
    planted = {f"planted {p:g}": p for p in PLANTS}
    bench = Bench(
        works=works(cells, find_inputs(cells, master=master, say=say)),
        logs=Path(tempfile.mkdtemp(prefix="lab-gate-logs-")),
        planted=planted,
    )
    arms = tuple(
        Arm(
            name=name, revision="this lab", python=Path(sys.executable), path=(SOURCE,), tree=SOURCE
        )
        for name in (*_SAME, *planted)
    )
    bench.make_oracles(arms[0], say)
    for cell in bench.works:
        _verified(bench.run(arms[0], cell))  # Compiles; its time does not count.
    return bench, arms


def _round(bench: Bench, arms: Sequence[Arm], rule: Rule) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {arm.name: [] for arm in arms}
    (cell,) = bench.works
    for repetition in range(2 * rule.n):
        for arm in arms if repetition % 2 == 0 else reversed(arms):
            found[arm.name].append(_verified(bench.run(arm, cell)))
    return found


def _verified(result: Result) -> Result:
    if result.get("status") not in schema.VERIFIED:
        raise GateError(f"a trial of the self-test failed: {result}")
    return result


def _block(results: Mapping[str, Sequence[Result]], metric: Metric) -> Block:
    costs = {}
    for arm, rows in results.items():
        values = [metric.cost(row) for row in rows]
        if any(value is None for value in values):
            raise GateError(f"a trial of the self-test has no {metric.name}: {metric.about}")
        costs[arm] = np.array(values, dtype=np.float64)
    return Block(
        same=(costs[_SAME[0]], costs[_SAME[1]]),
        planted={p: costs[f"planted {p:g}"] for p in PLANTS},
    )


def _counts(rounds: int, until: float, say: Say) -> list[str] | str:
    """Return the row of the table for instruction counts, or why there is none."""
    alarms, done, away = 0, 0, 0.0
    seen: dict[float, list[bool]] = {p: [] for p in PLANTS}
    with tempfile.TemporaryDirectory(prefix="lab-gate-counts-") as name:
        out = Path(name) / "counts.json"
        try:
            base = count_tree(SOURCE, SOURCE, out)
            for number in range(rounds):
                began = time.monotonic()
                again = count_tree(SOURCE, SOURCE, out)
                alarms += bool(_regressions(base, again))
                away = max(away, *(abs(again.counts[k] / n - 1) for k, n in base.counts.items()))
                for p in PLANTS:
                    plants = [(benchmark, 100 * p) for benchmark in base.counts]
                    slower = _regressions(base, count_tree(SOURCE, SOURCE, out, plants=plants))
                    seen[p] += [benchmark in slower for benchmark in base.counts]
                done = number + 1
                took = time.monotonic() - began
                say(f"counts, round {done} of {rounds}: {took:.0f} s")
                if time.monotonic() + took > until:
                    break
        except GateError as error:
            return str(error)
    power = [_share(sum(calls), len(calls)) for calls in seen.values()]
    return [
        "instructions",
        str(done),
        _share(alarms, done),
        *power,
        f"{100 * away:.1f} % (largest)",
    ]


def _regressions(old: Counts, new: Counts) -> frozenset[str]:
    return frozenset(line.cell for line in compare_counts(old, new) if line.word is Word.REGRESSION)


def _row(name: str, found: Rates) -> list[str]:
    alarms = f"{_share(found.alarms, found.rounds)} [{found.resampled_alarms:.1%}]"
    seen = [
        f"{_share(count, found.rounds)} [{found.resampled_seen[p]:.1%}]"
        for p, count in found.seen.items()
    ]
    return [name, str(found.rounds), alarms, *seen, f"{100 * found.noise:.1f} %"]


def _share(count: int, of: int) -> str:
    from scipy import stats  # heavy

    low, high = stats.binomtest(count, of).proportion_ci(0.95)
    return f"{count} of {of} ({low:.1%} - {high:.1%})"
