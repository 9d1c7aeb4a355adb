"""Measures the gate on this machine: false alarms without a change, and power with a planted change.

A round runs a cell in several arms of this lab: two unchanged arms, and arms with a planted change.
Arms take turns, in reverse order in every second repetition, for two stages of n repetitions.
The gate then compares the first arm with every other arm.
The first cell runs in catch-up (at full speed), with planted work or memory.
The second cell runs under an offered load, with planted latency or with a server that is too slow.
The self-test gates instruction counts of the core's micro-benchmarks in the same way.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.build import Say
from streamlab.lab.gate.instructions import Counts, compare_counts, count_tree
from streamlab.lab.gate.metrics import INSTRUCTIONS, METRICS, TrialResult
from streamlab.lab.gate.outcome import Verdict
from streamlab.lab.gate.power import Block, Values, cost_gate, rate, status_gate
from streamlab.lab.gate.render import align_rows
from streamlab.lab.gate.status import STATUS, has_numbers, is_fault
from streamlab.lab.gate.trials import Bench, find_inputs, make_works
from streamlab.lab.host.installation import IMPORT_ROOT, SOURCE
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.results.stats.decision import TWO_STAGE, Rule
from streamlab.results.stats.methods import INDEPENDENT, PAIRED, Method
from streamlab.results.stats.noise import DRAWS
from streamlab.results.stats.statuses import level

SEED = 1
SIZES = (0.05, 0.10)
"""Planted changes, as shares."""
RATE_EPS = 5000
"""Low enough for plain Python on a busy machine; gives 10,000 outputs in 2 s."""

DELAY_NS = 1_000_000  # planted on 1 % of the outputs, so that only p99 changes
SERVED_SHARE = 0.9
"""Share of the offered rate that the too slow server handles."""

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
    """A metric of an experiment.

    Attributes:
        plants: descriptions, by name, of the planted changes that affect the metric.
        method: how to compare the arms; None to compare statuses.
    """

    name: str
    plants: Mapping[str, str]
    method: Method | None = INDEPENDENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A cell with planted changes and gated metrics.

    Attributes:
        plants: changed fields of a trial, by the name of the planted change.
    """

    matrix: str
    plants: Mapping[str, Mapping[str, object]]
    metrics: Sequence[Metric]


EXPERIMENTS = (
    Experiment(
        matrix=CATCH_UP,
        plants={f"{p:.0%}": {"planted_slowdown": p, "planted_memory": p} for p in SIZES},
        metrics=[
            Metric(name=name, plants={f"{p:.0%}": f"{p:.0%} {planted}" for p in SIZES})
            for name, planted in (
                ("wall", "busy work"),
                ("cpu", "busy work"),
                ("rss", "memory"),
            )
        ],
    ),
    Experiment(
        matrix=UNDER_LOAD,
        plants={
            "delayed": {"planted_delay_ns": DELAY_NS},
            "overloaded": {
                "engine": "fake",
                "variant": "correct",
                "options": {"capacity_eps": SERVED_SHARE * RATE_EPS},
            },
        },
        metrics=[
            Metric(
                name="p99",
                plants={"delayed": f"{DELAY_NS / 1e6:g} ms on 1 % of outputs"},
                method=PAIRED,
            ),
            Metric(
                name=STATUS,
                plants={"overloaded": f"{SERVED_SHARE:.0%} of the rate served"},
                method=None,
            ),
        ],
    ),
)


def run_self_test(
    *, rounds: int, minutes: float, repetitions: int, master: str, say: Say
) -> Iterator[str]:
    """Run the self-test and yield the lines of its result.

    No round starts after `minutes`; `repetitions` are trials per arm and stage.

    Raises:
        GateError: a trial failed.
    """
    began = time.monotonic()
    rule = replace(TWO_STAGE, n=repetitions)
    share_s = minutes * 60 / (len(EXPERIMENTS) + 1)
    rng = np.random.default_rng(SEED)
    rows = [["metric", "planted", "rounds", "false alarms", "detected", "A/A 95 %"]]
    for number, experiment in enumerate(EXPERIMENTS, 1):
        deadline_s = began + number * share_s
        blocks = _run_rounds(
            experiment, rule, rounds, deadline_s=deadline_s, master=master, say=say
        )
        for metric in experiment.metrics:
            for row in _make_rows(metric, blocks[metric.name], rule, rng):
                say(", ".join(row))  # printed at once, as later rounds may fail
                rows.append(row)
    count_rows = _count_rows(rounds, began + minutes * 60, say)
    not_counted = [[INSTRUCTIONS, "", "0", "", "", "not counted"]]
    rows += not_counted if isinstance(count_rows, str) else count_rows
    yield f"two cells, {rule.n} processes per arm and stage; counts of all benchmarks"
    yield ""
    yield from align_rows(rows)
    yield ""
    yield "intervals: 95 %, Clopper-Pearson"
    if isinstance(count_rows, str):
        yield f"{INSTRUCTIONS}: {count_rows}"
    yield f"{time.monotonic() - began:.0f} s"


def _run_rounds(
    experiment: Experiment, rule: Rule, rounds: int, *, deadline_s: float, master: str, say: Say
) -> dict[str, list[Block]]:
    """Return the rounds by metric; rounds in which a trial lacks a value are left out."""
    bench, arms = _make_bench(experiment, master, say)
    blocks: dict[str, list[Block]] = {metric.name: [] for metric in experiment.metrics}
    began_s = time.monotonic()
    for number in range(1, rounds + 1):
        results = _run_round(bench, arms, rule)
        for row in (row for rows in results.values() for row in rows if not has_numbers(row)):
            say(f"round {number} has a trial without a value: {row.status}: {row.reason}")
        for metric in experiment.metrics:
            block = _make_block(results, metric)
            if block is not None:
                blocks[metric.name].append(block)
        now_s = time.monotonic()
        say(f"{next(iter(bench.works))}, round {number} of {rounds}: {now_s - began_s:.0f} s")
        if now_s + (now_s - began_s) / number > deadline_s:
            break
    return blocks


def _make_bench(experiment: Experiment, master: str, say: Say) -> tuple[Bench, tuple[Arm, ...]]:
    """Return a bench and arms of this lab for an experiment, after computing its oracle and a warm-up trial."""
    cells = expand(parse_matrix(experiment.matrix, "the self-test's matrix"))
    bench = Bench(
        works=make_works(cells, find_inputs(cells, master=master, say=say)),
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
        _check_result(bench.run(arms[0], cell))  # A warm-up trial, which compiles the kernels.
    return bench, arms


def _run_round(bench: Bench, arms: Sequence[Arm], rule: Rule) -> dict[str, list[TrialResult]]:
    """Run one round: `2 * rule.n` repetitions in all arms; return the results by arm."""
    results: dict[str, list[TrialResult]] = {arm.name: [] for arm in arms}
    (cell,) = bench.works
    for repetition in range(2 * rule.n):
        for arm in arms if repetition % 2 == 0 else reversed(arms):
            results[arm.name].append(_check_result(bench.run(arm, cell)))
    return results


def _check_result(result: TrialResult) -> TrialResult:
    if is_fault(result):
        raise GateError(f"a trial of the self-test failed: {result}")
    return result


def _make_block(results: Mapping[str, Sequence[TrialResult]], metric: Metric) -> Block | None:
    """Return the values of a round; None if a trial has no value."""
    by_arm = {name: _read_values(results[name], metric) for name in (*_SAME, *metric.plants)}
    present = {name: values for name, values in by_arm.items() if values is not None}
    if len(present) < len(by_arm):
        return None
    return Block(
        same=(present[_SAME[0]], present[_SAME[1]]),
        planted={name: present[name] for name in metric.plants},
    )


def _read_values(rows: Sequence[TrialResult], metric: Metric) -> Values | None:
    if metric.method is None:
        return np.array([level(row.status, row.steady) for row in rows], dtype=float)
    cost = METRICS[metric.name].cost
    values = [cost(row) if has_numbers(row) else None for row in rows]
    return None if None in values else np.array(values, dtype=np.float64)


def _make_rows(
    metric: Metric, blocks: Sequence[Block], rule: Rule, rng: np.random.Generator
) -> Iterator[list[str]]:
    """Yield the rows of a metric, one per planted change."""
    if not blocks:
        for words in metric.plants.values():
            yield [metric.name, words, "0", "", "", "each round has a trial without a value"]
        return
    if metric.method is None:
        gate, noise = status_gate(rule), ""
    else:
        gate = cost_gate(rule, rng, metric.method)
        noise = f"{100 * _median_noise(blocks, metric.method, rule, rng):.1f} %"
    rates = rate(blocks, gate)
    for name, words in metric.plants.items():
        yield [
            metric.name,
            words,
            str(rates.rounds),
            _format_share(rates.alarms, rates.rounds),
            _format_share(rates.detected[name], rates.rounds),
            noise,
        ]


def _median_noise(
    blocks: Sequence[Block], method: Method, rule: Rule, rng: np.random.Generator
) -> float:
    """Return the median over the rounds of each round's 95th percentile of A/A differences."""
    first_stages = [[arm[: rule.n] for arm in block.same] for block in blocks]
    return median(method.noise(old, new, rng, DRAWS).p95 for old, new in first_stages)


def _count_rows(rounds: int, deadline_s: float, say: Say) -> list[list[str]] | str:
    """Return the rows of the table for instruction counts, or the reason why the count failed."""
    alarms, rounds_done, deviation = 0, 0, 0.0
    detections: dict[float, list[bool]] = {p: [] for p in SIZES}
    with tempfile.TemporaryDirectory(prefix="lab-gate-counts-") as name:
        out = Path(name) / "counts.json"
        try:
            base = count_tree(SOURCE, SOURCE, out)
            for number in range(rounds):
                began_s = time.monotonic()
                recount = count_tree(SOURCE, SOURCE, out)
                alarms += bool(_regressions(base, recount))
                deviation = max(
                    deviation, *(abs(recount.counts[k] / n - 1) for k, n in base.counts.items())
                )
                for p in SIZES:
                    plants = [(benchmark, 100 * p) for benchmark in base.counts]
                    slower = _regressions(base, count_tree(SOURCE, SOURCE, out, plants=plants))
                    detections[p] += [benchmark in slower for benchmark in base.counts]
                rounds_done = number + 1
                took_s = time.monotonic() - began_s
                say(f"counts, round {rounds_done} of {rounds}: {took_s:.0f} s")
                if time.monotonic() + took_s > deadline_s:
                    break
        except GateError as error:
            return str(error)
    return [
        [
            INSTRUCTIONS,
            f"{p:.0%} work",
            str(rounds_done),
            _format_share(alarms, rounds_done),
            _format_share(sum(detections[p]), len(detections[p])),
            f"{100 * deviation:.1f} % (largest)",
        ]
        for p in SIZES
    ]


def _regressions(old: Counts, new: Counts) -> frozenset[str]:
    return frozenset(
        line.cell for line in compare_counts(old, new) if line.word is Verdict.REGRESSION
    )


def _format_share(count: int, total: int) -> str:
    from scipy import stats  # heavy

    low, high = stats.binomtest(count, total).proportion_ci(0.95)
    return f"{count} of {total} ({low:.1%} - {high:.1%})"
