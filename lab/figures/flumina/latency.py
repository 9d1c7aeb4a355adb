"""Reproduces figure 10 of DGS: latency of event windows against workers, heartbeats a barrier, depth.

Latency is the time from a barrier's due time until its window is emitted. Bands are drawn from the 10th
to the 90th percentile.
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
    fewest_windows,
    percentiles,
)
from streamlab.lab.figures.flumina.shared import DGS, WINDOW, WORKERS, facts, notes, workers_text
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
"""Heartbeats a barrier: the paper's, and 1, which is too few in the paper."""
QUICK_HEARTBEATS = (1, 10, 100, 1_000)
USUAL_HEARTBEATS = 10
"""Heartbeats a barrier when workers vary: at 100 values a barrier, at most 100 are possible."""
RATE_EPS = 100_000
"""Values a second on each stream, ten times the paper's. At 10,000 values a barrier this gives 120
windows in 12 s, enough for a 90th percentile (`streamlab.lab.measure.latency`)."""
STABLE = 2.0
"""Highest ratio of the highest to the lowest median that counts as "stable with minor variance"."""
_LINEAR = 1.25
"""Factor by which a linearly increasing latency may exceed the growth in workers."""
_BATCH = 64
_LENGTHS_S = (2.0, 12.0)
_QUICK_LENGTHS_S = (0.5, 3.0)


def _beats(heartbeats: int) -> str:
    """Return the label of a load with this number of heartbeats a barrier."""
    return f"beats-{heartbeats}"


_USUAL = _beats(USUAL_HEARTBEATS)


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: the chosen ones, or up to twice the cores."""
    if options.workers is not None:
        return options.instances
    return tuple(sorted({*options.instances, 2 * options.cores}))


def heartbeats(options: Options) -> tuple[int, ...]:
    """Return the numbers of heartbeats a barrier."""
    return QUICK_HEARTBEATS if options.quick else HEARTBEATS


def most_workers(options: Options) -> int:
    """Return the number of workers of the heartbeat sweep: the most within the cores."""
    return max(options.within, default=min(options.instances))


def _lengths_s(options: Options) -> tuple[float, float]:
    """Return the lengths of warm-up and window in seconds."""
    usual = _QUICK_LENGTHS_S if options.quick else _LENGTHS_S
    if options.scale is None:
        return usual
    warm_up_s, window_s = _LENGTHS_S
    return max(0.2, warm_up_s * options.scale), max(0.5, window_s * options.scale)


def workers_key(ratio: int, workers: int) -> str:
    """Return the key of a workload in which each worker has a stream."""
    return f"{WINDOW.workload}@{_workers_label(ratio, workers)}"


def heartbeats_key(options: Options) -> str:
    """Return the key of the workload of the heartbeat sweep."""
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
            # A period more than offered: the load ends between two event times.
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
            # Workers that take every core leave none for the generator.
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


class _Latencies:
    """All latencies of a run: by ratio and workers, by heartbeats, and by depth."""

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
        self.by_depth = depth.latencies_by_plan(options, run, most_workers(options), _USUAL)

    def median(self, ratio: int, workers: int) -> Measured | None:
        """Return the median for a ratio and a number of workers."""
        return _median(self.by_workers.get((ratio, workers), {}))


def _median(cell: Percentiles) -> Measured | None:
    return of_cell(cell.get(MEDIAN))


def _highest_by_lowest(parts: Sequence[Measured | None]) -> Measured | None:
    """Return the ratio of the highest to the lowest; None if any is missing."""
    present = tuple(part for part in parts if part is not None)
    if not present or len(present) < len(parts):
        return None
    return quotient(Extreme(present, highest=True), Extreme(present, highest=False))


def _claims(options: Options, run: Run, results: _Latencies) -> list[Posed]:
    within = [
        n for n in degrees(options) if n <= options.cores and results.by_workers[100, n].get("p50")
    ]
    fewest, most = (within[0], within[-1]) if within else (1, 1)
    grown = [
        quotient(results.median(ratio, most), results.median(ratio, fewest)) for ratio in RATIOS
    ]
    stable = facts().one(
        figure="10", quantity="heartbeats per synchronizing event, stable", panel="heartbeats"
    )
    medians = [_median(results.by_heartbeats[n]) for n in heartbeats(options) if n >= stable.low]
    section = "section D.1"
    enough_cores = cores(options, most_workers(options))

    def under_load(*keys: str) -> tuple[Need, ...]:
        rows = [row for key in keys for row in trials(run, f"{key}/", workers=options.within)]
        return (enough_cores, *latencies(rows))

    by_ratio = {
        ratio: [workers_key(ratio, n) for n in dict.fromkeys((fewest, most))] for ratio in RATIOS
    }
    by_beats = under_load(heartbeats_key(options))
    inf = float("inf")
    few_beats, usual_beats = results.by_heartbeats[1], results.by_heartbeats[100]
    return [
        PublishedClaim(
            text=f"p50 latency with {workers_text(fewest, most)} by that with {fewest}, "
            "lowest of all ratios",
            published="increases linearly",
            source=section,
        )
        .of(SYSTEMS["DGS"])
        .given(
            sweep_points("numbers of workers within the cores that have a latency", len(within)),
            *under_load(*(key for keys in by_ratio.values() for key in keys)),
        )
        .shape(all_of(grown, lowest), 1.0, _LINEAR * most / fewest, "x"),
        PublishedClaim(
            text=f"p50 latency at {min(RATIOS):,} values a barrier by that at {max(RATIOS):,}, "
            f"{most} workers",
            published="higher for lower ratios",
            source=section,
        )
        .of(SYSTEMS["DGS"])
        .given(*under_load(*by_ratio[min(RATIOS)], *by_ratio[max(RATIOS)]))
        .shape(
            quotient(results.median(min(RATIOS), most), results.median(max(RATIOS), most)),
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
        .shape(_highest_by_lowest(medians), 0.0, STABLE, "x"),
        PublishedClaim(
            text="p50 latency at 1 heartbeat a barrier by that at 100",
            published="increases if the heartbeat rate is too low",
            source=section,
        )
        .of(SYSTEMS["DGS"])
        .given(*by_beats)
        .shape(quotient(_median(few_beats), _median(usual_beats)), 1.0, inf, "x"),
        depth.claim(
            options,
            results.by_depth,
            *under_load(f"{WINDOW.workload}@{depth.label(max(depth.streams(options)))}"),
        ),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    results = _Latencies(options, runs[0])
    limit = facts().one(figure="10", quantity="workers that keep up")
    figure_notes = notes(
        options,
        runs,
        degrees(options),
        f"{RATE_EPS:,} values a second on each stream, ten times the paper's; a stream for each "
        f"worker; {USUAL_HEARTBEATS} heartbeats a barrier when workers vary.",
        f"Lines: medians; bands: 10th to 90th percentile, with at least {fewest_windows()} windows.",
        "Depth: the same input and workers, with a leaf for each worker or for each stream; in the "
        "paper depth grows with the workers.",
        f"The paper's plans of more than {limit.high:g} workers cannot keep up at 100 values a "
        "barrier: this figure does not test so many.",
        f"The generator may lag by {SEND_LAG_MS:g} ms (p99); latency, from due times, includes it.",
    )
    return Outcome(
        claims=judge(_claims(options, runs[0], results)),
        notes=figure_notes,
        numbers={
            **{
                f"{ratio} values a barrier, {n} workers": as_json(cell)
                for (ratio, n), cell in results.by_workers.items()
            },
            **{
                f"{beats} heartbeats a barrier": as_json(cell)
                for beats, cell in results.by_heartbeats.items()
            },
            **{
                f"{n} streams, {depth.PLANS[plan]}": as_json(cell)
                for (plan, n), cell in results.by_depth.items()
            },
        },
        draw=lambda: draw(
            Layout(
                title="DGS, figure 10: latency of event windows",
                rows=[
                    [_workers_panel(options, results, ratio) for ratio in RATIOS],
                    [
                        _heartbeats_panel(options, results),
                        depth.panel(options, results.by_depth, most_workers(options)),
                    ],
                ],
                notes=figure_notes,
                width_in=2.6,
                height_in=2.2,
            )
        ),
    )


def _workers_panel(options: Options, results: _Latencies, ratio: int) -> Panel:
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
                    for point in band(n, results.by_workers[ratio, n], n > options.cores)
                ],
                band=True,
            )
        ],
        log_y=True,
        span=[s.median * 1e-6 for cell in results.by_workers.values() for s in cell.values()],
        ticks=degrees(options),
        write=plain,
    )


def _heartbeats_panel(options: Options, results: _Latencies) -> Panel:
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
                    for point in band(place, results.by_heartbeats[beats], most > options.cores)
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
