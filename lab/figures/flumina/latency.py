"""Figure 10 of DGS: latency of event windows against workers, heartbeats a barrier, and depth.

Latency is from when a barrier is due until its window is out. A tenth of all windows are out sooner
than the lower end of what is drawn, a tenth later than the upper end.
"""

from collections.abc import Sequence
from typing import Any

from streamlab.lab.figures.experiment import asked, engine, plain, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.flumina import depth
from streamlab.lab.figures.flumina.percentiles import (
    MEDIAN,
    Percentiles,
    as_json,
    band,
    needed,
    percentiles,
)
from streamlab.lab.figures.flumina.shared import DGS, WINDOW, WORKERS, facts, notes, said_workers
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed, PublishedClaim, judge
from streamlab.lab.figures.measurements import Measured, all_of, of_cell, quotient
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need, cores, latencies, sweep_points, trials
from streamlab.reports.figures.paper import Layout, Line, Panel, draw
from streamlab.results.stats.estimates import Extreme, lowest
from streamlab.results.store import Run

RATIOS = (100, 1_000, 10_000)
"""Values of each stream between two barriers."""
HEARTBEATS = (1, 10, 20, 50, 100, 200, 500, 1_000)
"""A barrier: the paper's, and 1, which is too low for it."""
QUICK_HEARTBEATS = (1, 10, 100, 1_000)
USUAL_HEARTBEATS = 10
"""Where workers are varied: at 100 values a barrier there are no more than 100 to be told of."""
RATE_EPS = 100_000
"""Values a second on each stream, ten times the paper's: at 10,000 values a barrier, 120 windows in
12 s, of which a 90th percentile can be told (`streamlab.lab.measure.latency`)."""
STABLE = 2.0
"""Of the lowest median: what the highest may be, to be called stable with minor variance."""
_LINEAR = 1.25
"""Times the growth in workers: how much a linearly increasing latency may grow."""
_BATCH = 64
_LENGTHS_S = (2.0, 12.0)
_QUICK_LENGTHS_S = (0.5, 3.0)


def _beats(heartbeats: int) -> str:
    """Return the label of a load with so many heartbeats a barrier."""
    return f"beats-{heartbeats}"


_USUAL = _beats(USUAL_HEARTBEATS)


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: those chosen, or up to twice the cores."""
    if options.workers is not None:
        return options.instances
    return tuple(sorted({*options.instances, 2 * options.cores}))


def heartbeats(options: Options) -> tuple[int, ...]:
    """Return the numbers of heartbeats from one barrier to the next."""
    return QUICK_HEARTBEATS if options.quick else HEARTBEATS


def most_workers(options: Options) -> int:
    """Return the number of workers with which heartbeats are varied: the most within the cores."""
    return max(options.within, default=min(options.instances))


def _lengths_s(options: Options) -> tuple[float, float]:
    """Return the lengths of warm-up and window."""
    usual = _QUICK_LENGTHS_S if options.quick else _LENGTHS_S
    if options.scale is None:
        return usual
    warm_up_s, window_s = _LENGTHS_S
    return max(0.2, warm_up_s * options.scale), max(0.5, window_s * options.scale)


def workers_key(ratio: int, workers: int) -> str:
    """Return the key of a workload in which each worker has a stream."""
    return f"{WINDOW.workload}@{_workers_label(ratio, workers)}"


def heartbeats_key(options: Options) -> str:
    """Return the key of the workload on which heartbeats are varied."""
    return f"{WINDOW.workload}@{_heartbeats_label(options)}"


def _workers_label(ratio: int, workers: int) -> str:
    return f"vb{ratio}-of-{workers}"


def _heartbeats_label(options: Options) -> str:
    return f"beats-of-{most_workers(options)}"


def _tree(options: Options) -> dict[str, Any]:
    warm_up_s, window_s = _lengths_s(options)

    def workload(label: str, ratio: int, streams: int) -> dict[str, Any]:
        rate_eps = streams * RATE_EPS + RATE_EPS / ratio
        return {
            "name": WINDOW.workload,
            "label": label,
            # A period more than is offered: the load ends between two event times.
            "events": round(rate_eps * (warm_up_s + window_s)) + 2 * streams * ratio,
            "params": {"streams": streams, WINDOW.per_barrier: ratio},
        }

    def load(key: str, ratio: int, streams: int, beats: int) -> dict[str, Any]:
        return {
            "label": _beats(beats),
            "arrival": "constant",
            "rate_eps": streams * RATE_EPS + RATE_EPS / ratio,
            "warm_up_s": warm_up_s,
            "window_s": window_s,
            "heartbeats_per_barrier": beats,
            "workloads": [key],
            # Where workers take every core, nothing is left for the generator.
            "send_lag_ms": SEND_LAG_MS,
        }

    sweep = [(ratio, n) for ratio in RATIOS for n in degrees(options)]
    most = most_workers(options)
    return {
        "run": run_table(options, timeout_s=120),
        "workload": [workload(_workers_label(ratio, n), ratio, n) for ratio, n in sweep]
        + [workload(_heartbeats_label(options), max(RATIOS), most)]
        + [workload(depth.label(n), depth.RATIO, n) for n in depth.streams(options)],
        "engine": [
            engine(DGS, options, workers=[n], batch=[_BATCH], workloads=[f"*-of-{n}"])
            for n in degrees(options)
        ]
        + depth.engines(options, most, _BATCH),
        "load": [load(workers_key(ratio, n), ratio, n, USUAL_HEARTBEATS) for ratio, n in sweep]
        + [load(heartbeats_key(options), max(RATIOS), most, beats) for beats in heartbeats(options)]
        + [
            load(f"{WINDOW.workload}@{depth.label(n)}", depth.RATIO, n, USUAL_HEARTBEATS)
            for n in depth.streams(options)
        ],
    }


class _Found:
    """All latencies of a run: by ratio and workers, and by heartbeats."""

    def __init__(self, options: Options, run: Run) -> None:
        self.by_workers = {
            (ratio, n): percentiles(run, workers_key(ratio, n), n, _USUAL)
            for ratio in RATIOS
            for n in degrees(options)
        }
        self.by_heartbeats = {
            beats: percentiles(run, heartbeats_key(options), most_workers(options), _beats(beats))
            for beats in heartbeats(options)
        }
        self.by_depth = depth.found_in(options, run, most_workers(options), _USUAL)

    def median(self, ratio: int, workers: int) -> Measured | None:
        """Return the median of a ratio and a number of workers."""
        return _median(self.by_workers.get((ratio, workers), {}))


def _median(found: Percentiles) -> Measured | None:
    return of_cell(found.get(MEDIAN))


def _spreads_by(parts: Sequence[Measured | None]) -> Measured | None:
    """Return the highest by the lowest of several; None unless all are there."""
    known = tuple(part for part in parts if part is not None)
    if not known or len(known) < len(parts):
        return None
    return quotient(Extreme(known, highest=True), Extreme(known, highest=False))


def _claims(options: Options, run: Run, found: _Found) -> list[Posed]:
    within = [
        n for n in degrees(options) if n <= options.cores and found.by_workers[100, n].get("p50")
    ]
    few, many = (within[0], within[-1]) if within else (1, 1)
    grown = [quotient(found.median(ratio, many), found.median(ratio, few)) for ratio in RATIOS]
    stable = facts().one(
        figure="10", quantity="heartbeats per synchronizing event, stable", panel="heartbeats"
    )
    medians = [_median(found.by_heartbeats[n]) for n in heartbeats(options) if n >= stable.low]
    said = "section D.1"
    cored = cores(options, most_workers(options))

    def under_load(*keys: str) -> tuple[Need, ...]:
        rows = [row for key in keys for row in trials(run, f"{key}/", workers=options.within)]
        return (cored, *latencies(rows))

    by_ratio = {
        ratio: [workers_key(ratio, n) for n in dict.fromkeys((few, many))] for ratio in RATIOS
    }
    by_beats = under_load(heartbeats_key(options))
    inf = float("inf")
    few_beats, usual_beats = found.by_heartbeats[1], found.by_heartbeats[100]
    return [
        PublishedClaim(
            text=f"p50 latency with {said_workers(few, many)} by that with {few}, "
            "lowest of all ratios",
            published="increases linearly",
            source=said,
        )
        .of(SYSTEMS["DGS"])
        .given(
            sweep_points("numbers of workers within the cores that have a latency", len(within)),
            *under_load(*(key for keys in by_ratio.values() for key in keys)),
        )
        .shape(all_of(grown, lowest), 1.0, _LINEAR * many / few, "x"),
        PublishedClaim(
            text=f"p50 latency at {min(RATIOS):,} values a barrier by that at {max(RATIOS):,}, "
            f"{many} workers",
            published="higher for lower ratios",
            source=said,
        )
        .of(SYSTEMS["DGS"])
        .given(*under_load(*by_ratio[min(RATIOS)], *by_ratio[max(RATIOS)]))
        .shape(
            quotient(found.median(min(RATIOS), many), found.median(max(RATIOS), many)),
            1.0,
            inf,
            "x",
        ),
        asked(
            f"p50 latency, highest by lowest of {stable.low:g} to {stable.high:g} heartbeats a "
            "barrier",
            stable,
        )
        .of(SYSTEMS["DGS"])
        .given(
            *by_beats, sweep_points("numbers of heartbeats", sum(m is not None for m in medians))
        )
        .shape(_spreads_by(medians), 0.0, STABLE, "x"),
        PublishedClaim(
            text="p50 latency at 1 heartbeat a barrier by that at 100",
            published="increases if the heartbeat rate is too low",
            source=said,
        )
        .of(SYSTEMS["DGS"])
        .given(*by_beats)
        .shape(quotient(_median(few_beats), _median(usual_beats)), 1.0, inf, "x"),
        depth.claim(
            options,
            found.by_depth,
            *under_load(f"{WINDOW.workload}@{depth.label(max(depth.streams(options)))}"),
        ),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    found = _Found(options, runs[0])
    limit = facts().one(figure="10", quantity="workers that keep up")
    mentioned = notes(
        options,
        runs,
        degrees(options),
        f"{RATE_EPS:,} values a second on each stream, ten times the paper's; a stream for each "
        f"worker; {USUAL_HEARTBEATS} heartbeats a barrier where workers are varied.",
        f"Lines: medians; bands: 10th to 90th percentile, where {needed()} windows tell them.",
        "Depth: the same input and workers, with a leaf for each worker or for each stream; in the "
        "paper depth grows with the workers.",
        f"The paper's plans of more than {limit.high:g} workers cannot keep up at 100 values a "
        "barrier: that many cores are not looked at here.",
        f"The generator may lag by {SEND_LAG_MS:g} ms (p99); latency, from due times, has it.",
    )
    return Outcome(
        claims=judge(_claims(options, runs[0], found)),
        notes=mentioned,
        numbers={
            **{
                f"{ratio} values a barrier, {n} workers": as_json(cell)
                for (ratio, n), cell in found.by_workers.items()
            },
            **{
                f"{beats} heartbeats a barrier": as_json(cell)
                for beats, cell in found.by_heartbeats.items()
            },
            **{
                f"{n} streams, {depth.PLANS[plan]}": as_json(cell)
                for (plan, n), cell in found.by_depth.items()
            },
        },
        draw=lambda: draw(
            Layout(
                title="DGS, figure 10: latency of event windows",
                rows=[
                    [_workers_panel(options, found, ratio) for ratio in RATIOS],
                    [
                        _heartbeats_panel(options, found),
                        depth.panel(options, found.by_depth, most_workers(options)),
                    ],
                ],
                notes=mentioned,
                width_in=2.6,
                height_in=2.2,
            )
        ),
    )


def _workers_panel(options: Options, found: _Found, ratio: int) -> Panel:
    return Panel(
        title=f"{ratio:,} values a barrier",
        y_label="latency, ms",
        x_label=WORKERS,
        lines=[
            Line(
                name="p50, and p10 to p90",
                points=[
                    point
                    for n in degrees(options)
                    for point in band(n, found.by_workers[ratio, n], n > options.cores)
                ],
                band=True,
            )
        ],
        log_y=True,
        span=[s.median * 1e-6 for cell in found.by_workers.values() for s in cell.values()],
        ticks=degrees(options),
        write=plain,
    )


def _heartbeats_panel(options: Options, found: _Found) -> Panel:
    most = most_workers(options)
    return Panel(
        title=f"{max(RATIOS):,} values a barrier, {most} worker{'s' * (most > 1)}",
        y_label="latency, ms",
        x_label="heartbeats a barrier",
        lines=[
            Line(
                name="p50, and p10 to p90",
                points=[
                    point
                    for place, beats in enumerate(heartbeats(options))
                    for point in band(place, found.by_heartbeats[beats], most > options.cores)
                ],
                band=True,
            )
        ],
        log_y=True,
        ticks=range(len(heartbeats(options))),
        tick_names=[f"{beats:,}" for beats in heartbeats(options)],
        write=plain,
    )


FIGURE = Figure(
    id="flumina:10",
    title="latency of synchronization plans",
    shows="latency percentiles of event windows against workers, heartbeats a barrier, and depth",
    needs=(WINDOW.workload, DGS),
    stages=(stage("latency", "offered loads, of three ratios, of heartbeats, of depth", _tree),),
    outcome=_outcome,
)
