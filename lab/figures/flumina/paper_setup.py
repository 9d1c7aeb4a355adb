"""Provides the paper's set-up for the figures of DGS: programs, published scaling, claims and notes.

The paper hands over single events, and measures rates on 12 nodes with one core each. So the claims here
are about single events. Growth with workers is judged as a share of linear growth: with fewer nodes than
the paper's 12, the measured share must be at least the published share at 12 nodes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.json_value import JsonValue
from streamlab.lab.figures import experiment
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.lines import parts_of
from streamlab.lab.figures.measurements import Series, column, quotient
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.paper import Paper
from streamlab.lab.figures.preconditions import (
    Need,
    counted_synchronizations,
    outputs,
    sweep_points,
    trials,
    two_degrees,
)
from streamlab.reports.published import Fact
from streamlab.results.store import Run

DGS = "multicore/dgs"
SINGLE, BLOCK = 1, 4096
"""Batches: one event at a time, as in the paper, and this lab's usual block at full speed."""
UNITS = {SINGLE: "event by event", BLOCK: f"in blocks of {BLOCK:,}"}
"""Units of hand-over by batch; figure 8 has a row of panels per unit, because the rates are far apart."""
PUBLISHED, OWN = "as-published", "own"
FORMS = {PUBLISHED: "DGS as published", OWN: "own form"}
"""Forms of synchronization plans, by the labels of their engine tables. Claims are judged on the published
form, with single messages between actors (docs/decisions/0029-messages.md). The figures draw this lab's
own form next to it."""
SERIES = ((PUBLISHED, SINGLE), (OWN, SINGLE), (OWN, BLOCK))
"""Form and batch of each line of figures 8 and A1."""
FORM_NOTE = (
    "Claims are about DGS as published: producers, mailboxes and workers send single messages. The "
    "own form is drawn, not judged: workers read columns, and states meet in shared memory."
)
RATE = column("throughput_eps")
WORKERS = "workers"
NODES = 12
"""The paper's number of nodes for the scaling in table 1."""

PAPER = Paper(name="flumina")
"""The paper. Its systems have the names of table 1's series; two more are `handcrafted` and `winner`."""
facts = PAPER.facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One of the paper's three programs.

    Attributes:
        workload: name of the workload here.
        panel: name in the published numbers.
        per_barrier: name of the parameter for events per stream between two synchronizing events.
    """

    workload: str
    panel: str
    per_barrier: str

    def table(self, events: int, streams: int) -> dict[str, JsonValue]:
        """Return the `[[workload]]` table, with the paper's number of events between synchronizing events."""
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


def scaling(program: Program, series: str) -> Fact:
    """Return a program's published growth at 12 nodes; series as in table 1: F, FM, TD, ..."""
    return PAPER.fact("T1", panel=program.panel, series=series, quantity="scaling")


def per_barrier() -> int:
    """Return the paper's number of events per stream between two synchronizing events."""
    return int(PAPER.fact("8", panel=WINDOW.panel).low)


def streams(options: Options) -> int:
    """Return the number of streams of every input: the highest number of workers."""
    return max(options.instances)


def worker_counts(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: the chosen ones, or up to twice the cores."""
    return options.instances_and(2 * options.cores)


def load_lengths_s(options: Options) -> tuple[float, float]:
    """Return the lengths of an offered load's warm-up and window in seconds."""
    if options.scale is None:
        return (0.5, 3.0) if options.quick else (2.0, 12.0)
    return max(0.2, 2.0 * options.scale), max(0.5, 12.0 * options.scale)


def form_engine(
    form: str, options: Options, /, label: str = "", **fields: Any
) -> dict[str, JsonValue]:
    """Return the `[[engine]]` table of a form; its label is the form, unless `label` is set."""
    form_options = dict(PAPER.systems["DGS"].options) if form == PUBLISHED else {}
    form_options |= fields.pop("options", {})
    return experiment.engine(DGS, options, label=label or form, options=form_options, **fields)


def form_engines(options: Options) -> list[dict[str, JsonValue]]:
    """Return the `[[engine]]` tables of `SERIES`."""
    return [form_engine(form, options, batch=[batch]) for form, batch in SERIES]


def workers_text(fewest: int, most: int) -> str:
    """Return the text for `most` workers in a comparison with `fewest`; "more workers" if both are equal."""
    return f"{most} workers" if most > fewest else "more workers"


def synchronizations(run: Run, *parts: str, workers: Iterable[int]) -> tuple[Need, Need]:
    """Return the needs of claims on synchronization plans: several workers synchronized.

    `parts` select cells as in `trials`; a single worker does not synchronize.
    """
    rows = trials(run, f"/{DGS}/", *parts, workers=[n for n in workers if n > 1])
    return outputs(rows), counted_synchronizations(rows)


def growth(options: Options, fact: Fact, rate: Series, *needs: Need) -> list[MeasuredClaim]:
    """Pose two claims on growth: its share of linear growth, and its value at the paper's number of nodes."""
    nodes = int(fact.x)
    within = rate.workers(options.within)
    fewest, most = rate.ends(options.within)
    share = fact.low / nodes
    limit = max(1.0, share * most / fewest)
    measured_nodes = {1, nodes} & set(within)
    place = {name: getattr(fact, name) for name in ("figure", "panel", "series", "quantity")}
    return [
        PAPER.pose(
            fact.figure,
            "growth",
            quotient(rate.at(most), rate.at(fewest)),
            two_degrees(options, rate),
            *needs,
            **place,
            workers=workers_text(fewest, most),
            fewest=fewest,
            share=share,
            nodes=nodes,
            lowest=limit,
            highest=max(limit, min(fact.high, most / fewest)),
        ),
        PAPER.pose(
            fact.figure,
            "growth at nodes",
            quotient(rate.at(nodes), rate.at(1)) if len(measured_nodes) == 2 else None,
            sweep_points(
                f"numbers of workers among 1 and {nodes}, within the cores", len(measured_nodes)
            ),
            *needs,
            **place,
            nodes=nodes,
        ),
    ]


def growth_words(options: Options, rates: Mapping[str, Series], fact: Fact) -> list[str]:
    """Return a panel's texts on growth: published and measured."""
    words = [f"published: {fact.text} at {fact.x} nodes"]
    for name, rate in rates.items():
        gain = rate.growth(options.within)
        if gain is not None:
            _, most = rate.ends(options.within)
            words.append(f"{name}: {gain.value:.3g} \N{MULTIPLICATION SIGN} at {most}")
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


LAG_NOTE = (
    f"The generator may lag by {SEND_LAG_MS:g} ms (p99); latency, from due times, includes it."
)
NODES_OF_A_CORE = (
    "up to 20 nodes of a core each (AWS m6g.medium), Erlang; Flink 1.10 and Timely alongside"
)
ONE_SERVER = "one server (of A.1: 18 cores, Xeon Gold 6154), Erlang, a simulated network"
"""The paper's machines: the first for its programs, the second for its case studies."""


def notes(
    options: Options,
    runs: Runs,
    degrees: Iterable[int],
    *extra: str,
    machines: str = NODES_OF_A_CORE,
) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    begin = [f"{options.cores} cores here; the paper's machines: {machines}."]
    return experiment.notes(options, runs, *extra, begin=begin, degrees=degrees)
