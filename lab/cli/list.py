"""`lab list`: what there is."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli import EXIT_OK
from lab.cli.stored_runs import runs_option

if TYPE_CHECKING:
    from engines.protocol import Engine


@click.command("list")
@click.argument("what", type=click.Choice(["workloads", "engines", "figures", "runs"]))
@runs_option("--out", about="With runs: where they are")
def list_things(what: str, out: Path) -> int:
    """List workloads with their parameters, engines with their variants, figures, or runs."""
    lines = {"workloads": _workloads, "engines": _engines, "figures": _figures}
    for line in _runs(out) if what == "runs" else lines[what]():
        click.echo(line)
    return EXIT_OK


def _workloads() -> Iterator[str]:
    from workloads.model import ModelError, Pipeline
    from workloads.registry import names, workload

    for name in names():
        try:
            found = workload(name)
        except ModelError as error:
            yield f"{name}  not usable: {error}"
            continue
        yield f"{name}  {found.title}" + (f" ({found.paper})" if found.paper else "")
        if isinstance(found.program, Pipeline):
            stages = [f"{stage.name} ({stage.kind})" for stage in found.program.stages]
            yield f"    ordered pipeline: {' -> '.join(stages)}"
        for parameter, spec in found.parameters.items():
            yield f"    {parameter} = {spec.default!r}  {spec.help}"
        for parameter, spec in found.query.items():
            yield f"    query.{parameter} = {spec.default!r}  {spec.help}"


def _engines() -> Iterator[str]:
    from engines.errors import EngineError
    from engines.registry import engine, names

    if not names():
        yield "no engine is installed; run `make setup`"
    for name in names():
        try:
            lines = list(_engine(engine(name), name))
        except EngineError as error:
            lines = [f"{name}  not usable: {error}"]
        yield from lines


def _engine(found: "Engine", name: str) -> Iterator[str]:
    from engines import environment
    from engines.protocol import MODELS, default_variant

    yield f"{name}  {found.version()}"
    wanted = environment.wanted_by(found)
    if wanted is not None:
        made = f"its own environment is made: {environment.folder(name)}"
        yield f"    {environment.lacking(name, wanted) or made}"
    variants = found.variants()
    for variant in variants:
        models = [model for model in MODELS if model in variant.models]
        of = [MODELS[m] for m in models if default_variant(variants, m) is variant]
        default = f", default for {' and '.join(', '.join(of).rsplit(', ', 1))}" if of else ""
        batch = ", takes a batch size" if variant.uses_batch else ""
        yield f"    {variant.name}  {variant.summary}{batch}{default}"
        if variant.lacking or len(models) < len(MODELS):
            runs = ", ".join(MODELS[model] for model in models)
            yield f"        runs {runs}{''.join(f'; not {name}' for name in variant.lacking)}"


def _figures() -> Iterator[str]:
    from lab.figures.registry import figures, lacking, unusable

    for why in unusable():
        yield f"not usable: {why}"
    for figure in figures():
        missing = lacking(figure)
        state = f"not available: there is no {', no '.join(missing)}" if missing else "available"
        yield f"{figure.id}  {figure.title}; {state}"
        yield f"    {figure.shows}"


def _runs(root: Path) -> Iterator[str]:
    from results.errors import ResultsError
    from results.store import list_runs, read_summary

    found = list_runs(root)
    if not found:
        yield f"no runs in {root}; `lab run --demo` makes one"
    for run_dir in found:
        try:
            told = read_summary(run_dir)
        except ResultsError as error:
            yield f"{run_dir}  {error}"
            continue
        state = "complete" if told.complete else "incomplete, see lab run --resume"
        commit = (told.commit or "no commit")[:12]
        yield f"{run_dir}  {told.cells} cells, {commit}, {state}"
