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
        chosen = default_variant(adapter.variants(), type(target.program), target.name)
    else:
        (chosen,) = find_variants(engine, (variant,))
    lacking = chosen.lacks(target)
    if lacking is not None:
        raise LabError(f"{engine}/{chosen.name} {lacking}")
    text = adapter.query_text(target, chosen.name) if isinstance(adapter, BaseEngine) else None
    if isinstance(adapter, BaseEngine) and text is not None:
        echo(text.rstrip())
        if chosen.name == GENERATED:
            echo(f"{engine}/{chosen.name}: {adapter.generated_plan(target.declaration)}", err=True)
    else:
        echo(f"{engine}/{chosen.name} shows no query; it runs {chosen.summary}")
    return EXIT_OK
