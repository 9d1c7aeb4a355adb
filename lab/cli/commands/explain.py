"""Implements `lab explain`."""

from streamlab.engines.base import BaseEngine
from streamlab.engines.declared_queries import GENERATED
from streamlab.engines.protocol import default_variant
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.output import echo
from streamlab.lab.conform.suite import find_variants
from streamlab.lab.errors import LabError
from streamlab.workloads.registry import workload as find_workload


def explain(workload: str, engine: str, variant: str | None) -> int:
    """Show the query that ENGINE runs for WORKLOAD, or what it runs instead."""
    target, adapter = find_workload(workload), find_engine(engine)
    if variant is None:
        target_variant = default_variant(adapter.variants(), type(target.program), target.name)
    else:
        (target_variant,) = find_variants(engine, (variant,))
    problem = target_variant.lacks(target)
    if problem is not None:
        raise LabError(f"{engine}/{target_variant.name} {problem}")
    text = (
        adapter.query_text(target, target_variant.name) if isinstance(adapter, BaseEngine) else None
    )
    if isinstance(adapter, BaseEngine) and text is not None:
        echo(text.rstrip())
        if target_variant.name == GENERATED:
            echo(
                f"{engine}/{target_variant.name}: {adapter.generated_plan(target.declaration)}",
                err=True,
            )
    else:
        echo(f"{engine}/{target_variant.name} shows no query; it runs {target_variant.summary}")
    return EXIT_OK
