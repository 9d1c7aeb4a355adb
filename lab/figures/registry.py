"""Finds figures by id. A paper is a module; packages announce theirs by the group `lab.figures`.

Anybody may install a package, so whatever goes wrong while one is loaded is an error of that paper,
and keeps nobody from the others.
"""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Figure
from streamlab.reports.published import Facts
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.name_suggestions import suggest_names

GROUP = "lab.figures"

PAPERS: dict[str, str] = {
    "stretch": "streamlab.lab.figures.stretch",
    "ordered": "streamlab.lab.figures.ordered",
    "viper": "streamlab.lab.figures.viper",
    "datatrace": "streamlab.lab.figures.datatrace",
    "flumina": "streamlab.lab.figures.flumina",
    "lab": "streamlab.lab.figures.own",
}
"""Module by paper, of ours: it gives `FIGURES`, and its published numbers by `facts()`. `lab` is
of no paper."""


def figures() -> tuple[Figure, ...]:
    """Return all figures that can be loaded, paper by paper."""
    return tuple(figure for _, found in _loaded() for figure in _of(found))


def unusable() -> tuple[str, ...]:
    """Return, for each paper that cannot be loaded, why."""
    return tuple(why for why, found in _loaded() if found is None)


def find(figure_id: str) -> Figure:
    """Return the figure of that id; upper and lower case are one.

    Raises:
        FigureError: there is none; the message names those that were perhaps meant, and what
            cannot be loaded.
    """
    known = {figure.id.lower(): figure for figure in figures()}
    if figure_id.lower() not in known:
        broken = "".join(f"; {why}" for why in unusable())
        raise FigureError(
            f"no figure {figure_id!r}; "
            f"{suggest_names(figure_id, (f.id for f in known.values()), 'lab list figures')}{broken}"
        )
    return known[figure_id.lower()]


def facts_of(figure: Figure) -> Facts:
    """Return what the figure's paper published."""
    paper = figure.id.partition(":")[0]
    module = PAPERS.get(paper) or _announced()[paper]
    found: Facts = import_module(module).facts()
    return found


def lacking(figure: Figure) -> tuple[str, ...]:
    """Return what the figure needs and this lab does not have, in words; empty: it can be made."""
    from streamlab.engines.errors import EngineError
    from streamlab.engines.registry import engine
    from streamlab.workloads.registry import names

    found = []
    for need in figure.needs:
        name, _, variant = need.partition("/")
        if not variant:
            if name not in names():
                found.append(f"workload {name}")
            continue
        try:
            variants = {known.name for known in engine(name).variants()}
        except EngineError as error:
            found.append(f"engine {name}: {error}")
            continue
        if variant not in variants:
            found.append(f"variant {variant} of engine {name}")
    return tuple(found)


def _loaded() -> Iterator[tuple[str, ModuleType | None]]:
    """Yield the module of each paper, or, with None, why it cannot be used."""
    for module in PAPERS.values():
        yield "", import_module(module)
    for paper, module in _announced().items():
        where = f"figures of {paper!r} ({module})"
        try:
            found = import_module(module)
            wrong = _wrong(paper, found)
        except (Exception, SystemExit) as error:
            yield f"{where} cannot be loaded: {type(error).__name__}: {error}", None
            continue
        yield f"{where} {wrong}", None if wrong else found


def _wrong(paper: str, module: ModuleType) -> str | None:
    """Return what keeps a module from being a paper's."""
    if paper in PAPERS:
        return "have the name of a paper of the lab's: announce them under another"
    made = getattr(module, "FIGURES", None)
    if not isinstance(made, tuple) or not all(isinstance(one, Figure) for one in made):
        return "have no FIGURES, a tuple of streamlab.figure.Figure"
    strange = [figure.id for figure in made if not figure.id.startswith(f"{paper}:")]
    if strange:
        return f"have the id {strange[0]!r}, which must begin with {paper}:"
    return None if callable(getattr(module, "facts", None)) else "have no function facts()"


def _of(module: ModuleType | None) -> tuple[Figure, ...]:
    return () if module is None else tuple(module.FIGURES)


def _announced() -> dict[str, str]:
    """Return module by paper, of what is installed; the first of a name."""
    found: dict[str, str] = {}
    for point in find_entry_points(GROUP):
        found.setdefault(point.name, point.value)
    return found
