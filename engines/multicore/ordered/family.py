"""Defines the variant `ordered`, which runs ordered pipelines."""

from streamlab.engines.multicore.ordered.options import OrderedOptions
from streamlab.engines.multicore.ordered.run import OrderedRun
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.workloads.model import Pipeline

ORDERED = Family(
    name="ordered",
    summary="workers scheduled on operators, outputs in order; pipelines",
    models=(Pipeline,),
    run=OrderedRun,
    options_type=OrderedOptions,
    properties=properties(
        "operators do not mention workers or partitions",
        "workers go to operators as they are needed",
        "the order is the runtime's; operators only emit",
    ),
)
