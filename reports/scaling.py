"""Reports cells where more workers were slower, with the stored numbers that may explain it.

Each sentence states a recorded fact, which does not prove a cause. Only another run in which nothing else
changes could prove it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from streamlab.reports.baseline import is_too_short
from streamlab.reports.numbers import count, counted_workers, digits, duration, share
from streamlab.reports.summary import Cell
from streamlab.reports.table import in_groups, title
from streamlab.results.query import group_by
from streamlab.results.schema import TrialRow
from streamlab.results.stats.mann_whitney import smallest_p

LEAST_SLOWDOWN = 0.05
"""Minimum share by which a median must be lower to count as slower if the ranges overlap."""

FAR_NS = 100.0
"""Minimum median transfer time of a cache line at which cores count as distant. Transfers take 20 to 50 ns within a
cluster of cores, and 100 to 300 ns between clusters."""

_BUSY = "busy beside the lab"
_STOLEN = "other guests of the hypervisor"
_QUOTA = "a control group limits"
_ALPHA = 0.05  # one-sided; three processes per cell can reach it
_KERNEL_SHARE = 0.2  # share of the CPU time; `lab run` warns above this share
_CPU_RATIO = 1.2  # minimum quotient of CPU times that is reported
_BUSY_SHARE = 0.75  # workers are waiting if they use fewer cores than this share of their number


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """A cell that was slower than a cell of the same engine, input and settings with fewer workers.

    Attributes:
        place: workload and input.
        fewer, more: the fastest cell with fewer workers, and the slower cell with more workers.
        ratio: median rate of `more` over that of `fewer`, below 1.
        is_apart: whether the fastest process of `more` was slower than the slowest process of `fewer`.
        reasons: possible reasons from the stored numbers; may be empty.
    """

    place: str
    fewer: Cell
    more: Cell
    ratio: float
    is_apart: bool
    reasons: tuple[str, ...]

    @property
    def doubt(self) -> str:
        """Why the difference may be chance; empty with enough processes and separate ranges.

        With few processes, even separate ranges may be chance: with two processes per cell, they are so in
        one of six cases.
        """
        assert self.fewer.throughput_eps and self.more.throughput_eps
        n = (self.fewer.throughput_eps.n, self.more.throughput_eps.n)
        if smallest_p(*n) > _ALPHA:
            return f"{min(n)} process{'' if min(n) == 1 else 'es'}, so it may be chance"
        return "" if self.is_apart else "the ranges overlap, so it may be chance"


def slower(cells: Sequence[Cell], rows: Iterable[TrialRow]) -> list[Slower]:
    """Return the catch-up cells that are slower than a comparable cell with fewer workers."""
    trials = group_by(rows, lambda row: row.cell)
    results = []
    for group, members in in_groups([cell for cell in cells if cell.load is None]):
        for more in members:
            fewer = _fastest_with_fewer(more, members)
            result = fewer and _compare(title(group), fewer, more, trials)
            if result:
                results.append(result)
    return results


def _fastest_with_fewer(more: Cell, members: Sequence[Cell]) -> Cell | None:
    candidates = [
        (cell.throughput_eps.median, cell)
        for cell in members
        if cell.throughput_eps
        and cell.workers < more.workers
        and (cell.series, cell.conditions) == (more.series, more.conditions)
    ]
    return max(candidates, key=lambda pair: pair[0])[1] if candidates else None


def _compare(
    place: str, fewer: Cell, more: Cell, trials: dict[str, list[TrialRow]]
) -> Slower | None:
    before, after = fewer.throughput_eps, more.throughput_eps
    if not before or not after or before.median <= 0:
        return None
    ratio = after.median / before.median
    is_apart = min(before.n, after.n) > 1 and after.high < before.low
    if ratio >= 1 or (ratio > 1 - LEAST_SLOWDOWN and not is_apart):
        return None
    rows = trials[more.name]
    candidates = (
        _short_part(more),
        "more workers than cores: they take turns" if more.oversubscribed else "",
        *_describe_events(rows),
        _distant_cores(rows),
        _lost_cores(fewer, more),
        _planned_for_fewer(more),
        _gathered_work(more),
        _little_work(fewer, more),
        _kernel_time(trials[fewer.name], rows),
        _costlier_events(fewer, more),
        _waiting_workers(more),
    )
    reasons = tuple(text for text in candidates if text)
    return Slower(
        place=place, fewer=fewer, more=more, ratio=ratio, is_apart=is_apart, reasons=reasons
    )


# Each function below returns a sentence about a possible reason, or "" if the numbers do not show it.


def _short_part(more: Cell) -> str:
    if not more.events or not more.throughput_eps or not is_too_short(more):
        return ""
    took_s = more.events / more.throughput_eps.median
    return f"the timed part took {duration(took_s * 1e9).text}, which includes the start of the workers"


def _describe_events(rows: Sequence[TrialRow]) -> list[str]:
    """Return sentences about other programs and guests that the trials' warnings mention."""
    warnings = [json.loads(row.warnings or "[]") for row in rows]
    loads = [row.loadavg_before for row in rows if row.loadavg_before is not None]
    sentences = []
    for text_part, event in (
        (_BUSY, "other programs were on the cores"),
        (_STOLEN, "the hypervisor gave the cores to other guests"),
        (_QUOTA, "a control group throttled it"),
    ):
        n = sum(any(text_part in str(text) for text in texts) for texts in warnings)
        if n:
            load = ""
            if text_part == _BUSY and loads:
                load = f" (load average {digits(min(loads))} to {digits(max(loads))})"
            sentences.append(f"{event} around {n} of its {len(rows)} trials{load}")
    return sentences


def _distant_cores(rows: Sequence[TrialRow]) -> str:
    columns = ("core_to_core_before_ns", "core_to_core_after_ns")
    distances_ns = [
        ns for row in rows for name in columns if (ns := getattr(row, name)) is not None
    ]
    if not distances_ns or median(distances_ns) < FAR_NS:
        return ""
    return (
        f"its cores were far from each other: a cache line took {digits(median(distances_ns))} ns "
        f"(20 to 50 ns within a cluster of cores)"
    )


def _lost_cores(fewer: Cell, more: Cell) -> str:
    name = "involuntary_switches"
    after, before = more.counters.get(name), fewer.counters.get(name)
    if after is None or after.median < 1 or (before and after.median <= before.median):
        return ""
    other = f", {count(before.median).text} with {counted_workers(fewer.workers)}" if before else ""
    return f"its threads lost their core to others {count(after.median).text} times{other}"


def _planned_for_fewer(more: Cell) -> str:
    used = more.counters.get("workers_used")
    if used is None or used.median >= more.workers:
        return ""
    return f"its plan had work for {count(used.median).text} of {more.workers} workers"


def _gathered_work(more: Cell) -> str:
    gatherings = more.counters.get("gatherings")
    if gatherings is None or gatherings.median < 1:
        return ""
    times = f"{count(gatherings.median).text} time{'' if gatherings.median == 1 else 's'}"
    return (
        f"the engine gathered all work at one worker {times}, because it measured that as quicker "
        "than synchronizing"
    )


def _little_work(fewer: Cell, more: Cell) -> str:
    """Compare the work between synchronizations with the time of a synchronization, if both are known."""
    synchronizations, sync_ns = (
        more.counters.get("synchronizations"),
        more.counters.get("sync_median_ns"),
    )
    cpu = fewer.cpu_s_per_million
    if not (synchronizations and synchronizations.median and sync_ns and cpu and more.events):
        return ""
    events = more.events / synchronizations.median
    work_ns = events * cpu.median * 1e3
    if work_ns / more.workers > sync_ns.median:
        return ""
    return (
        f"too little work a synchronization: {count(round(events)).text} events, "
        f"{duration(work_ns).text} of CPU time with {counted_workers(fewer.workers)}, are shared between two of "
        f"them, and one takes {duration(sync_ns.median).text}"
    )


def _kernel_time(before: Sequence[TrialRow], after: Sequence[TrialRow]) -> str:
    share_after, share_before = _kernel_share(after), _kernel_share(before)
    if (
        share_after is None
        or share_after < _KERNEL_SHARE
        or (share_before is not None and share_after < share_before * _CPU_RATIO)
    ):
        return ""
    other = "" if share_before is None else f", {share(share_before).text} with fewer workers"
    return f"{share(share_after).text} of its CPU time was the kernel's (waking, waiting, memory){other}"


def _kernel_share(rows: Sequence[TrialRow]) -> float | None:
    shares = [row.system_s / row.cpu_s for row in rows if row.cpu_s and row.system_s is not None]
    return median(shares) if shares else None


def _costlier_events(fewer: Cell, more: Cell) -> str:
    before, after = fewer.cpu_s_per_million, more.cpu_s_per_million
    if not (before and after and before.median) or after.median < _CPU_RATIO * before.median:
        return ""
    return (
        f"an event cost {digits(after.median / before.median)} times the CPU time of "
        f"{counted_workers(fewer.workers)}"
    )


def _waiting_workers(more: Cell) -> str:
    if not (more.cpu_s_per_million and more.throughput_eps) or more.oversubscribed:
        return ""
    cores = more.cpu_s_per_million.median * more.throughput_eps.median / 1e6
    if cores > _BUSY_SHARE * more.workers:
        return ""
    return (
        f"its workers waited: {digits(cores)} cores were in use by {counted_workers(more.workers)}"
    )
