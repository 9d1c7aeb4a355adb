"""`lab conform`: is what an engine answers right, at every edge of the contract?"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from streamlab.lab.cli import EXIT_ENGINE_FAILURE, EXIT_OK, EXIT_USER_ERROR, EXIT_WRONG_OUTPUT
from streamlab.lab.cli.completion import ENGINES, WORKLOADS

if TYPE_CHECKING:
    from streamlab.lab.conform.suite import Conformance

ROW = "{:<28}{:<12}{:>7}{:>9}{:>7}{:>7}"


@click.command("conform")
@click.argument("name", **ENGINES)
@click.option("--workload", "workloads", multiple=True, help="Only this; repeatable.", **WORKLOADS)
@click.option("--variant", "variants", multiple=True, help="Only this; repeatable.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=1), help="Seconds a workload.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead.")
def conform(
    name: str,
    workloads: tuple[str, ...],
    variants: tuple[str, ...],
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Run the conformance suite on engine NAME: small inputs at the edges of the contract.

    Every variant runs every workload in a process of its own: ordinary input, none, one event, a
    single stream, ties, heartbeats only, more workers than streams, and offered loads where it
    takes them. A case is right when the answer is the oracle's, every event is accounted for, and
    nothing is left running. What the engine refuses with a reason is no failure.

    Leaves with code 4 when an answer is wrong, 3 when a case ended without one, 2 when nothing is
    supported.
    """
    from streamlab.lab.conform.suite import TIMEOUT_S, variants_of
    from streamlab.lab.conform.suite import conform as try_one
    from streamlab.workloads.registry import names, workload

    chosen = variants_of(name, variants)
    for reference in workloads:
        workload(reference)  # a name that is wrong is told before anything runs
    found = []
    if not as_json:
        click.echo(ROW.format("workload", "variant", "right", "refused", "wrong", "crash"))
    for variant in chosen:
        for reference in workloads or names():
            one = try_one(name, variant, reference, timeout_s=timeout_s or TIMEOUT_S)
            found.append(one)
            if not as_json and one.unsupported is None:
                _show(one)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=2))
    else:
        _show_unsupported(found)
    return _code(found)


def _show(one: "Conformance") -> None:
    from streamlab.lab.conform.suite import State

    click.echo(ROW.format(one.workload, one.variant, *(len(one.of(state)) for state in State)))
    for state in (State.REFUSED, State.WRONG, State.CRASH):
        first, *others = one.of(state) or (None,)
        if first is not None:
            more = f" (and {', '.join(seen.case for seen in others)})" if others else ""
            click.echo(f"    {state}: {first.case}{more}: {first.why}")


def _show_unsupported(found: Sequence["Conformance"]) -> None:
    """Say what is not supported and why; reasons that differ in the workload's name only once."""
    alike: dict[str, list[Conformance]] = {}
    for one in found:
        if one.unsupported is not None:
            alike.setdefault(one.unsupported.replace(one.workload, "..."), []).append(one)
    for those in alike.values():
        names = ", ".join(f"{one.workload} ({one.variant})" for one in those)
        click.echo(f"unsupported, {len(those)}: {names}\n    {those[0].unsupported}")


def _code(found: Sequence["Conformance"]) -> int:
    from streamlab.lab.conform.suite import State

    if any(one.of(State.WRONG) for one in found):
        return EXIT_WRONG_OUTPUT
    if any(one.of(State.CRASH) for one in found):
        return EXIT_ENGINE_FAILURE
    if all(one.unsupported is not None for one in found):
        click.echo("lab: the engine supports none of these workloads", err=True)
        return EXIT_USER_ERROR
    return EXIT_OK
