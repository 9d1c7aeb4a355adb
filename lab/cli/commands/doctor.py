"""Implements `lab doctor`."""

import json
from collections.abc import Iterable
from dataclasses import asdict

import click

from streamlab.lab.cli.output import echo
from streamlab.lab.doctor.checkup import examine
from streamlab.lab.doctor.generator import SourceCeiling, ceilings
from streamlab.reports.numbers import rate

COLOURS = {"ok": "green", "warn": "yellow", "missing": "red"}

CEILING_ROW = "{:<40}{:>7}  {:>14}  {:>14}"


def doctor(as_json: bool, generator: bool, engines: tuple[str, ...]) -> None:
    """Check whether this machine is fit for measurements, and suggest remedies."""
    if engines and not generator:
        raise click.UsageError("--engine requires --generator")
    if generator:
        _show_ceilings(ceilings(engines or None), as_json)
        return
    findings = examine()
    if as_json:
        echo(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = click.style(f"{finding.state.value:<8}", fg=COLOURS[finding.state.value])
        echo(f"{state}{finding.name:<{width}}  {finding.seen}")
        if finding.remedy:
            echo(f"{'':<8}{'':<{width}}  -> {finding.remedy}")


def _show_ceilings(ceilings: Iterable[SourceCeiling], as_json: bool) -> None:
    if as_json:
        echo(json.dumps([asdict(ceiling) for ceiling in ceilings], indent=2))
        return
    echo(CEILING_ROW.format("source of", "batch", "to null engine", "can be claimed"))
    for ceiling in ceilings:
        name = f"{ceiling.engine}/{','.join(ceiling.variants)}".rstrip("/")
        batch = "-" if ceiling.batch is None else str(ceiling.batch)
        if ceiling.ceiling_eps is not None and ceiling.claimable_eps is not None:
            rates = rate(ceiling.ceiling_eps).text, rate(ceiling.claimable_eps).text
            echo(CEILING_ROW.format(name, batch, *rates))
        else:
            why = "virtual source: no ceiling" if ceiling.virtual else f"unknown: {ceiling.reason}"
            echo(f"{name:<40}{batch:>7}  {why}")
