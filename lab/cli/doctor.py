"""`lab doctor`: what the machine offers, each line with its remedy."""

import json
from dataclasses import asdict

import click

COLOURS = {"ok": "green", "warn": "yellow", "missing": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of findings instead.")
def doctor(as_json: bool) -> None:
    """Say what this machine offers to measurements, and how to improve what it lacks.

    `warn` means that numbers suffer or a column stays empty, `missing` that something does not
    work. The exit code is 0 whatever is found.
    """
    from lab.doctor.checkup import examine  # the probes are needed by no other command

    findings = examine()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        state = click.style(f"{finding.state.value:<8}", fg=COLOURS[finding.state.value])
        click.echo(f"{state}{finding.name:<{width}}  {finding.seen}")
        if finding.remedy:
            click.echo(f"{'':<8}{'':<{width}}  -> {finding.remedy}")
