"""Defines the variant `layers`, which runs pipelines and queries as query graphs."""

from typing import Any

from streamlab.engines.multicore.layers.options import LayersOptions
from streamlab.engines.multicore.layers.pipeline import LayersRun, check_ties
from streamlab.engines.multicore.layers.query import LayersQueryRun, check_graph
from streamlab.engines.multicore.oplus.refusal import check_streams
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.protocol import Prepared, Task
from streamlab.workloads.model import Pipeline, Query


def _run(program: Pipeline | Query, *arguments: Any) -> Prepared:
    if isinstance(program, Pipeline):
        return LayersRun(program, *arguments)
    return LayersQueryRun(program, *arguments)


def _unsupported(task: Task, options: LayersOptions) -> str | None:
    program, workers = task.workload.program, task.workers
    if isinstance(program, Pipeline):
        return check_ties(program, task.workload.output, workers, options.dealing)
    assert isinstance(program, Query), "the adapter checks"
    return check_graph(program, workers, options.determinism) or check_streams(task.dataset)


LAYERS = Family(
    name="layers",
    summary="a thread for each instance, ordered by channels or operators; pipelines, operators O+",
    models=(Pipeline, Query),
    run=_run,
    unsupported=_unsupported,
    options_type=LayersOptions,
    properties=properties(
        "operators do not mention their instances",
        "channels, not operators, deal the records",
        "the engine merges; operators read one sequence",
    ),
)
