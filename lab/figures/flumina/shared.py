"""Provides the parts that the figures of DGS share: programs, published scaling, claims, notes.

The paper hands over single events, and measures rates at 12 nodes of a core each. So claims here are
about single events. Growth is judged by the published share of linear growth: fewer nodes must keep the
share that 12 nodes keep.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.lab.figures.experiment import asked, beyond_note, quick_note, scale_note
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed
from streamlab.lab.figures.lines import parts_of
from streamlab.lab.figures.measurements import Series, column, machine, quotient, troubles
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    Need,
    engine_counts,
    outputs,
    sweep_points,
    trials,
    two_degrees,
)
from streamlab.reports.published import Fact, Facts, published
from streamlab.results.store import Run

DGS = "multicore/dgs"
SINGLE, BLOCK = 1, 4096
"""Batches: the paper's event at a time, and this lab's usual block at full speed."""
HANDOVER: Mapping[str, object] = {"handover": "ring"}
"""Engine options for single events: each goes through a ring, as a producer hands it to a mailbox in
the paper. This lab's default, where workers read events from the columns of their streams, is another
design (docs/decisions/0018-direct-handover.md)."""
RATE = column("throughput_eps")
WORKERS = "workers"
_ABOVE = 1.25
"""Factor by which growth may exceed the published or linear growth."""
NODES = 12
"""The paper's nodes in the scaling of table 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One of the paper's three programs.

    Attributes:
        workload: name of the workload here.
        panel: name in the published numbers.
        per_barrier: parameter for a stream's events between two synchronizing events.
    """

    workload: str
    panel: str
    per_barrier: str

    def table(self, events: int, streams: int) -> dict[str, Any]:
        """Return the `[[workload]]` table, with the paper's events between synchronizing events."""
        return {
            "name": self.workload,
            "events": events,
            "params": {"streams": streams, self.per_barrier: per_barrier()},
        }


WINDOW = Program(
    workload="event_window", panel="event window", per_barrier="values_per_barrier"
)  # fmt: skip
JOIN = Program(
    workload="page_view_join", panel="page-view join", per_barrier="views_per_update"
)  # fmt: skip
FRAUD = Program(
    workload="fraud_detection", panel="fraud detection", per_barrier="transactions_per_rule"
)
PROGRAMS = (WINDOW, JOIN, FRAUD)


def facts() -> Facts:
    """Return the paper's published numbers."""
    return published("flumina")


def scaling(program: Program, series: str) -> Fact:
    """Return a program's published growth at 12 nodes; series as in table 1: F, FM, TD, ..."""
    return facts().one(figure="T1", panel=program.panel, series=series, quantity="scaling")


def per_barrier() -> int:
    """Return the paper's events of a stream between two synchronizing events."""
    return int(facts().one(figure="8", panel=WINDOW.panel).low)


def streams(options: Options) -> int:
    """Return the number of streams of every input: one for each of the most workers."""
    return max(options.instances)


def workers_text(fewest: int, most: int) -> str:
    """Return the text for `most` workers in a comparison with `fewest`; "more workers" if equal."""
    return f"{most} workers" if most > fewest else "more workers"


def synchronizations(run: Run, *parts: str, workers: Iterable[int]) -> tuple[Need, Need]:
    """Return the needs of claims on synchronization plans: several workers synchronized.

    Args:
        run: the run.
        parts: parts of the cells' ids; see `trials`.
        workers: numbers of workers; excludes 1, since a single worker does not synchronize.
    """
    rows = trials(run, f"/{DGS}/", *parts, workers=[n for n in workers if n > 1])
    return outputs(rows), engine_counts(rows, "synchronizations", "synchronizations of every trial")


def growth(
    options: Options, program: Program, series: str, rate: Series, *needs: Need
) -> list[Posed]:
    """Pose the claims on a program's growth for a series of table 1; see `growth_by`."""
    return growth_by(options, scaling(program, series), rate, *needs)


def growth_by(options: Options, fact: Fact, rate: Series, *needs: Need) -> list[Posed]:
    """Pose the claims on growth: the published share of linear, and the value at as many nodes.

    Args:
        options: the figure's options.
        fact: the published growth, with its number of nodes.
        rate: the measured rates, by workers.
        needs: further preconditions of the claims.
    """
    nodes = int(fact.x)
    subject = f"{fact.panel}, {fact.series}"
    within = rate.workers(options.within)
    fewest, most = (within[0], within[-1]) if within else (1, 1)
    gain = quotient(rate.at(most), rate.at(fewest))
    share = fact.low / nodes
    lowest = max(1.0, share * most / fewest)
    has_nodes = {1, nodes} <= set(within)
    return [
        asked(
            f"{subject}: throughput with {workers_text(fewest, most)} by that "
            f"with {fewest} ({share:.2f} of linear, as published at {nodes} nodes)",
            fact,
        )
        .of(SYSTEMS[fact.series])
        .given(two_degrees(options, rate), *needs)
        .shape(gain, lowest, _ABOVE * max(lowest, min(fact.high, most / fewest)), "x"),
        asked(f"{subject}: throughput with {nodes} workers by that with 1", fact)
        .of(SYSTEMS[fact.series])
        .given(sweep_points(f"numbers of workers among 1 and {nodes}, within the cores",
                      len({1, nodes} & set(within))), *needs)
        .near(
            quotient(rate.at(nodes), rate.at(1)) if has_nodes else None, fact.low, fact.high, 0.3, "x"
        ),
    ]  # fmt: skip


def growth_words(options: Options, rates: dict[str, Series], fact: Fact | None) -> list[str]:
    """Return a panel's texts on growth: published and measured."""
    words = [] if fact is None else [f"published: {fact.text} at {fact.x} nodes"]
    for name, rate in rates.items():
        within = rate.workers(options.within)
        gain = quotient(rate.at(within[-1]), rate.at(within[0])) if len(within) > 1 else None
        if gain is not None:
            words.append(f"{name}: {gain.value:.3g} \N{MULTIPLICATION SIGN} at {within[-1]}")
    return words


def lines_note(*workloads: str) -> str:
    """Return a note on the programs' lines of code, by `streamlab.lab.figures.lines`."""
    counts = ((name, parts_of(name)) for name in workloads)
    return (
        "Lines of code, sequential and parallelization (fork, join, dependence): "
        + "; ".join(
            f"{name} {parts.sequential} and {parts.parallelization}" for name, parts in counts
        )
        + "."
    )


NODES_OF_A_CORE = (
    "up to 20 nodes of a core each (AWS m6g.medium), Erlang; Flink 1.10 and Timely alongside"
)
ONE_SERVER = "one server (of A.1: 18 cores, Xeon Gold 6154), Erlang, a simulated network"
"""The paper's machines for its programs, and for its case studies."""


def notes(
    options: Options,
    runs: Runs,
    degrees: Iterable[int],
    *more: str,
    machines: str = NODES_OF_A_CORE,
) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    return (
        f"{options.cores} cores here; the paper's machines: {machines}.",
        *quick_note(options),
        *scale_note(options),
        *beyond_note(options, degrees),
        *more,
        *machine(runs),
        *troubles(runs)[:6],
    )
