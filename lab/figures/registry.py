"""Finds figures by id; installed packages register theirs with the entry-point group `lab.figures`.

A paper is a module. A module that fails to load is an error of that paper only; the others still work.
"""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from streamlab.engines.errors import EngineError
from streamlab.engines.registry import engine
from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Figure
from streamlab.reports.published import Facts
from streamlab.workloads.entry_points import find_entry_points
from streamlab.workloads.name_suggestions import suggest_names
from streamlab.workloads.registry import names

GROUP = "lab.figures"

PAPERS: dict[str, str] = {
    "stretch": "streamlab.lab.figures.stretch",
    "ordered": "streamlab.lab.figures.ordered",
    "viper": "streamlab.lab.figures.viper",
    "datatrace": "streamlab.lab.figures.datatrace",
    "flumina": "streamlab.lab.figures.flumina",
    "lab": "streamlab.lab.figures.barriers",
}
"""Built-in module by paper; it has `FIGURES`, and `facts()` returns the published numbers. `lab` holds
figures without a paper."""


def figures() -> tuple[Figure, ...]:
    """Return all figures that can be loaded, paper by paper."""
    return tuple(figure for _, module in _load_papers() for figure in _figures_of(module))


def unusable() -> tuple[str, ...]:
    """Return the reason for each paper that cannot be loaded."""
    return tuple(reason for reason, module in _load_papers() if module is None)


def find(figure_id: str) -> Figure:
    """Return the figure with this id, ignoring case.

    Raises:
        FigureError: no figure has this id; the message suggests similar ids and names papers that
            cannot be loaded.
    """
    by_id = {figure.id.lower(): figure for figure in figures()}
    if figure_id.lower() not in by_id:
        broken = "".join(f"; {reason}" for reason in unusable())
        raise FigureError(
            f"no figure {figure_id!r}; "
            f"{suggest_names(figure_id, (f.id for f in by_id.values()), 'lab list figures')}{broken}"
        )
    return by_id[figure_id.lower()]


def facts_of(figure: Figure) -> Facts:
    """Return the published numbers of the figure's paper."""
    paper = figure.id.partition(":")[0]
    module = PAPERS.get(paper) or _installed_papers()[paper]
    facts: Facts = import_module(module).facts()
    return facts


def missing_needs(figure: Figure) -> tuple[str, ...]:
    """Return the figure's needs that this lab lacks, in words; empty if it can run."""
    problems = []
    for need in figure.needs:
        name, _, variant = need.partition("/")
        if not variant:
            if name not in names():
                problems.append(f"workload {name}")
            continue
        try:
            variants = {variant.name for variant in engine(name).variants()}
        except EngineError as error:
            problems.append(f"engine {name}: {error}")
            continue
        if variant not in variants:
            problems.append(f"variant {variant} of engine {name}")
    return tuple(problems)


def _load_papers() -> Iterator[tuple[str, ModuleType | None]]:
    """Yield each paper's module, or None with the reason why it is unusable."""
    for name in PAPERS.values():
        yield "", import_module(name)
    for paper, name in _installed_papers().items():
        place = f"figures of {paper!r} ({name})"
        try:
            module = import_module(name)
            fault = _find_fault(paper, module)
        except (Exception, SystemExit) as error:
            yield f"{place} cannot be loaded: {type(error).__name__}: {error}", None
            continue
        yield f"{place} {fault}", None if fault else module


def _find_fault(paper: str, module: ModuleType) -> str | None:
    """Return the reason why a module cannot be a paper's; None if it can."""
    if paper in PAPERS:
        return "have the name of a built-in paper: register them under another name"
    figures = getattr(module, "FIGURES", None)
    if not isinstance(figures, tuple) or not all(isinstance(f, Figure) for f in figures):
        return "have no FIGURES, a tuple of streamlab.figure.Figure"
    foreign = [figure.id for figure in figures if not figure.id.startswith(f"{paper}:")]
    if foreign:
        return f"have the id {foreign[0]!r}, which must begin with {paper}:"
    return None if callable(getattr(module, "facts", None)) else "have no function facts()"


def _figures_of(module: ModuleType | None) -> tuple[Figure, ...]:
    return () if module is None else tuple(module.FIGURES)


def _installed_papers() -> dict[str, str]:
    """Return the module of each installed paper; the first package of a name wins."""
    papers: dict[str, str] = {}
    for point in find_entry_points(GROUP):
        papers.setdefault(point.name, point.value)
    return papers
