"""What figures 6 to 8 share: two stages, and the quantities of each.

Throughput is the rate at which back-pressure lets the input in (catch-up): the paper's engines are
saturated under flow control too. Latency is measured in a second stage, at 70 % of each cell's own
rate, from due times.
"""

from collections.abc import Callable

from streamlab.lab.figures.figure import FigureStage, Plan, Runs
from streamlab.lab.figures.measurements import column
from streamlab.lab.figures.offered_stages import latency_plan
from streamlab.lab.figures.options import Options

MS = 1e-6
"""Nanoseconds to milliseconds."""
TWEETS = 4_300_000
"""Tweets in the paper's input."""
INSTANCES = "instances"
RATE = column("throughput_eps")
LATENCY = column("latency_p50_ns", MS)


def stages(first: Callable[[Options], Plan]) -> tuple[FigureStage, ...]:
    """Return the two stages of a figure whose first one is `first`."""

    def throughput(options: Options, runs: Runs) -> Plan:
        return first(options)

    def latency(options: Options, runs: Runs) -> Plan:
        return latency_plan(options, first(options).tree, runs)

    return (
        FigureStage(name="throughput", about="every cell as fast as it can", plan=throughput),
        FigureStage(name="latency", about="every cell at 70 % of its own rate", plan=latency),
    )
