"""Measures the gate itself on this machine: false alarms without a change, power with a plant.

A round runs a cell in arms that are all of this very lab: two as they are, and others with a plant;
in turn, every second repetition backwards, two stages of n repetitions. The gate is then held as
usual between the first arm and each of the others. One cell catches up and has work and memory
planted; one is under an offered load and has latency planted, or a server that is too slow for it.
Instruction counts are gated the same way, on the core's micro-benchmarks.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from streamlab.lab.gate.arm import Arm, Result
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.instructions import Counts, compare_counts, count_tree
from streamlab.lab.gate.metrics import INSTRUCTIONS, METRICS
from streamlab.lab.gate.outcome import Word
from streamlab.lab.gate.power import Block, Values, costs_called, rate, statuses_called
from streamlab.lab.gate.render import aligned
from streamlab.lab.gate.status import STATUS, is_fault, is_verified
from streamlab.lab.gate.trials import Bench, Say, find_inputs, works
from streamlab.lab.host.installation import IMPORT_ROOT, SOURCE
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.results.stats.decision import TWO_STAGE, Rule
from streamlab.results.stats.methods import INDEPENDENT, PAIRED, Method
from streamlab.results.stats.noise import DRAWS
from streamlab.results.stats.statuses import level

SEED = 1
SIZES = (0.05, 0.10)
RATE_EPS = 5000
"""Slow enough for plain Python to keep up with on a busy machine, and 10,000 outputs in 2 s."""

DELAY_NS = 1_000_000
SERVED = 0.9
"""Of the rate, by a server that is too slow for it."""

CATCH_UP = """
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
UNDER_LOAD = f"""
[run]
name = "self-test-load"
timeout_s = 60

[[workload]]
name = "forward"
events = 100_000

[[engine]]
name = "reference"

[load]
rate_eps = [{RATE_EPS}]
warm_up_s = 0.2
window_s = 2
"""

_SAME = ("same 1", "same 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What is gated in an experiment.

    Attributes:
        name: of the metric, or `STATUS`.
        plants: the plants that are meant for it, and what they are in words.
        method: how its arms are compared; None: statuses are.
    """

    name: str
    plants: Mapping[str, str]
    method: Method | None = INDEPENDENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A cell, what is planted in it, and what is gated.

    Attributes:
        matrix: of one cell.
        plants: by name, fields of a trial that are other than in its cell.
        metrics: what is gated.
    """

    matrix: str
    plants: Mapping[str, Mapping[str, Any]]
    metrics: Sequence[Metric]


EXPERIMENTS = (
    Experiment(
        matrix=CATCH_UP,
        plants={f"{p:.0%}": {"planted_slowdown": p, "planted_memory": p} for p in SIZES},
        metrics=[
            Metric(name=name, plants={f"{p:.0%}": f"{p:.0%} {what}" for p in SIZES})
            for name, what in (
                ("wall", "busy work"),
                ("cpu", "busy work"),
                ("rss", "memory"),
            )
        ],
    ),
    Experiment(
        matrix=UNDER_LOAD,
        plants={
            "late": {"planted_delay_ns": DELAY_NS},
            "behind": {
                "engine": "fake",
                "variant": "correct",
                "options": {"capacity_eps": SERVED * RATE_EPS},
            },
        },
        metrics=[
            Metric(
                name="p99",
                plants={"late": f"{DELAY_NS / 1e6:g} ms on 1 % of outputs"},
                method=PAIRED,
            ),
            Metric(
                name=STATUS,
                plants={"behind": f"{SERVED:.0%} of the rate served"},
                method=None,
            ),
        ],
    ),
)


def run_self_test(
    *, rounds: int, minutes: float, repetitions: int, master: str, say: Say
) -> Iterator[str]:
    """Yield the lines of the result; begins no round after `minutes`.

    Args:
        rounds: most rounds of each experiment.
        minutes: of all.
        repetitions: trials per arm and stage.
        master: Spark master for generating datasets.
        say: is called with the progress.

    Raises:
        GateError: a trial failed.
    """
    began = time.monotonic()
    rule = replace(TWO_STAGE, n=repetitions)
    share_s = minutes * 60 / (len(EXPERIMENTS) + 1)
    rng = np.random.default_rng(SEED)
    rows = [["metric", "planted", "rounds", "false alarms", "seen", "A/A 95 %"]]
    for number, experiment in enumerate(EXPERIMENTS, 1):
        until = began + number * share_s
        blocks = _measure(experiment, rule, rounds, until=until, master=master, say=say)
        for metric in experiment.metrics:
            for row in _rows(metric, blocks[metric.name], rule, rng):
                say(", ".join(row))  # it took minutes: not to be lost with what comes after it
                rows.append(row)
    counted = _counts(rounds, began + minutes * 60, say)
    none = [[INSTRUCTIONS, "", "0", "", "", "not counted"]]
    rows += none if isinstance(counted, str) else counted
    yield f"two cells, {rule.n} processes per arm and stage; counts of all benchmarks"
    yield ""
    yield from aligned(rows)
    yield ""
    yield "intervals: 95 %, Clopper-Pearson, of the rounds; [ ]: the same rounds dealt anew"
    if isinstance(counted, str):
        yield f"{INSTRUCTIONS}: {counted}"
    yield f"{time.monotonic() - began:.0f} s"


def _measure(
    experiment: Experiment, rule: Rule, rounds: int, *, until: float, master: str, say: Say
) -> dict[str, list[Block]]:
    """Return the rounds by metric, without those in which a trial lacks its value."""
    bench, arms = _bench(experiment, master, say)
    measured: dict[str, list[Block]] = {metric.name: [] for metric in experiment.metrics}
    began = time.monotonic()
    for number in range(1, rounds + 1):
        found = _round(bench, arms, rule)
        for row in (row for rows in found.values() for row in rows if not is_verified(row)):
            say(
                f"round {number} has a trial without a value: {row.get('status')}: {row.get('reason')}"
            )
        for metric in experiment.metrics:
            block = _block(found, metric)
            if block is not None:
                measured[metric.name].append(block)
        now = time.monotonic()
        say(f"{next(iter(bench.works))}, round {number} of {rounds}: {now - began:.0f} s")
        if now + (now - began) / number > until:
            break
    return measured


def _bench(experiment: Experiment, master: str, say: Say) -> tuple[Bench, tuple[Arm, ...]]:
    cells = expand(parse_matrix(experiment.matrix, "the self-test's matrix"))
    bench = Bench(
        works=works(cells, find_inputs(cells, master=master, say=say)),
        logs=Path(tempfile.mkdtemp(prefix="lab-gate-logs-")),
        planted=experiment.plants,
    )
    arms = tuple(
        Arm(
            name=name,
            revision="this lab",
            python=Path(sys.executable),
            path=(IMPORT_ROOT,),
            tree=SOURCE,
        )
        for name in (*_SAME, *experiment.plants)
    )
    bench.make_oracles(arms[0], say)
    for cell in bench.works:
        _sound(bench.run(arms[0], cell))  # Compiles; its time does not count.
    return bench, arms


def _round(bench: Bench, arms: Sequence[Arm], rule: Rule) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {arm.name: [] for arm in arms}
    (cell,) = bench.works
    for repetition in range(2 * rule.n):
        for arm in arms if repetition % 2 == 0 else reversed(arms):
            found[arm.name].append(_sound(bench.run(arm, cell)))
    return found


def _sound(result: Result) -> Result:
    if is_fault(result):
        raise GateError(f"a trial of the self-test failed: {result}")
    return result


def _block(results: Mapping[str, Sequence[Result]], metric: Metric) -> Block | None:
    """Return the values of a round; None where a trial has none."""
    found = {name: _values(results[name], metric) for name in (*_SAME, *metric.plants)}
    known = {name: values for name, values in found.items() if values is not None}
    if len(known) < len(found):
        return None
    return Block(
        same=(known[_SAME[0]], known[_SAME[1]]),
        planted={name: known[name] for name in metric.plants},
    )


def _values(rows: Sequence[Result], metric: Metric) -> Values | None:
    if metric.method is None:
        return np.array([level(row.get("status"), row.get("steady")) for row in rows], dtype=float)
    cost = METRICS[metric.name].cost
    values = [cost(row) if is_verified(row) else None for row in rows]
    return None if None in values else np.array(values, dtype=np.float64)


def _rows(
    metric: Metric, blocks: Sequence[Block], rule: Rule, rng: np.random.Generator
) -> Iterator[list[str]]:
    """Yield the rows of a metric, one a plant."""
    if not blocks:
        for words in metric.plants.values():
            yield [metric.name, words, "0", "", "", "a trial of each round has no value"]
        return
    if metric.method is None:
        called, noise = statuses_called(rule), ""
    else:
        called = costs_called(rule, rng, metric.method)
        noise = f"{100 * _noise(blocks, metric.method, rule, rng):.1f} %"
    found = rate(blocks, called, rng)
    for name, words in metric.plants.items():
        yield [
            metric.name,
            words,
            str(found.rounds),
            f"{_share(found.alarms, found.rounds)} [{found.resampled_alarms:.1%}]",
            f"{_share(found.seen[name], found.rounds)} [{found.resampled_seen[name]:.1%}]",
            noise,
        ]


def _noise(blocks: Sequence[Block], method: Method, rule: Rule, rng: np.random.Generator) -> float:
    """Return the 95th percentile of A/A differences, median over the rounds."""
    firsts = [[arm[: rule.n] for arm in block.same] for block in blocks]
    return median(method.noise(old, new, rng, DRAWS).p95 for old, new in firsts)


def _counts(rounds: int, until: float, say: Say) -> list[list[str]] | str:
    """Return the rows of the table for instruction counts, or why there are none."""
    alarms, done, away = 0, 0, 0.0
    seen: dict[float, list[bool]] = {p: [] for p in SIZES}
    with tempfile.TemporaryDirectory(prefix="lab-gate-counts-") as name:
        out = Path(name) / "counts.json"
        try:
            base = count_tree(SOURCE, SOURCE, out)
            for number in range(rounds):
                began = time.monotonic()
                again = count_tree(SOURCE, SOURCE, out)
                alarms += bool(_regressions(base, again))
                away = max(away, *(abs(again.counts[k] / n - 1) for k, n in base.counts.items()))
                for p in SIZES:
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
    return [
        [
            INSTRUCTIONS,
            f"{p:.0%} work",
            str(done),
            _share(alarms, done),
            _share(sum(seen[p]), len(seen[p])),
            f"{100 * away:.1f} % (largest)",
        ]
        for p in SIZES
    ]


def _regressions(old: Counts, new: Counts) -> frozenset[str]:
    return frozenset(line.cell for line in compare_counts(old, new) if line.word is Word.REGRESSION)


def _share(count: int, of: int) -> str:
    from scipy import stats  # heavy

    low, high = stats.binomtest(count, of).proportion_ci(0.95)
    return f"{count} of {of} ({low:.1%} - {high:.1%})"
