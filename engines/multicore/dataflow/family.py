"""Defines the variant `dataflow`, which runs typed dataflow graphs."""

from streamlab.engines.multicore.dataflow.options import DataflowOptions
from streamlab.engines.multicore.dataflow.run import DataflowRun
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.workloads.model import Dataflow

DATAFLOW = Family(
    name="dataflow",
    summary="each worker has an instance of each operator; aligned by markers; dataflow graphs",
    models=(Dataflow,),
    run=DataflowRun,
    options_type=DataflowOptions,
    properties=properties(
        "operators do not mention their instances",
        "the engine splits and merges what they read, by its type",
        "the engine aligns instances on markers; operators see one stream",
    ),
)
"""Runs typed dataflow graphs: docs/decisions/0020-dataflow.md."""
