"""`lab list`: lists workloads, engines, figures or runs."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from streamlab.lab.cli import EXIT_OK, inventory
from streamlab.lab.cli.inventory import Record
from streamlab.lab.cli.output import LabCommand, echo
from streamlab.lab.cli.stored_runs import runs_option


@click.command("list", cls=LabCommand)
@click.argument("what", type=click.Choice(["workloads", "engines", "figures", "runs"]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON; see docs/json.md.")
@runs_option("--out", about="With runs: their folder")
def list_things(what: str, as_json: bool, out: Path) -> int:
    """List workloads with their parameters, engines with their variants, figures, or runs."""
    records = inventory.runs(out) if what == "runs" else _INVENTORIES[what]()
    if as_json:
        echo(json.dumps(records, indent=2, default=str))
        return EXIT_OK
    if what == "runs" and not records:
        echo(f"no runs in {out}; `lab run --demo` makes one")
    for line in _LINES[what](records):
        echo(line)
    return EXIT_OK


def _workloads(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        if record["error"] is not None:
            yield f"{record['name']}  not usable: {record['error']}"
            continue
        yield f"{record['name']}  {record['title']}" + (
            f" ({record['paper']})" if record["paper"] else ""
        )
        if record["stages"]:
            stages = [f"{stage['name']} ({stage['kind']})" for stage in record["stages"]]
            yield f"    ordered pipeline: {' -> '.join(stages)}"
        for prefix, specs in (("", record["parameters"]), ("query.", record["query"])):
            for spec in specs:
                yield f"    {prefix}{spec['name']} = {spec['default']!r}  {spec['help']}"


def _engines(records: Iterable[Record]) -> Iterator[str]:
    from streamlab.engines.protocol import MODELS

    if not records:
        yield "no engine is installed; run `make setup`"
    for record in records:
        if record["error"] is not None:
            yield f"{record['name']}  not usable: {record['error']}"
            continue
        yield f"{record['name']}  {record['version']}"
        environment = record["environment"]
        if environment is not None:
            installed = f"environment installed: {environment['folder']}"
            yield f"    {environment['lacking'] or installed}"
        for variant in record["variants"]:
            models = variant["default_for"]
            default = (
                f", default for {' and '.join(', '.join(models).rsplit(', ', 1))}" if models else ""
            )
            batch = ", takes a batch size" if variant["uses_batch"] else ""
            yield f"    {variant['name']}  {variant['summary']}{batch}{default}"
            if variant["lacking"] or len(variant["models"]) < len(MODELS):
                lacking = "".join(f"; not {name}" for name in variant["lacking"])
                yield f"        runs {', '.join(variant['models'])}{lacking}"
            if variant["written_for"] is not None:
                yield f"        written only for {', '.join(variant['written_for'])}"


def _figures(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        if record["error"] is not None:
            yield f"not usable: {record['error']}"
            continue
        missing = record["lacking"]
        state = f"not available: missing {', '.join(missing)}" if missing else "available"
        yield f"{record['id']}  {record['title']}; {state}"
        yield f"    {record['shows']}"


def _runs(records: Iterable[Record]) -> Iterator[str]:
    from streamlab.reports.numbers import number_of

    for record in records:
        if record["error"] is not None:
            yield f"{record['path']}  {record['error']}"
            continue
        state = "complete" if record["complete"] else "incomplete; lab run --resume"
        commit = (record["commit"] or "no commit")[:12]
        yield f"{record['path']}  {number_of(record['cells'], 'cell')}, {commit}, {state}"


_INVENTORIES = {
    "workloads": inventory.workloads,
    "engines": inventory.engines,
    "figures": inventory.figures,
}
_LINES = {"workloads": _workloads, "engines": _engines, "figures": _figures, "runs": _runs}
