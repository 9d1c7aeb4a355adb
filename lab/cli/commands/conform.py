"""Implements `lab conform`."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from streamlab.lab.cli import EXIT_ENGINE_FAILURE, EXIT_OK, EXIT_USER_ERROR, EXIT_WRONG_OUTPUT
from streamlab.lab.cli.output import echo
from streamlab.lab.conform.suite import TIMEOUT_S, Conformance, State, find_variants
from streamlab.lab.conform.suite import conform as run_suite
from streamlab.workloads.registry import names, workload

ROW = "{:<28}{:<12}{:>7}{:>9}{:>7}{:>7}"


def conform(
    name: str,
    workloads: tuple[str, ...],
    variants: tuple[str, ...],
    timeout_s: float | None,
    as_json: bool,
) -> int:
    """Run the conformance suite on engine NAME: small inputs at the edges of the contract."""
    selected_variants = find_variants(name, variants)
    for reference in workloads:
        workload(reference)  # fails on an unknown name, before anything runs
    results = []
    if not as_json:
        echo(ROW.format("workload", "variant", "right", "refused", "wrong", "crash"))
    for variant in selected_variants:
        for reference in workloads or names():
            result = run_suite(name, variant, reference, timeout_s=timeout_s or TIMEOUT_S)
            results.append(result)
            if not as_json and result.unsupported is None:
                _show(result)
    if as_json:
        echo(json.dumps([asdict(result) for result in results], indent=2))
    else:
        _show_unsupported(results)
    return _exit_code(results)


def _show(result: Conformance) -> None:
    echo(
        ROW.format(
            result.workload, result.variant, *(len(result.with_state(state)) for state in State)
        )
    )
    for state in (State.REFUSED, State.WRONG, State.CRASH):
        first, *others = result.with_state(state) or (None,)
        if first is not None:
            cases = f" (and {', '.join(outcome.case for outcome in others)})" if others else ""
            echo(f"    {state}: {first.case}{cases}: {first.why}")


def _show_unsupported(results: Sequence[Conformance]) -> None:
    """Print unsupported workloads, grouped by reasons that differ only in the workload's name."""
    alike: dict[str, list[Conformance]] = {}
    for result in results:
        if result.unsupported is not None:
            alike.setdefault(result.unsupported.replace(result.workload, "..."), []).append(result)
    for group in alike.values():
        names = ", ".join(f"{result.workload} ({result.variant})" for result in group)
        echo(f"unsupported, {len(group)}: {names}\n    {group[0].unsupported}")


def _exit_code(results: Sequence[Conformance]) -> int:
    if any(result.with_state(State.WRONG) for result in results):
        return EXIT_WRONG_OUTPUT
    if any(result.with_state(State.CRASH) for result in results):
        return EXIT_ENGINE_FAILURE
    if all(result.unsupported is not None for result in results):
        echo("lab: the engine supports none of these workloads", err=True)
        return EXIT_USER_ERROR
    return EXIT_OK
