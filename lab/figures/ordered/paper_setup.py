"""Provides the paper's set-up for the figures of ordered pipelines: systems, queries, degrees and notes.

All experiments run at full speed and measure the paper's *processing latency*. It begins when the first
operator takes a tuple, and ends when its outputs have left, after waiting for their turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamlab.json_value import JsonValue
from streamlab.lab.figures import experiment
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.measurements import column, counter
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.paper import Paper
from streamlab.lab.figures.preconditions import Need, outputs, several_workers
from streamlab.results.schema import TrialRow

ORDERED = "multicore/ordered"
WORKERS = "workers"
TUPLE, BLOCK = 1, 64
"""Batches: one tuple at a time, as in the paper, and this lab's usual block."""
GRANULARITY = {TUPLE: "a tuple at a time", BLOCK: f"blocks of {BLOCK}"}
REORDERING_BUFFERS = {"nonblocking": "non-blocking", "lock": "lock-based"}
"""Reordering buffers with their names on the drawing."""
NS_PER_ITERATION = 2.0
"""Approximate time of an iteration on a 2.6 GHz core; it converts iterations to nominal costs."""
BY_OPERATOR = {"serials": "operator"}
"""Options of the paper's system, the one that claims are about: each operator numbers its own inputs."""
SOURCE_NOTE = (
    "This lab's own form, drawn but not judged: a block of input records and all its outputs have "
    "one serial number, of the source."
)
RATE = column("throughput_eps")
LATENCY = counter("processing_mean_ns", 1e-6)

FULL_LATENCY_NOTE = (
    "Latency is the paper's processing latency, its mean at full speed; one tuple in 64 of those between the 20th and "
    "80th percentile of the input is timed."
)


PAPER = Paper(name="ordered")
facts = PAPER.facts


def iterations(cost_us: float) -> int:
    """Return the iterations of the parametric operator for a nominal cost."""
    return round(cost_us * 1000 / NS_PER_ITERATION)


def several(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers above one; if there are none, return all numbers."""
    return tuple(n for n in options.instances if n > 1) or options.instances


def with_one(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers, with one worker added as the base of speedups."""
    return tuple(sorted({1, *options.instances}))


def worker_counts(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers; the default includes twice the cores, at which workers block."""
    return with_one(options) if options.workers else options.instances_and(2 * options.cores)


def shares() -> int:
    """Return the number of partitions of the paper's hybrid queue."""
    return int(PAPER.fact("9", series="hybrid", quantity="partitions").low)


def drawn_forms(schemes: Iterable[str], batches: Iterable[int]) -> list[tuple[str, str, int]]:
    """Return label, scheme and granularity of each drawn series, the paper's form first.

    In this lab's own form, where the source assigns serials, the label differs from the scheme's name.
    """
    names = tuple(schemes)
    source_forms = [(f"source-{name}", name, batch) for batch in batches for name in names]
    return [*((name, name, TUPLE) for name in names), *source_forms]


def form_name(name: str, *, is_paper: bool, batch: int) -> str:
    """Return the name of a series on the drawing."""
    return f"{name}, " + ("the paper's" if is_paper else f"own, {GRANULARITY[batch]}")


def notes(options: Options, runs: Runs, degrees: Iterable[int], *extra: str) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    begin = [
        f"{options.cores} cores here; the paper's machine: 16 cores (Xeon E5-2698B v3), C++, trials"
        " of 2 to 10 minutes."
    ]
    return experiment.notes(options, runs, *extra, begin=begin, degrees=degrees)


def in_order(options: Options, rows: Sequence[TrialRow]) -> tuple[Need, Need]:
    """Return the needs of claims on reordering: several workers and outputs.

    A single worker makes outputs in order with any queue, buffer or heuristic.
    """
    return several_workers(options), outputs(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkQuery:
    """A query of the benchmark.

    Attributes:
        partitioned: number of partitioned operators.
        a_year: records per year at one order per hour, if the input must span a year; else 0.
    """

    number: int
    workload: str
    partitioned: int
    a_year: int = 0

    @property
    def panel(self) -> str:
        """The query's name in the published numbers and on the drawing."""
        return f"query {self.number}"


QUERIES = (
    BenchmarkQuery(number=1, workload="items_sold_together", partitioned=2),
    BenchmarkQuery(number=2, workload="items_viewed_together", partitioned=2),
    BenchmarkQuery(number=3, workload="last_views_before_purchase", partitioned=2),
    BenchmarkQuery(number=4, workload="cart_abandonment", partitioned=1),
    # The query fits a line through a year of sales, and does no work after that year.
    BenchmarkQuery(number=15, workload="declining_categories", partitioned=1, a_year=67_000),
)
WORKLOADS = tuple(query.workload for query in QUERIES)
DESCRIPTION = (
    "1: sold together; 2: viewed together; 3: last views before a purchase; 4: cart abandonment; "
    "15: declining categories."
)
_SIZES = {TUPLE: (12_000_000, 3_000_000), BLOCK: (40_000_000, 10_000_000)}
"""Input records, usual and quick, by granularity. Blocks are about ten times as fast as tuples."""


def key(query: BenchmarkQuery, batch: int) -> str:
    """Return the workload's key in the matrix; blocks have larger inputs."""
    return f"{query.workload}@b{batch}"


def workload_tables(options: Options, batches: Sequence[int]) -> list[dict[str, JsonValue]]:
    """Return `[[workload]]` tables of all queries, one for each granularity."""
    tables = []
    for batch in batches:
        count = experiment.events(options, *_SIZES[batch])
        for query in QUERIES:
            table: dict[str, JsonValue] = {
                "name": query.workload,
                "label": f"b{batch}",
                "events": count,
            }
            if query.a_year:
                table["params"] = {"orders_per_hour": max(1, count // query.a_year)}
            tables.append(table)
    return tables
