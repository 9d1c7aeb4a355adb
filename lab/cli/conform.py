"""`lab conform`: runs the conformance suite on an engine."""

import click

from streamlab.lab.cli.completion import ENGINES, WORKLOADS
from streamlab.lab.cli.output import LazyCommand


@click.command("conform", cls=LazyCommand)
@click.argument("name", **ENGINES)
@click.option(
    "--workload", "workloads", multiple=True, help="Only this workload; repeatable.", **WORKLOADS
)
@click.option("--variant", "variants", multiple=True, help="Only this variant; repeatable.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=1), help="Seconds per workload.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
def conform() -> None:
    """Run the conformance suite on engine NAME: small inputs at the edges of the contract.

    Each variant runs each workload in a separate process. Cases: ordinary input, no input, one
    event, one stream, ties, only heartbeats, more workers than streams, and offered loads if
    supported. A case passes if the answer is the oracle's, all events are accounted for, and
    nothing keeps running. A refusal with a reason is not a failure.

    Exit codes: 0 passed, 2 nothing is supported, 3 a case has no answer, 4 an answer is wrong.
    """
