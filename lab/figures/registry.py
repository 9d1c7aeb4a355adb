"""Finds figures by id. A paper is a module."""

from importlib import import_module

from lab.figures.errors import FigureError
from lab.figures.figure import Figure
from reports.published import Facts

PAPERS: dict[str, str] = {
    "stretch": "lab.figures.stretch",
    "ordered": "lab.figures.ordered",
    "viper": "lab.figures.viper",
}
"""Module by paper: it gives `FIGURES`, and its published numbers by `facts()`."""


def figures() -> tuple[Figure, ...]:
    """Return all figures, paper by paper."""
    return tuple(figure for module in PAPERS.values() for figure in _of(module))


def find(figure_id: str) -> Figure:
    """Return the figure of that id; upper and lower case are one.

    Raises:
        FigureError: there is none; the message lists those that exist.
    """
    known = {figure.id.lower(): figure for figure in figures()}
    if figure_id.lower() not in known:
        raise FigureError(
            f"no figure {figure_id!r}; there are {', '.join(f.id for f in known.values())} "
            "(see `lab list figures`)"
        )
    return known[figure_id.lower()]


def facts_of(figure: Figure) -> Facts:
    """Return what the figure's paper published."""
    found: Facts = import_module(PAPERS[figure.id.partition(":")[0]]).facts()
    return found


def lacking(figure: Figure) -> tuple[str, ...]:
    """Return what the figure needs and this lab does not have, in words; empty: it can be made."""
    from engines.errors import EngineError
    from engines.registry import engine
    from workloads.registry import names

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


def _of(module: str) -> tuple[Figure, ...]:
    found: tuple[Figure, ...] = import_module(module).FIGURES
    return found
