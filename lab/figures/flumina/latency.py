"""Reproduces figure 10 of DGS: latency of event windows against workers, heartbeats per barrier and depth.

Latency is the time from a barrier's due time until its window is emitted. A band spans the 10th to the
90th percentile.
The depth sweep compares two plans for the same input and workers. The shallow plan has a leaf per worker.
The deep plan has a leaf per stream, as in appendix B: each doubling of the streams adds a level for
barriers. All cells run in the published form, which the claims judge, and in this lab's own form.
"""

from collections.abc import Iterable
from operator import attrgetter

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import outcome, run_table, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.flumina.paper_setup import (
    DGS,
    FORM_NOTE,
    FORMS,
    LAG_NOTE,
    PAPER,
    PUBLISHED,
    WINDOW,
    WORKERS,
    form_engine,
    load_lengths_s,
    notes,
    worker_counts,
    workers_text,
)
from streamlab.lab.figures.flumina.percentiles import (
    MEDIAN,
    Percentiles,
    band_line,
    latency_panel,
    min_outputs_for_percentiles,
    named_percentiles,
    percentiles,
)
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Measured, all_of, cells, of_cell, quotient
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    Need,
    cores,
    latencies,
    outputs,
    sweep_points,
    trials,
)
from streamlab.reports.figures.paper import Line
from streamlab.reports.numbers import counted_workers
from streamlab.results.query import group_by
from streamlab.results.schema import UNSUSTAINED, VERIFIED, TrialRow
from streamlab.results.stats.estimates import Extreme, Middle, lowest
from streamlab.results.store import Run

RATIOS = (100, 1_000, 10_000)
"""Values per stream between two barriers."""
HEARTBEATS = (1, 10, 20, 50, 100, 200, 500, 1_000)
"""Heartbeats per barrier: the paper's, and 1, which is too few in the paper."""
QUICK_HEARTBEATS = (1, 10, 100, 1_000)
USUAL_HEARTBEATS = 10
"""Heartbeats per barrier when workers vary: at 100 values per barrier, at most 100 are possible."""
RATE_EPS = 100_000
"""Values per second on each stream, ten times the paper's. At 10,000 values per barrier this gives 120
windows in 12 s, enough for a 90th percentile (`streamlab.lab.measure.latency`)."""
_BATCH = 64
"""Events per hand-over."""
STREAMS = (2, 4, 8, 16)
"""Numbers of streams in the depth sweep; a leaf per stream gives 1 to 4 levels above the leaves."""
QUICK_STREAMS = (2, 8)
DEPTH_RATIO = 1_000
"""Values per stream between two barriers in the depth sweep."""
SHALLOW, DEEP = "shallow", "deep"
PLANS = {SHALLOW: "a leaf for each worker", DEEP: "a leaf for each stream"}
_OPTIMIZERS = {SHALLOW: "by-stream", DEEP: "leaf-per-stream"}


def _beats(heartbeats: int) -> str:
    """Return the label of a load with this number of heartbeats per barrier."""
    return f"beats-{heartbeats}"


_USUAL = _beats(USUAL_HEARTBEATS)


def heartbeats(options: Options) -> tuple[int, ...]:
    """Return the numbers of heartbeats per barrier."""
    return QUICK_HEARTBEATS if options.quick else HEARTBEATS


def streams(options: Options) -> tuple[int, ...]:
    """Return the numbers of streams; a plan with a leaf per stream has log2(streams) levels above the leaves."""
    return QUICK_STREAMS if options.quick else STREAMS


def max_workers(options: Options) -> int:
    """Return the number of workers in the heartbeat and depth sweeps: the highest that does not exceed the cores."""
    return max(options.within, default=min(options.instances))


def workers_key(ratio: int, workers: int) -> str:
    """Return the key of a workload in which each worker has a stream."""
    return f"{WINDOW.workload}@vb{ratio}-of-{workers}"


def heartbeats_key(options: Options) -> str:
    """Return the key of the workload of the heartbeat sweep."""
    return f"{WINDOW.workload}@beats-of-{max_workers(options)}"


def depth_key(streams: int) -> str:
    """Return the key of the depth sweep's workload with this number of streams."""
    return f"{WINDOW.workload}@deep-{streams}"


def _tree(options: Options) -> Tree:
    warm_up_s, window_s = load_lengths_s(options)
    most = max_workers(options)
    counts = worker_counts(options)
    by_workers = [(workers_key(ratio, n), ratio, n) for ratio in RATIOS for n in counts]
    by_heartbeats = (heartbeats_key(options), max(RATIOS), most)
    by_depth = [(depth_key(n), DEPTH_RATIO, n) for n in streams(options)]

    def workload(key: str, ratio: int, streams: int) -> dict[str, JsonValue]:
        rate_eps = streams * RATE_EPS + RATE_EPS / ratio
        return {
            "name": WINDOW.workload,
            "label": key.partition("@")[2],
            # One period more than the load offers, because the load ends between two event times.
            "events": round(rate_eps * (warm_up_s + window_s)) + 2 * streams * ratio,
            "params": {"streams": streams, WINDOW.per_barrier: ratio},
        }

    def load(
        key: str, ratio: int, streams: int, beats: int = USUAL_HEARTBEATS
    ) -> dict[str, JsonValue]:
        return {
            "label": _beats(beats),
            "arrival": "constant",
            "rate_eps": streams * RATE_EPS + RATE_EPS / ratio,
            "warm_up_s": warm_up_s,
            "window_s": window_s,
            "heartbeats_per_barrier": beats,
            "workloads": [key],
            # Allow a longer lag: when workers take every core, the generator has none.
            "send_lag_ms": SEND_LAG_MS,
        }

    return {
        "run": run_table(options, timeout_s=120),
        "workload": [workload(*each) for each in (*by_workers, by_heartbeats, *by_depth)],
        "engine": [
            form_engine(form, options, workers=[n], batch=[_BATCH], workloads=[f"*-of-{n}"])
            for form in FORMS
            for n in worker_counts(options)
        ]
        + [
            form_engine(
                form,
                options,
                workers=[most],
                batch=[_BATCH],
                label=f"{form}-{plan}",
                options={"optimizer": optimizer},
                workloads=["*@deep-*"],
            )
            for form in FORMS
            for plan, optimizer in _OPTIMIZERS.items()
        ],
        "load": [
            *(load(*each) for each in by_workers),
            *(load(*by_heartbeats, beats) for beats in heartbeats(options)),
            *(load(*each) for each in by_depth),
        ],
    }


class _Latencies:
    """All latencies of a form: by ratio and workers, by heartbeats, and by plan and streams."""

    def __init__(self, options: Options, run: Run, form: str) -> None:
        most = max_workers(options)
        self.by_workers = {
            (ratio, n): percentiles(run, workers_key(ratio, n), n, f"{form}/{_USUAL}")
            for ratio in RATIOS
            for n in worker_counts(options)
        }
        self.by_heartbeats = {
            beats: percentiles(run, heartbeats_key(options), most, f"{form}/{_beats(beats)}")
            for beats in heartbeats(options)
        }
        self.by_depth = {
            (plan, n): percentiles(run, depth_key(n), most, f"{form}-{plan}/{_USUAL}")
            for plan in PLANS
            for n in streams(options)
        }


def _latencies_by_name(results: _Latencies) -> dict[str, Percentiles]:
    """Return all latencies of a form, by names that describe their settings."""
    by_workers = {
        f"{ratio} values a barrier, {n} workers": cell
        for (ratio, n), cell in results.by_workers.items()
    }
    by_beats = {f"{n} heartbeats a barrier": cell for n, cell in results.by_heartbeats.items()}
    by_depth = {f"{n} streams, {PLANS[p]}": cell for (p, n), cell in results.by_depth.items()}
    return by_workers | by_beats | by_depth


def _estimate_median(cell: Percentiles) -> Measured | None:
    return of_cell(cell.get(MEDIAN))


def _frequent_trials(options: Options, run: Run) -> list[TrialRow]:
    """Return the published form's verified trials at the lowest ratio, with no more workers than cores."""
    return [
        row
        for n in options.within
        for cell in cells(run, workers_key(min(RATIOS), n), DGS)
        if cell.workers == n and cell.status in VERIFIED and f"/{PUBLISHED}/" in cell.cell
        for row in cell.rows
    ]


def _most_that_keep_up(rows: Iterable[TrialRow]) -> Middle | None:
    """Return, for each repetition, the highest number of workers that sustained their load; 0 if none did."""
    repetition = attrgetter("repetition")
    by_repetition = group_by(sorted(rows, key=repetition), repetition)
    values = tuple(
        float(max((row.workers for row in group if row.status != UNSUSTAINED), default=0))
        for group in by_repetition.values()
    )
    return Middle(values) if values else None


def _claims(options: Options, run: Run, results: _Latencies) -> list[MeasuredClaim]:
    within = [n for n in options.within if results.by_workers[100, n].get(MEDIAN)]
    fewest, most = (within[0], within[-1]) if within else (1, 1)
    stable = PAPER.fact(
        "10", quantity="heartbeats per synchronizing event, stable", panel="heartbeats"
    )
    enough_cores = cores(options, max_workers(options))

    def under_load(*keys: str) -> tuple[Need, ...]:
        parts = [(f"{key}/", f"/{PUBLISHED}") for key in keys]
        rows = [row for part in parts for row in trials(run, *part, workers=options.within)]
        return (enough_cores, *latencies(rows))

    def median(ratio: int, workers: int) -> Measured | None:
        return _estimate_median(results.by_workers.get((ratio, workers), {}))

    def ratio_keys(*ratios: int) -> list[str]:
        return [workers_key(r, n) for r in ratios for n in dict.fromkeys((fewest, most))]

    growths = [quotient(median(ratio, most), median(ratio, fewest)) for ratio in RATIOS]
    low, high = min(RATIOS), max(RATIOS)
    medians = [
        _estimate_median(results.by_heartbeats[n]) for n in heartbeats(options) if n >= stable.low
    ]
    values = tuple(value for value in medians if value is not None)
    spread = None
    if values and len(values) == len(medians):
        spread = quotient(Extreme(values, highest=True), Extreme(values, highest=False))
    by_beats = under_load(heartbeats_key(options))
    deepest = max(streams(options))
    limit = PAPER.fact("10", quantity="workers that keep up")
    frequent = _frequent_trials(options, run)
    excess_workers = {row.workers for row in frequent if row.workers > limit.high}
    deep, shallow = (_estimate_median(results.by_depth[plan, deepest]) for plan in (DEEP, SHALLOW))
    return [
        PAPER.pose(
            "10",
            "growth",
            all_of(growths, lowest),
            sweep_points("numbers of workers within the cores that have a latency", len(within)),
            *under_load(*ratio_keys(*RATIOS)),
            workers=workers_text(fewest, most),
            fewest=fewest,
            linear=most / fewest,
        ),
        PAPER.pose(
            "10",
            "ratios",
            quotient(median(low, most), median(high, most)),
            *under_load(*ratio_keys(low, high)),
            low=low,
            high=high,
            most=most,
        ),
        PAPER.pose(
            "10",
            "stable",
            spread,
            *by_beats,
            sweep_points("numbers of heartbeats", len(values)),
            low=stable.low,
            high=stable.high,
        ),
        PAPER.pose(
            "10",
            "too few heartbeats",
            quotient(*(_estimate_median(results.by_heartbeats[n]) for n in (1, 100))),
            *by_beats,
        ),
        PAPER.pose(
            "10",
            "keep up",
            _most_that_keep_up(frequent),
            sweep_points(
                f"numbers of workers above {limit.high:g} with a core each",
                len(excess_workers),
                least=1,
            ),
            outputs(frequent),
            ratio=low,
        ),
        PAPER.pose(
            "10", "depth", quotient(deep, shallow), *under_load(depth_key(deepest)), most=deepest
        ),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    by_form = {form: _Latencies(options, runs[0], form) for form in FORMS}
    most = max_workers(options)
    all_of_workers = [cell for results in by_form.values() for cell in results.by_workers.values()]
    by_workers = [
        latency_panel(
            f"{ratio:,} values a barrier",
            WORKERS,
            [
                band_line(
                    FORMS[form],
                    (
                        (n, results.by_workers[ratio, n], n > options.cores)
                        for n in worker_counts(options)
                    ),
                    colour,
                )
                for colour, (form, results) in enumerate(by_form.items())
            ],
            span=[s.median * 1e-6 for cell in all_of_workers for s in cell.values()],
            ticks=worker_counts(options),
        )
        for ratio in RATIOS
    ]

    def line(name: str, results: Iterable[Percentiles], colour: int) -> Line:
        indexed = enumerate(results)
        return band_line(name, ((x, cell, most > options.cores) for x, cell in indexed), colour)

    by_heartbeats = latency_panel(
        f"{max(RATIOS):,} values a barrier, {counted_workers(most)}",
        "heartbeats a barrier",
        [
            line(FORMS[form], results.by_heartbeats.values(), colour)
            for colour, (form, results) in enumerate(by_form.items())
        ],
        tick_names=[f"{beats:,}" for beats in heartbeats(options)],
    )
    by_depth = latency_panel(
        f"{DEPTH_RATIO:,} values a barrier, {counted_workers(most)}",
        "streams (levels with a leaf each)",
        [
            line(
                f"{FORMS[form]}, {description}",
                (results.by_depth[plan, n] for n in streams(options)),
                2 * colour + shade,
            )
            for colour, (form, results) in enumerate(by_form.items())
            for shade, (plan, description) in enumerate(PLANS.items())
        ],
        tick_names=[f"{n} ({n.bit_length() - 1})" for n in streams(options)],
    )
    latencies = {
        f"{FORMS[form]}, {name}": cell
        for form, results in by_form.items()
        for name, cell in _latencies_by_name(results).items()
    }
    return outcome(
        _claims(options, runs[0], by_form[PUBLISHED]),
        notes(
            options,
            runs,
            worker_counts(options),
            f"{RATE_EPS:,} values a second on each stream, ten times the paper's; a stream for each "
            f"worker; {USUAL_HEARTBEATS} heartbeats a barrier when workers vary.",
            FORM_NOTE,
            f"Lines: medians; bands: 10th to 90th percentile, with at least {min_outputs_for_percentiles()} "
            "windows.",
            "Depth: the same input and workers, with a leaf for each worker or for each stream; in "
            "the paper depth grows with the workers.",
            LAG_NOTE,
        ),
        {name: named_percentiles(cell) for name, cell in latencies.items()},
        "DGS, figure 10: latency of event windows",
        [by_workers, [by_heartbeats, by_depth]],
        width_in=2.6,
        height_in=2.2,
    )


FIGURE = Figure(
    id="flumina:10",
    title="latency of synchronization plans",
    shows="latency percentiles of event windows against workers, heartbeats a barrier, and depth",
    needs=(WINDOW.workload, DGS),
    stages=(stage("latency", "offered loads, of three ratios, of heartbeats, of depth", _tree),),
    outcome=_outcome,
)
