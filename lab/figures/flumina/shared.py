"""What the figures of DGS share: its three programs, their published scaling, notes.

The paper hands over single events, and takes rates at 12 nodes of a core each. So claims are about
single events here, and growth is judged by the share of linear growth that was published: what 12
nodes keep of it, fewer keep as well.
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
"""Engine options of single events: each goes through a ring, as a producer hands it to a mailbox in
the paper. By default a worker reads the events of its streams from the columns, which is this lab's
design (docs/decisions/0018-direct-handover.md)."""
RATE = column("throughput_eps")
WORKERS = "workers"
_ABOVE = 1.25
"""How many times the published growth, or linear growth, may be exceeded."""
NODES = 12
"""Of the paper's, at which table 1 has its scaling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One of the paper's three programs.

    Attributes:
        workload: its name here.
        panel: its name in the published numbers.
        per_barrier: parameter with the events of a stream between two synchronizing ones.
    """

    workload: str
    panel: str
    per_barrier: str

    def table(self, events: int, streams: int) -> dict[str, Any]:
        """Return its `[[workload]]` table, with the paper's events between synchronizing ones."""
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
    """Return what the paper published."""
    return published("flumina")


def scaling(program: Program, series: str) -> Fact:
    """Return a program's published growth at 12 nodes; series as in table 1: F, FM, TD, ..."""
    return facts().one(figure="T1", panel=program.panel, series=series, quantity="scaling")


def per_barrier() -> int:
    """Return the paper's events of a stream between two synchronizing ones."""
    return int(facts().one(figure="8", panel=WINDOW.panel).low)


def streams(options: Options) -> int:
    """Return the streams of every input: as many as the most workers, so that each has one."""
    return max(options.instances)


def said_workers(few: int, many: int) -> str:
    """Return how many workers are compared with `few`; where there are none, that it takes more."""
    return f"{many} workers" if many > few else "more workers"


def synchronizations(run: Run, *parts: str, workers: Iterable[int]) -> tuple[Need, Need]:
    """Return the needs of claims on synchronization plans: several workers synchronized.

    Args:
        run: the run.
        parts: parts of the cells' ids; see `trials`.
        workers: numbers of workers; a single worker does not synchronize, and is left out.
    """
    rows = trials(run, f"/{DGS}/", *parts, workers=[n for n in workers if n > 1])
    return outputs(rows), engine_counts(rows, "synchronizations", "synchronizations of every trial")


def growth(
    options: Options, program: Program, series: str, rate: Series, *needs: Need
) -> list[Posed]:
    """Pose the claims on a program's growth by table 1, whose series it is; see `growth_by`."""
    return growth_by(options, scaling(program, series), rate, *needs)


def growth_by(options: Options, said: Fact, rate: Series, *needs: Need) -> list[Posed]:
    """Pose the claims on growth: its published share of linear, and its value at as many nodes.

    Args:
        options: of the figure.
        said: what was published, at so many nodes.
        rate: what was measured, by workers.
        needs: further needs of the claims.
    """
    nodes = int(said.x)
    of = f"{said.panel}, {said.series}"
    within = rate.workers(options.within)
    few, many = (within[0], within[-1]) if within else (1, 1)
    grown = quotient(rate.at(many), rate.at(few))
    share = said.low / nodes
    lowest = max(1.0, share * many / few)
    as_many = {1, nodes} <= set(within)
    return [
        asked(
            f"{of}: throughput with {said_workers(few, many)} by that "
            f"with {few} ({share:.2f} of linear, as published at {nodes} nodes)",
            said,
        )
        .of(SYSTEMS[said.series])
        .given(two_degrees(options, rate), *needs)
        .shape(grown, lowest, _ABOVE * max(lowest, min(said.high, many / few)), "x"),
        asked(f"{of}: throughput with {nodes} workers by that with 1", said)
        .of(SYSTEMS[said.series])
        .given(sweep_points(f"numbers of workers among 1 and {nodes}, within the cores",
                      len({1, nodes} & set(within))), *needs)
        .near(
            quotient(rate.at(nodes), rate.at(1)) if as_many else None, said.low, said.high, 0.3, "x"
        ),
    ]  # fmt: skip


def growth_words(options: Options, found: dict[str, Series], said: Fact | None) -> list[str]:
    """Return what a panel says of growth: as published, and of what was measured."""
    words = [] if said is None else [f"published: {said.text} at {said.x} nodes"]
    for name, rate in found.items():
        within = rate.workers(options.within)
        grown = quotient(rate.at(within[-1]), rate.at(within[0])) if len(within) > 1 else None
        if grown is not None:
            words.append(f"{name}: {grown.value:.3g} \N{MULTIPLICATION SIGN} at {within[-1]}")
    return words


def lines_note(*workloads: str) -> str:
    """Return how many lines of code programs have, by `streamlab.lab.figures.lines`."""
    counted = ((name, parts_of(name)) for name in workloads)
    return (
        "Lines of code, sequential and parallelization (fork, join, dependence): "
        + "; ".join(
            f"{name} {parts.sequential} and {parts.parallelization}" for name, parts in counted
        )
        + "."
    )


NODES_OF_A_CORE = (
    "up to 20 nodes of a core each (AWS m6g.medium), Erlang; Flink 1.10 and Timely beside it"
)
ONE_SERVER = "one server (of A.1: 18 cores, Xeon Gold 6154), Erlang, a simulated network"
"""On what the paper ran its programs, and its case studies."""


def notes(
    options: Options,
    runs: Runs,
    degrees: Iterable[int],
    *more: str,
    machines: str = NODES_OF_A_CORE,
) -> tuple[str, ...]:
    """Return what sets the experiment apart from the paper's."""
    return (
        f"{options.cores} cores here; the paper's machines: {machines}.",
        *quick_note(options),
        *scale_note(options),
        *beyond_note(options, degrees),
        *more,
        *machine(runs),
        *troubles(runs)[:6],
    )
