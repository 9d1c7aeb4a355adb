"""`lab list`: what there is."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from streamlab.lab.cli import EXIT_OK, inventory
from streamlab.lab.cli.inventory import Record
from streamlab.lab.cli.stored_runs import runs_option


@click.command("list")
@click.argument("what", type=click.Choice(["workloads", "engines", "figures", "runs"]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/json.md has the keys.")
@runs_option("--out", about="With runs: where they are")
def list_things(what: str, as_json: bool, out: Path) -> int:
    """List workloads with their parameters, engines with their variants, figures, or runs."""
    found = inventory.runs(out) if what == "runs" else _INVENTORIES[what]()
    if as_json:
        click.echo(json.dumps(found, indent=2, default=str))
        return EXIT_OK
    if what == "runs" and not found:
        click.echo(f"no runs in {out}; `lab run --demo` makes one")
    for line in _LINES[what](found):
        click.echo(line)
    return EXIT_OK


def _workloads(found: Iterable[Record]) -> Iterator[str]:
    for one in found:
        if one["error"] is not None:
            yield f"{one['name']}  not usable: {one['error']}"
            continue
        yield f"{one['name']}  {one['title']}" + (f" ({one['paper']})" if one["paper"] else "")
        if one["stages"]:
            stages = [f"{stage['name']} ({stage['kind']})" for stage in one["stages"]]
            yield f"    ordered pipeline: {' -> '.join(stages)}"
        for prefix, specs in (("", one["parameters"]), ("query.", one["query"])):
            for spec in specs:
                yield f"    {prefix}{spec['name']} = {spec['default']!r}  {spec['help']}"


def _engines(found: Iterable[Record]) -> Iterator[str]:
    from streamlab.engines.protocol import MODELS

    if not found:
        yield "no engine is installed; run `make setup`"
    for one in found:
        if one["error"] is not None:
            yield f"{one['name']}  not usable: {one['error']}"
            continue
        yield f"{one['name']}  {one['version']}"
        own = one["environment"]
        if own is not None:
            made = f"its own environment is made: {own['folder']}"
            yield f"    {own['lacking'] or made}"
        for variant in one["variants"]:
            of = variant["default_for"]
            default = f", default for {' and '.join(', '.join(of).rsplit(', ', 1))}" if of else ""
            batch = ", takes a batch size" if variant["uses_batch"] else ""
            yield f"    {variant['name']}  {variant['summary']}{batch}{default}"
            if variant["lacking"] or len(variant["models"]) < len(MODELS):
                lacking = "".join(f"; not {name}" for name in variant["lacking"])
                yield f"        runs {', '.join(variant['models'])}{lacking}"
            if variant["written_for"] is not None:
                yield f"        only what is written for {', '.join(variant['written_for'])}"


def _figures(found: Iterable[Record]) -> Iterator[str]:
    for one in found:
        if one["error"] is not None:
            yield f"not usable: {one['error']}"
            continue
        missing = one["lacking"]
        state = f"not available: there is no {', no '.join(missing)}" if missing else "available"
        yield f"{one['id']}  {one['title']}; {state}"
        yield f"    {one['shows']}"


def _runs(found: Iterable[Record]) -> Iterator[str]:
    from streamlab.reports.numbers import number_of

    for one in found:
        if one["error"] is not None:
            yield f"{one['path']}  {one['error']}"
            continue
        state = "complete" if one["complete"] else "incomplete, see lab run --resume"
        commit = (one["commit"] or "no commit")[:12]
        yield f"{one['path']}  {number_of(one['cells'], 'cell')}, {commit}, {state}"


_INVENTORIES = {
    "workloads": inventory.workloads,
    "engines": inventory.engines,
    "figures": inventory.figures,
}
_LINES = {"workloads": _workloads, "engines": _engines, "figures": _figures, "runs": _runs}
