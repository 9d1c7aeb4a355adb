"""Figure 8 of STRETCH: ScaleJoin on the general operator, written directly, and on one thread."""

from collections.abc import Sequence

from lab.figures.experiment import asked, engine, lone, numbers, plain, points, run_table
from lab.figures.figure import Figure, Outcome, Plan, Runs
from lab.figures.measured import (
    Series,
    comparisons_per_s,
    quotient,
    series,
)
from lab.figures.options import Options
from lab.figures.stretch.shared import LAG_NOTE, PAPER_CORES, VSN, facts, notes
from lab.figures.stretch.static import INSTANCES, LATENCY, stages
from lab.figures.stretch.steps import ADHOC, SIDE_EPS, coherent_eps, window_ms
from lab.figures.verdict import Asked
from reports.figures.paper import Layout, Line, Mark, Panel, draw

ONE_THREAD = "multicore/1t"


def _scale_8(options: Options) -> float:
    return options.scaled(0.4, 0.2)


def _tree_8(options: Options) -> Plan:
    ws_ms = window_ms(_scale_8(options))
    windows = 4  # one fills, three are compared with
    return Plan(
        tree={
            "run": run_table(options, timeout_s=900),
            "workload": [
                {
                    "name": "scale_join",
                    "events": max(1000, windows * 2 * SIDE_EPS * ws_ms // 1000),
                    "params": {"left_eps": SIDE_EPS, "right_eps": SIDE_EPS},
                    "query": {"ws_ms": ws_ms},
                }
            ],
            "engine": [
                engine(VSN, options),
                engine(ADHOC, options),
                engine(ONE_THREAD, options, workers=[1]),
            ],
        }
    )


def _outcome_8(options: Options, runs: Runs) -> Outcome:
    ws_ms = window_ms(_scale_8(options))
    key = "scale_join"
    names = {"VSN": VSN, "ad-hoc": ADHOC, "1T": ONE_THREAD}
    compared = {n: series(runs[0], key, v, comparisons_per_s) for n, v in names.items()}
    rates = {n: series(runs[0], key, v, coherent_eps(ws_ms)) for n, v in names.items()}
    late = {n: series(runs[1], key, v, LATENCY) for n, v in names.items()}
    vsn, adhoc, one = compared["VSN"], compared["ad-hoc"], compared["1T"]
    counted = vsn.workers(options.within)
    least, most = (counted[0], counted[-1]) if counted else (1, 1)
    growth = quotient(vsn.at(most), vsn.at(least))
    per_instance = None if growth is None else growth / (most / least)
    linear, match, single, extra, pairs = (
        facts().one(figure="8", series=s, quantity=q)
        for s, q in (
            ("VSN", "speedup per instance"),
            ("VSN/ad-hoc", "throughput"),
            ("VSN/1T", "throughput"),
            ("VSN-ad-hoc", "latency"),
            ("all", "comparisons per output"),
        )
    )
    common = [n for n in counted if n in adhoc.by_workers]
    worst = min((quotient(vsn.at(n), adhoc.at(n)) or 0.0 for n in common), default=None)
    overheads = [
        a - b
        for n in options.within
        if (a := late["VSN"].at(n)) is not None and (b := late["ad-hoc"].at(n)) is not None
    ]
    claims = (
        Asked(
            text=f"VSN's comparisons/s grow linearly from {least} to {most} instances, the cores "
            f"of this machine (the paper: to {PAPER_CORES})",
            published="linear",
            source=linear.source,
            blocked=lone(options, counted),
        ).shape(per_instance, 0.8, 1.2, "of linear"),
        asked("VSN/ad-hoc ratio of comparisons/s, at its least", match).near(
            worst, 1.0, max(1.0, worst or 1.0), 0.1, "x"
        ),
        asked("VSN/1T ratio of comparisons/s at one instance", single).near(
            quotient(vsn.at(1), one.at(1)), 1.0, 1.0, 0.15, "x"
        ),
        asked("latency of VSN above that of ad-hoc, at its most", extra).at_most(
            max(overheads, default=None), extra.high, "ms"
        ),
        asked("comparisons per output", pairs).near(_per_output(runs), pairs.low, pairs.high, 0.15),
    )
    said = notes(
        options,
        _scale_8(options),
        runs,
        f"Window {ws_ms / 1000:g} s at 2 x {SIDE_EPS} tuples/s of event time. The input rate is "
        "the one at which event time would run as fast as the clock: sqrt(2 comparisons/s / WS).",
        "The paper gives no absolute rates of this figure in its text: nothing to overlay.",
        LAG_NOTE,
    )
    return Outcome(
        claims=claims,
        notes=said,
        numbers={
            n: numbers(comparisons_per_s=compared[n], input_eps=rates[n], latency_ms=late[n])
            for n in names
        },
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 8: ScaleJoin",
                rows=[
                    [
                        _panel_8(options, "Input rate", "tuples/s", rates),
                        _panel_8(
                            options,
                            "Throughput",
                            "comparisons/s",
                            compared,
                            marks=_linear(vsn, options),
                            words=[
                                "published: VSN = ad-hoc",
                                "1T = VSN at one instance",
                            ],
                        ),
                        _panel_8(options, "Latency at 70 %", "latency p50, ms", late, log=True),
                    ]
                ],
                notes=said,
                width_in=2.7,
            )
        ),
    )


def _panel_8(
    options: Options,
    title: str,
    y_label: str,
    found: dict[str, Series],
    *,
    marks: Sequence[Mark] = (),
    words: Sequence[str] = (),
    log: bool = False,
) -> Panel:
    return Panel(
        title=title,
        y_label=y_label,
        x_label=INSTANCES,
        lines=[
            Line(name=name, points=points(values, options), colour=colour)
            for colour, (name, values) in zip((0, 2, 3), found.items(), strict=True)
        ],
        marks=marks,
        words=words,
        log_y=log,
        ticks=options.instances,
        write=plain if log else None,
    )


def _linear(vsn: Series, options: Options) -> tuple[Mark, ...]:
    """Return where linear growth from the first measured number of instances would lead."""
    found = vsn.workers(options.within)
    first = vsn.at(found[0]) if found else None
    if first is None:
        return ()
    return tuple(
        Mark(name="linear from the first, as in the paper", low=at, high=at, x=float(n))
        for n in found[1:]
        for at in (first * n / found[0],)
    )


def _per_output(runs: Runs) -> float | None:
    rows = [r for r in runs[0].rows if r["comparisons"] and r["outputs"]]
    if not rows:
        return None
    return float(sum(r["comparisons"] for r in rows) / sum(r["outputs"] for r in rows))


FIGURE = Figure(
    id="stretch:8",
    title="ScaleJoin: VSN, ad-hoc, one thread",
    shows="input rate, comparisons per second and latency against instances",
    needs=("scale_join", VSN, ADHOC, ONE_THREAD),
    stages=stages(_tree_8),
    outcome=_outcome_8,
)
