"""Defines the two stages of figures 6 to 8, and the quantities that they measure.

Throughput is the input rate under back-pressure (catch-up): the paper also saturates its engines under
flow control. A second stage measures latency from due times, at 70 % of each cell's rate.
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
    """Return the throughput and latency stages of a figure; `first` plans the throughput stage."""

    def throughput(options: Options, runs: Runs) -> Plan:
        return first(options)

    def latency(options: Options, runs: Runs) -> Plan:
        return latency_plan(options, first(options).tree, runs)

    return (
        FigureStage(name="throughput", about="every cell at full speed", plan=throughput),
        FigureStage(name="latency", about="every cell at 70 % of its own rate", plan=latency),
    )
