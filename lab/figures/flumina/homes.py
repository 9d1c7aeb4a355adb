"""Reproduces figure A2 of DGS (appendix A.2): latency, throughput and bytes between workers in smart homes.

Slices are hours of event time. They end for all houses at once, as in the paper, or house by house.
Throughput and bytes are measured at full speed. Each plug sends a load value every two seconds of event
time, as in the challenge. Latency is measured under an offered load with one value per minute, so that
enough slices end for percentiles. All cells run in the published form, which the claims judge, and in
this lab's own form.
"""

import json
from collections.abc import Mapping

from streamlab.lab.figures.experiment import (
    degree_panel,
    events,
    numbers,
    outcome,
    plain,
    points,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.flumina.paper_setup import (
    BLOCK,
    DGS,
    FORM_NOTE,
    FORMS,
    LAG_NOTE,
    ONE_SERVER,
    OWN,
    PAPER,
    PUBLISHED,
    RATE,
    SINGLE,
    WORKERS,
    form_engine,
    lines_note,
    load_lengths_s,
    notes,
    synchronizations,
    worker_counts,
)
from streamlab.lab.figures.flumina.percentiles import (
    Percentiles,
    band_line,
    latency_panel,
    named_percentiles,
    percentiles,
)
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Series, Value, per_row, series
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import sweep_points
from streamlab.reports.figures.paper import Line, Mark, Panel
from streamlab.reports.numbers import counted_workers
from streamlab.reports.published import Fact
from streamlab.results.schema import TrialRow

WORKLOAD = "smart_home"
ALL, HOUSE = "all", "house"
ENDS = {ALL: "slices end for all", HOUSE: "slices end house by house"}
"""Descriptions of the values of parameter `ends`; the paper uses the first."""
FULL, OFFERED = "full", "offered"
_FULL_BATCH = {PUBLISHED: SINGLE, OWN: BLOCK}
LineKey = tuple[str, str]
"""A line of each panel: a form, and a value of parameter `ends`."""
LINES: dict[LineKey, str] = {
    (form, ends): f"{FORMS[form]}, {text}" for form in FORMS for ends, text in ENDS.items()
}
HOUSEHOLDS, PLUGS = 4, 13
"""Households per house, and plugs per household: 52 plugs per house. The challenge has 2,125 plugs in
40 houses."""
PERIOD_S = {FULL: 2, OFFERED: 60}
"""Seconds of event time between two load values of a plug."""
SLICE_S = 3600
"""Length of a slice, in event time."""
SLICES_PER_S = 10
"""Slices that end per second of the load: 120 in 12 s, enough for a 90th percentile."""
_EVENTS = (16_000_000, 4_000_000)
"""Events at full speed, usually and with `--quick`."""
_BATCH = 64
"""Events per hand-over under the load."""


def houses() -> int:
    """Return the paper's number of houses."""
    return int(_fact("houses that were run").low)


def rate_eps() -> float:
    """Return the offered rate in events/s at which `SLICES_PER_S` slices end in a second."""
    return SLICES_PER_S * SLICE_S / PERIOD_S[OFFERED] * houses() * HOUSEHOLDS * PLUGS


def key(ends: str, mode: str) -> str:
    """Return the matrix key of a workload; `mode` is FULL or OFFERED."""
    return f"{WORKLOAD}@{ends}-{mode}"


def tree(options: Options) -> Tree:
    """Return the matrix: both values of `ends`, at full speed and under the load."""
    warm_up_s, window_s = load_lengths_s(options)
    event_counts = {
        FULL: events(options, *_EVENTS),
        OFFERED: round(rate_eps() * (warm_up_s + window_s + 1 / SLICES_PER_S)),
    }
    layout = {"households_per_house": HOUSEHOLDS, "plugs_per_household": PLUGS}
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": WORKLOAD,
                "label": f"{ends}-{mode}",
                "events": event_counts[mode],
                "params": {
                    "houses": houses(),
                    "streams": min(houses(), max(worker_counts(options))),
                    "ends": ends,
                    "period_s": PERIOD_S[mode],
                    "slice_s": SLICE_S,
                    **layout,
                },
                "query": {"slice_s": SLICE_S, **layout},
            }
            for ends in ENDS
            for mode in (FULL, OFFERED)
        ],
        "engine": [
            form_engine(
                form,
                options,
                workers=list(worker_counts(options)),
                batch=[batch],
                workloads=[f"*-{mode}"],
            )
            for form in FORMS
            for mode, batch in ((FULL, _FULL_BATCH[form]), (OFFERED, _BATCH))
        ],
        "load": [
            {"mode": "catch-up", "label": FULL, "workloads": [f"*-{FULL}"]},
            {
                "label": OFFERED,
                "arrival": "constant",
                "rate_eps": rate_eps(),
                "warm_up_s": warm_up_s,
                "window_s": window_s,
                "workloads": [f"*-{OFFERED}"],
                # Allow a longer lag: when workers take every core, the generator has none.
                "send_lag_ms": SEND_LAG_MS,
            },
        ],
    }


def moved_share(row: TrialRow) -> float | None:
    """Return the ratio of bytes moved between workers to bytes processed; None if not counted."""
    counters = json.loads(row.counters or "{}")
    processed_bytes = counters.get("record_bytes")
    if not processed_bytes:
        return None
    return float(counters["state_bytes_moved"] + counters["record_bytes_moved"]) / float(
        processed_bytes
    )


def _fact(quantity: str) -> Fact:
    return PAPER.fact("A2", quantity=quantity)


def published_share() -> float:
    """Return the published ratio of bytes moved to bytes processed."""
    return _fact("bytes moved").low / _fact("bytes processed").low


def _claims(options: Options, runs: Runs, share: Series) -> list[MeasuredClaim]:
    counts = [n for n in share.by_workers if 1 < n <= max((2, *options.within))]
    needs = (
        sweep_points(
            "numbers of workers above one, between which something can move", len(counts), 1
        ),
        *synchronizations(runs[0], key(ALL, FULL), f"/{PUBLISHED}", workers=counts),
    )
    moved_mb, processed_gb = _fact("bytes moved").low / 1e6, _fact("bytes processed").low / 1e9
    words = {"moved": moved_mb, "processed": processed_gb, "share": published_share()}
    measured = dict.fromkeys(("less moved", "bytes moved"), share.highest(counts))
    return [*PAPER.pose_all("A2", measured, *needs, **words), PAPER.pose("A2", "winner", None)]


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = {line: _full_speed(runs, line, RATE) for line in LINES}
    shares = {
        line: _full_speed(runs, line, lambda cell: per_row(cell, moved_share)) for line in LINES
    }
    latencies = {
        (line, n): percentiles(runs[0], key(line[1], OFFERED), n, f"{line[0]}/{OFFERED}")
        for line in LINES
        for n in worker_counts(options)
    }
    speed_up = rate_eps() * PERIOD_S[OFFERED] / houses() / HOUSEHOLDS / PLUGS
    measured = {
        text: numbers(throughput_eps=rates[line], moved_by_processed=shares[line])
        for line, text in LINES.items()
    }
    return outcome(
        _claims(options, runs, shares[PUBLISHED, ALL]),
        notes(
            options,
            runs,
            worker_counts(options),
            f"{houses()} houses of {HOUSEHOLDS * PLUGS} plugs each, generated; the paper: as many of "
            "the challenge's, with measured work.",
            f"Throughput and bytes: a load of each plug every {PERIOD_S[FULL]} s, as in the "
            f"challenge, at full speed, the own form in blocks of {BLOCK:,}. Latency: one every "
            f"{PERIOD_S[OFFERED]} s, event time sped up {speed_up:,.0f} times (the paper: "
            f"{_fact('speed-up of event time').low:g}), {rate_eps():,.0f} loads a second; bands are "
            "the 10th to 90th percentile of predictions.",
            "Bytes moved: whole states of plugs, with 31 days of averages, there and back, as a "
            "network would carry them, and ends of slices; workers here share memory. The paper's "
            "maps hold only the averages so far.",
            FORM_NOTE,
            "House by house, no worker needs another's states: this lab's own form.",
            "This lab's copy of the text has neither the latencies of DGS nor any throughput.",
            LAG_NOTE,
            lines_note(WORKLOAD),
            machines=ONE_SERVER,
        ),
        measured
        | {
            f"{LINES[line]}, {counted_workers(n)}": named_percentiles(cell)
            for (line, n), cell in latencies.items()
        },
        "DGS, appendix A.2: smart homes",
        [
            [
                degree_panel(
                    options,
                    "throughput",
                    "loads/s",
                    {text: rates[line] for line, text in LINES.items()},
                    ticks=worker_counts(options),
                ),
                _make_latency_panel(options, latencies),
                _make_bytes_panel(options, shares),
            ]
        ],
        height_in=2.2,
    )


def _full_speed(runs: Runs, line: LineKey, value: Value) -> Series:
    """Return a quantity of a line's cells at full speed, by workers."""
    form, ends = line
    return series(runs[0], key(ends, FULL), DGS, value, options=f"/{form}")


def _make_latency_panel(
    options: Options, latencies: Mapping[tuple[LineKey, int], Percentiles]
) -> Panel:
    return latency_panel(
        "latency of predictions: p10, p50, p90",
        WORKERS,
        [
            band_line(
                text,
                ((n, latencies[line, n], n > options.cores) for n in worker_counts(options)),
                colour,
            )
            for colour, (line, text) in enumerate(LINES.items())
        ],
        words=[f"challenge's winner, published: p90 {_fact('latency p90').text}"],
        ticks=worker_counts(options),
    )


def _make_bytes_panel(options: Options, shares: Mapping[LineKey, Series]) -> Panel:
    """Return the panel of bytes, without the cells of one worker: these move nothing, and 0 has no logarithm."""
    share = 100 * published_share()
    return Panel(
        title="bytes moved by bytes processed",
        y_label="%",
        x_label=WORKERS,
        lines=[
            Line(
                name=description,
                points=[point for point in points(shares[line], options, 100.0) if point.mid > 0],
                colour=colour,
            )
            for colour, (line, description) in enumerate(LINES.items())
        ],
        marks=[Mark(name="DGS, published", low=share, high=share)],
        log_y=True,
        ticks=[n for n in worker_counts(options) if n > 1],
        write=plain,
    )


FIGURE = Figure(
    id="flumina:A2",
    title="smart homes: latency, throughput, bytes between workers",
    shows="percentiles, throughput and bytes of the case study A.2 against workers; lines of code",
    needs=(WORKLOAD, DGS),
    stages=(stage("homes", "at full speed, and under a load", tree),),
    outcome=_outcome,
)
