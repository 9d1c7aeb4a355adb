"""Completes names in a shell (see docs/running.md).

The module imports no workload and no engine, to answer at once.
"""

from collections.abc import Callable, Iterable
from typing import TypedDict

import click
from click.shell_completion import CompletionItem

from streamlab.lab.cli.paths import LATEST, runs_root

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _workloads() -> Iterable[str]:
    from streamlab.workloads.registry import names

    return names()


def _engines() -> Iterable[str]:
    from streamlab.engines.registry import names

    return names()


def _figures() -> Iterable[str]:
    from streamlab.lab.figures.registry import figures

    return (figure.id for figure in figures())


def _runs() -> Iterable[str]:
    from streamlab.results.store import list_runs

    return (LATEST, *(path.name for path in list_runs(runs_root())))


def _datasets() -> Iterable[str]:
    from streamlab.workloads.datasets.catalog import Catalog

    return (path.name for path in Catalog.default().entries())


def _completer(names: Callable[[], Iterable[str]], *, or_file: bool) -> Completer:
    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        # If no name matches, let the shell complete files.
        return items or ([CompletionItem(incomplete, type="file")] if or_file else [])

    return complete


class Completion(TypedDict):
    """Keyword arguments of a click parameter with completion of names."""

    shell_complete: Completer


WORKLOADS: Completion = {"shell_complete": _completer(_workloads, or_file=True)}
"""Keyword arguments of a click parameter that takes a workload's name or file."""
ENGINES: Completion = {"shell_complete": _completer(_engines, or_file=False)}
FIGURES: Completion = {"shell_complete": _completer(_figures, or_file=False)}
RUNS: Completion = {"shell_complete": _completer(_runs, or_file=True)}
DATASETS: Completion = {"shell_complete": _completer(_datasets, or_file=False)}
