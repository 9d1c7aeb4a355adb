"""Writes a site of runs: a list, a page for each run and each cell, and a page that compares two runs.

    index.html        the runs and the cells
    runs/NAME.html    the report of a run
    cells/*.html      a cell over the runs of each machine, with its steps
    compare.html      any two runs; `#a=NAME&b=NAME` selects them
    data/NAME.js      data of a run for other pages

The site works from disk and from any web server. A page is written again only if the files of its
runs or the code of the pages have changed.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from streamlab.reports.figures.history import draw_history
from streamlab.reports.numbers import number_of
from streamlab.reports.page.frame import fill, is_current, write_page
from streamlab.reports.page.site_run import SiteRun, as_script, extract, read_script
from streamlab.reports.page.statement import missing_cells, statement
from streamlab.reports.page.write import render
from streamlab.reports.searches import read_searches
from streamlab.reports.side_by_side import write_times
from streamlab.reports.steps import Measured, Track, follow, runs_in_words
from streamlab.reports.summary import summarise
from streamlab.results.compare import HIGHER_IS_BETTER, LEVEL, METRICS, SUSTAINABLE
from streamlab.results.errors import ResultsError
from streamlab.results.machines import compare_machines
from streamlab.results.seal import SEALS
from streamlab.results.stats.decision import ONE_STAGE
from streamlab.results.store import read_run

_METRICS = tuple(name for name in METRICS if name != SUSTAINABLE)
_SOURCES = (".py", ".js", ".css", ".j2")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    """The result of writing a site.

    Attributes:
        index: the first page.
        pages: number of written pages of runs and cells; pages that were still current do not count.
        left_out: path of each unreadable run, with the reason.
    """

    index: Path
    pages: int
    left_out: tuple[tuple[Path, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A cell on one machine: its runs in order of time, and its tracks by metric."""

    machine: str
    runs: tuple[SiteRun, ...]
    tracks: tuple[tuple[str, Track], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableRow:
    """A cell in one run.

    Attributes:
        failure: the status if the cell has no number, else empty.
        medians: for each metric of the table, the median as text and as exact text; None if not measured.
        comparable: the last earlier run with the same input and settings; None without one.
    """

    run: SiteRun
    failure: str
    medians: tuple[tuple[str, str] | None, ...]
    comparable: SiteRun | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The runs of a part, one per row, and all metrics that at least one run measured."""

    metrics: tuple[str, ...]
    rows: tuple[_TableRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedCell:
    """A cell in the list.

    Attributes:
        page: file name of the cell's page.
        runs: number of runs that have the cell.
        latest: newest run that has the cell.
        rate: newest rate, latency or status, as text and as exact text.
        steps, worse: number of all steps, and of steps for the worse.
    """

    name: str
    page: str
    runs: int
    latest: SiteRun
    rate: tuple[str, str]
    steps: int
    worse: int


def write_site(run_dirs: Sequence[Path], out: Path, *, seed: int) -> SiteReport:
    """Write the site of these runs into a folder.

    Pages of other runs stay, so that their addresses stay valid, but they are no longer listed.
    """
    runs, left_out, pages = [], [], 0
    for run_dir in run_dirs:
        try:
            run, is_new = _update_run(run_dir, out)
        except ResultsError as error:
            left_out.append((run_dir, str(error)))
            continue
        runs.append(run)
        pages += is_new
    runs.sort(key=lambda run: (run.start_time, run.name))
    machines = _by_machine(runs)
    cells = _find_parts(machines, seed)
    listed = []
    for cell, parts in cells.items():
        page = _cell_page(cell)
        pages += _update_cell(cell, parts, out / "cells" / page)
        listed.append(_list_cell(cell, parts, page))
    places = {run.name: place for place, group in enumerate(machines) for run in group}
    before = {
        run.name: earlier.name
        for group in machines
        for place, run in enumerate(group)
        if (earlier := _find_comparable(run, group[:place])) is not None
    }
    runs_on_machines = [{"name": run.name, "machine": places[run.name]} for run in runs]
    write_page(
        out / "compare.html",
        fill(
            "site_compare.html.j2",
            name="comparison of two runs",
            home="index.html",
            scripts=("page.js", "compare.js"),
            known={"runs": runs_on_machines, "higher": HIGHER_IS_BETTER, "level": LEVEL},
            colours={},
            runs=runs[::-1],
        ),
    )
    index = fill(
        "site_index.html.j2",
        name=f"{len(runs)} runs",
        cells=listed,
        before=before,
        left_out=[(path.name, reason) for path, reason in left_out],
        colours={},
        runs=runs[::-1],
    )
    return SiteReport(
        index=write_page(out / "index.html", index), pages=pages, left_out=tuple(left_out)
    )


def _update_run(run_dir: Path, out: Path) -> tuple[SiteRun, bool]:
    """Return a run, and whether its page was written.

    Raises:
        ResultsError: the run is missing or damaged.
    """
    name = run_dir.resolve().name
    page, data = out / "runs" / f"{name}.html", out / "data" / f"{name}.js"
    made_from = _digest_of_run(run_dir)
    stored = read_script(data) if is_current(page, made_from) else None
    if stored is not None:
        return stored, False
    run = read_run(run_dir)
    cells = summarise(run.rows)
    searches = read_searches(run, cells)
    missing = missing_cells(run.meta, cells, searches)
    complete = run.meta.complete is not False
    about = statement(cells, searches=searches, missing=missing, complete=complete)
    extracted = extract(run, cells, searches, about.mark)
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_bytes(as_script(extracted))
    write_page(page, render(run, cells, None, home="../index.html", made_from=made_from))
    return extracted, True


def _digest_of_run(run_dir: Path) -> str:
    """Return a digest of a run's files and the pages' code; sealed files are represented by their seals."""
    digest = hashlib.sha256(_digest_of_code())
    seals = run_dir / SEALS
    paths = [seals] if seals.exists() else sorted(run_dir.glob("*/*"))
    for path in [run_dir / "run.json", run_dir / "trials.parquet", *paths]:
        if path.is_file():
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]


@cache
def _digest_of_code() -> bytes:
    digest = hashlib.sha256()
    for package in ("reports", "results"):
        folder = Path(str(files("streamlab") / package))
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES):
            digest.update(path.read_bytes())
    return digest.digest()


def _by_machine(runs: Sequence[SiteRun]) -> list[list[SiteRun]]:
    """Group runs in order of time by machine; the machine of the newest run comes first."""
    machines = []
    remaining = list(runs)
    while remaining:
        newest = remaining[-1]
        same = [r for r in remaining if not compare_machines(r.host, newest.host).decisive]
        remaining = [run for run in remaining if run not in same]
        machines.append(same)
    return machines


def _find_comparable(run: SiteRun, earlier: Sequence[SiteRun]) -> SiteRun | None:
    """Return the last earlier run that shares a cell with this run, with the same input and settings."""
    keys = {(cell.cell, cell.fingerprint) for cell in run.cells}
    comparable = (
        r for r in reversed(earlier) if any((c.cell, c.fingerprint) in keys for c in r.cells)
    )
    return next(comparable, None)


def _find_parts(machines: Sequence[Sequence[SiteRun]], seed: int) -> dict[str, list[_Part]]:
    """Return the parts of each cell, one per machine, by name of the cell."""
    cells: dict[str, list[_Part]] = {}
    for group in machines:
        places: dict[str, list[int]] = {}
        for place, run in enumerate(group):
            for cell in run.cells:
                places.setdefault(cell.cell, []).append(place)
        tracks: dict[str, list[tuple[str, Track]]] = {name: [] for name in places}
        for metric in _METRICS:
            measured = [
                {
                    (cell.cell, cell.fingerprint): Measured(
                        values=cell.values.get(metric, ()), failure=cell.failure
                    )
                    for cell in run.cells
                }
                for run in group
            ]
            for track in follow(measured, METRICS[metric], seed=seed).tracks:
                local = {place: index for index, place in enumerate(places[track.cell])}
                tracks[track.cell].append((metric, _renumber(track, local)))
        for name, indices in places.items():
            part = _Part(
                machine=group[-1].machine,
                runs=tuple(group[place] for place in indices),
                tracks=tuple(tracks[name]),
            )
            cells.setdefault(name, []).append(part)
    return dict(sorted(cells.items()))


def _renumber(track: Track, places: Mapping[int, int]) -> Track:
    """Replace the indices of a track's runs."""
    return replace(
        track,
        points=tuple(replace(point, run=places[point.run]) for point in track.points),
        failed=tuple((places[run], status) for run, status in track.failed),
        steps=tuple(
            replace(step, before=places[step.before], after=places[step.after])
            for step in track.steps
        ),
    )


def _cell_page(cell: str) -> str:
    """Return the file name of a cell's page; it is readable, and a digest of the cell's id makes it unique."""
    digest = hashlib.sha256(cell.encode(errors="backslashreplace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', cell).strip('-')[:80]}-{digest}.html"


def _update_cell(cell: str, parts: Sequence[_Part], target: Path) -> bool:
    """Write a cell's page unless it is current; return whether it was written."""
    facts = [
        (
            part.machine,
            part.tracks,
            [(run.commit, run.start_time) for run in part.runs],
            [
                (row.run.name, row.failure, row.medians, row.comparable and row.comparable.name)
                for row in _make_table(cell, part).rows
            ],
        )
        for part in parts
    ]
    digest = hashlib.sha256(_digest_of_code() + msgspec.json.encode(facts))
    made_from = digest.hexdigest()[:32]
    if is_current(target, made_from):
        return False
    page = fill(
        "site_cell.html.j2",
        name=cell,
        colours={},
        home="../index.html",
        made_from=made_from,
        parts=[(part, _draw_tracks(part), _make_table(cell, part)) for part in parts],
        rule=ONE_STAGE,
        metrics=METRICS,
        write_times=write_times,
    )
    write_page(target, page)
    return True


def _draw_tracks(part: _Part) -> dict[str, list[tuple[str, str]]]:
    """Draw each track that has a number.

    Returns pairs of metric and SVG; the keys describe the runs that have the same input and settings.
    """
    names = [run.name for run in part.runs]
    runs: dict[str, set[int]] = {}
    for _, track in part.tracks:
        runs.setdefault(track.fingerprint, set()).update(track.runs)
    drawings: dict[str, list[tuple[str, str]]] = {}
    for metric, track in part.tracks:
        if track.points:
            steps = number_of(len(track.steps), "step") if track.steps else "no steps"
            alt = f"{metric} of {track.cell} over {len(names)} runs, {steps}"
            svg = draw_history(track, names, metric=metric, alt=alt)
            drawings.setdefault(runs_in_words(runs[track.fingerprint]), []).append((metric, svg))
    return drawings


def _make_table(cell: str, part: _Part) -> _Table:
    cells = [next(run_cell for run_cell in run.cells if run_cell.cell == cell) for run in part.runs]
    metrics = tuple(name for name in METRICS if any(name in run_cell.texts for run_cell in cells))
    latest: dict[str, SiteRun] = {}
    rows = []
    for run, run_cell in zip(part.runs, cells, strict=True):
        rows.append(
            _TableRow(
                run=run,
                failure=run_cell.failure or "",
                medians=tuple(run_cell.texts.get(metric) for metric in metrics),
                comparable=latest.get(run_cell.fingerprint),
            )
        )
        latest[run_cell.fingerprint] = run
    return _Table(metrics=metrics, rows=tuple(rows))


def _list_cell(cell: str, parts: Sequence[_Part], page: str) -> _ListedCell:
    latest = max((part.runs[-1] for part in parts), key=lambda run: run.start_time)
    steps = [step for part in parts for _, track in part.tracks for step in track.steps]
    newest = next(run_cell for run_cell in latest.cells if run_cell.cell == cell)
    return _ListedCell(
        name=cell,
        page=page,
        runs=sum(len(part.runs) for part in parts),
        latest=latest,
        rate=newest.texts.get("throughput")
        or newest.texts.get("p50")
        or (newest.failure or "", ""),
        steps=len(steps),
        worse=sum(not step.better for step in steps),
    )
