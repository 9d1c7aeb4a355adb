"""Provides the paper's set-up for the figures of STRETCH: systems, variants, stages and notes."""

from collections.abc import Callable, Sequence
from typing import Any

from streamlab.json_value import JsonObject, JsonValue
from streamlab.lab.figures import experiment
from streamlab.lab.figures.experiment import BATCH, engine
from streamlab.lab.figures.figure import FigureStage, Runs, Tree
from streamlab.lab.figures.measurements import column
from streamlab.lab.figures.offered_stages import SEND_LAG_MS, latency_plan
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.paper import Paper

VSN, SN, SN_MAP = "multicore/vsn", "multicore/sn", "multicore/sn-map"
ADHOC, ONE_THREAD = "multicore/adhoc", "multicore/1t"
FLINK = "flink/automatic"
ALGORITHM_1 = "lab: SN, algorithm 1"
"""Name of this lab's shared-nothing instances, to distinguish them from the paper's Flink."""
DOWNSTREAM: JsonObject = {"downstream": 1}
"""Engine option: instances publish into TB_out, the paper's buffer of outputs. Latency ends when a downstream
reader takes their outputs, in order, as in the paper."""
GATE, ORDER = "scalegate", "order"
"""Labels of VSN's cells: GATE on the paper's log, one tuple at a time; ORDER on this lab's log, in blocks."""
OWN_LOG = "lab: VSN on its own log"
INSTANCES = "instances"
RATE = column("throughput_eps")
LATENCY = column("latency_p50_ns", 1e-6)

PAPER = Paper(name="stretch")
facts = PAPER.facts


def static_stages(tree: Callable[[Options], Tree]) -> tuple[FigureStage, ...]:
    """Return the throughput and latency stages of figures 6 to 8; `tree` makes the first matrix.

    Throughput is the input rate under back-pressure (catch-up): the paper also saturates its engines
    under flow control. Latency is measured from due times, at 70 % of each cell's rate.
    """
    return (
        experiment.stage("throughput", "every cell at full speed", tree),
        FigureStage(
            name="latency",
            about="every cell at 70 % of its own rate",
            plan=lambda options, runs: latency_plan(options, tree(options), runs),
        ),
    )


def paper_engine(system: str, options: Options, /, **fields: Any) -> dict[str, JsonValue]:
    """Return the `[[engine]]` table of a system as the paper runs it: one tuple at a time, VSN with TB_out.

    `fields` has further keys of the table; its `options` are added to the system's options.
    """
    setup = PAPER.systems[system]
    settings = {**setup.options, **fields.pop("options", {})}
    if setup.variant == VSN:
        settings |= DOWNSTREAM
    return engine(setup.variant, options, **{"batch": [1], "options": settings} | fields)


def flink(workers: Sequence[int], system: str, /, **fields: Any) -> dict[str, JsonValue]:
    """Return the `[[engine]]` table of a system of the paper that Flink runs.

    `map_instances` and `warm_up_events` in `fields` are engine options; other fields are keys of the table.
    """
    name, _, variant = FLINK.partition("/")
    options = dict(PAPER.systems[system].options)
    for option in ("map_instances", "warm_up_events"):
        if option in fields:
            options[option] = fields.pop(option)
    return {
        "name": name,
        "variants": [variant],
        "workers": list(workers),
        "options": options,
    } | fields


def replayed_load(
    label: str, warm_up_s: float, window_s: float, **fields: Any
) -> dict[str, JsonValue]:
    """Return the `[[load]]` table for events that arrive at their event times."""
    return {
        "label": label,
        "arrival": "replay",
        "send_lag_ms": SEND_LAG_MS,
        "speed_up": 1.0,
        "tick_ns": 1e6,
        "warm_up_s": warm_up_s,
        "window_s": window_s,
        **fields,
    }


def notes(options: Options, scale: float, runs: Runs, *extra: str) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    begin = [
        f"{options.cores} cores here; the paper's machine: 2 x 18 cores, 72 hardware threads, Java."
    ]
    if scale != 1:
        begin.append(f"Scale {scale:g}: inputs, phases and windows are {scale:g} x the paper's.")
    begin += [
        "VSN and this lab's SN publish into TB_out; one downstream reader takes their outputs.",
        "VSN and ScaleJoin run on ScaleGate, a tuple at a time, as published; the lab's own forms run "
        f"on its ordered log, in blocks of {BATCH}.",
    ]
    return experiment.notes(options, runs, *extra, begin=begin, has_scale_note=False)
