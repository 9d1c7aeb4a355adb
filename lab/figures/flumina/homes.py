"""Reproduces figure A2 of DGS (appendix A.2): smart homes: latency, throughput, bytes between workers.

Slices end for all houses at once, as in the paper, or house by house, this lab's own form.
Throughput and bytes are measured at full speed, with a load value of each plug every two seconds of
event time, as in the challenge.
Latency is measured under an offered load with one value a minute, so that enough slices end for
percentiles.
"""

import json
from collections.abc import Mapping

from streamlab.lab.figures.experiment import numbers, plain, points, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.flumina import systems
from streamlab.lab.figures.flumina.homes_runs import (
    ALL,
    ENDS,
    FULL,
    HOUSEHOLDS,
    OFFERED,
    PERIOD_S,
    PLUGS,
    WORKLOAD,
    degrees,
    houses,
    key,
    rate_eps,
    tree,
)
from streamlab.lab.figures.flumina.percentiles import Percentiles, as_json, band, percentiles
from streamlab.lab.figures.flumina.shared import (
    BLOCK,
    DGS,
    ONE_SERVER,
    RATE,
    WORKERS,
    facts,
    lines_note,
    notes,
    synchronizations,
)
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed, PublishedClaim, judge
from streamlab.lab.figures.measurements import Series, per_row, series
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import sweep_points
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.reports.published import Fact
from streamlab.results.query import CellSummary, Spread
from streamlab.results.schema import TrialRow

NUMBER = "A2"


def moved_share(row: TrialRow) -> float | None:
    """Return the ratio of bytes moved between workers to bytes processed; None if not counted."""
    counters = json.loads(row.counters or "{}")
    processed = counters.get("record_bytes")
    if not processed:
        return None
    return float(counters["state_bytes_moved"] + counters["record_bytes_moved"]) / float(processed)


def _moved(cell: CellSummary) -> Spread | None:
    return per_row(cell, moved_share)


def _fact(quantity: str) -> Fact:
    return facts().one(figure=NUMBER, quantity=quantity)


def published_share() -> float:
    """Return the published ratio of bytes moved to bytes processed."""
    return _fact("bytes moved").low / _fact("bytes processed").low


def _claims(options: Options, runs: Runs, share: Series) -> list[Posed]:
    moved, processed = _fact("bytes moved"), _fact("bytes processed")
    many = [n for n in share.by_workers if 1 < n <= max((2, *options.within))]
    needs = (
        sweep_points(
            "numbers of workers above one, between which something can move", len(many), 1
        ),
        *synchronizations(runs[0], key(ALL, FULL), workers=many),
    )
    highest = share.highest(many)

    def published_claim(text: str) -> PublishedClaim:
        return PublishedClaim(
            text=text,
            published=f"{moved.low / 1e6:g} MB moved, {processed.low / 1e9:g} GB processed",
            source=moved.source,
        ).of(SYSTEMS["DGS"]).given(*needs)  # fmt: skip

    winner = _fact("latency p90")
    return [
        published_claim("smart home, DGS: less is moved between workers than is processed").shape(
            highest, 0.0, 1.0, "x"
        ),
        published_claim("smart home, DGS: bytes moved by bytes processed").near(
            highest, published_share(), published_share(), 0.5, "x"
        ),
        PublishedClaim(
            text="smart home: latency and throughput, DGS by the challenge's winner",
            published=f"on a par; the winner's p90 {winner.text}",
            source=winner.source,
        )
        .between(SYSTEMS["DGS"], systems.WINNER)
        .shape(None, 0.0, float("inf"), "x"),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    rates = {ends: series(runs[0], key(ends, FULL), DGS, RATE) for ends in ENDS}
    shares = {ends: series(runs[0], key(ends, FULL), DGS, _moved) for ends in ENDS}
    latencies = {
        (ends, n): percentiles(runs[0], key(ends, OFFERED), n, OFFERED)
        for ends in ENDS
        for n in degrees(options)
    }
    speed_up = rate_eps() * PERIOD_S[OFFERED] / houses() / HOUSEHOLDS / PLUGS
    figure_notes = notes(
        options,
        runs,
        degrees(options),
        f"{houses()} houses of {HOUSEHOLDS * PLUGS} plugs each, generated; the paper: as many of "
        "the challenge's, with measured work.",
        f"Throughput and bytes: a load of each plug every {PERIOD_S[FULL]} s, as in the challenge, "
        f"at full speed, in blocks of {BLOCK:,}. Latency: one every {PERIOD_S[OFFERED]} s, event "
        f"time sped up {speed_up:,.0f} times (the paper: {_fact('speed-up of event time').low:g}), "
        f"{rate_eps():,.0f} loads a second; bands are the 10th to 90th percentile of predictions.",
        "Bytes moved: whole states of plugs, with 31 days of averages, there and back, as a "
        "network would carry them, and ends of slices; workers here share memory. The paper's "
        "maps hold only the averages so far.",
        "House by house, no worker needs another's states: this lab's own form.",
        "This lab's copy of the text has neither the latencies of DGS nor any throughput.",
        f"The generator may lag by {SEND_LAG_MS:g} ms (p99); latency, from due times, includes it.",
        lines_note(WORKLOAD),
        machines=ONE_SERVER,
    )
    return Outcome(
        claims=judge(_claims(options, runs, shares[ALL])),
        notes=figure_notes,
        numbers={
            **{
                description: numbers(throughput_eps=rates[ends], moved_by_processed=shares[ends])
                for ends, description in ENDS.items()
            },
            **{
                f"{ENDS[ends]}, {n} worker{'s' * (n > 1)}": as_json(cell)
                for (ends, n), cell in latencies.items()
            },
        },
        draw=lambda: draw(
            Layout(
                title="DGS, appendix A.2: smart homes",
                rows=[
                    [
                        _rates(options, rates),
                        _latency(options, latencies),
                        _shares(options, shares),
                    ]
                ],
                notes=figure_notes,
                height_in=2.2,
            )
        ),
    )


def _rates(options: Options, rates: Mapping[str, Series]) -> Panel:
    return Panel(
        title="throughput",
        y_label="loads/s",
        x_label=WORKERS,
        lines=[
            Line(name=description, points=points(rates[ends], options), colour=colour)
            for colour, (ends, description) in enumerate(ENDS.items())
        ],
        ticks=degrees(options),
    )


def _latency(options: Options, latencies: Mapping[tuple[str, int], Percentiles]) -> Panel:
    return Panel(
        title="latency of predictions: p10, p50, p90",
        y_label="latency, ms",
        x_label=WORKERS,
        lines=[
            Line(
                name=description,
                points=[
                    point
                    for n in degrees(options)
                    for point in band(n, latencies[ends, n], n > options.cores)
                ],
                colour=colour,
                band=True,
            )
            for colour, (ends, description) in enumerate(ENDS.items())
        ],
        words=[f"challenge's winner, published: p90 {_fact('latency p90').text}"],
        log_y=True,
        ticks=degrees(options),
        write=plain,
    )


def _shares(options: Options, shares: Mapping[str, Series]) -> Panel:
    """Return the panel of bytes; it omits one worker, where nothing moves: 0 has no logarithm."""
    return Panel(
        title="bytes moved by bytes processed",
        y_label="%",
        x_label=WORKERS,
        lines=[
            Line(
                name=description,
                points=[point for point in points(shares[ends], options, 100.0) if point.mid > 0],
                colour=colour,
            )
            for colour, (ends, description) in enumerate(ENDS.items())
        ],
        marks=[
            Mark(
                name="DGS, published",
                low=100 * published_share(),
                high=100 * published_share(),
            )
        ],
        log_y=True,
        ticks=[n for n in degrees(options) if n > 1],
        write=plain,
    )


FIGURE = Figure(
    id=f"flumina:{NUMBER}",
    title="smart homes: latency, throughput, bytes between workers",
    shows="percentiles, throughput and bytes of the case study A.2 against workers; lines of code",
    needs=(WORKLOAD, DGS),
    stages=(stage("homes", "at full speed, and under a load", tree),),
    outcome=_outcome,
)
