"""Runs pipelines as query graphs: docs/decisions/0011-determinism-layers.md."""

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.layers.graph import GraphRun
from streamlab.engines.multicore.layers.options import TIME, TURN, LayersOptions
from streamlab.engines.multicore.run.core_run import setup_errors
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.multicore.stages.columns import (
    add_stage,
    check_fields,
    columns_of,
    partitions_of,
)
from streamlab.engines.multicore.stages.kernels import StageKernels
from streamlab.workloads.model import Input, OutputType, Pipeline, Tag
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL, STATELESS


class LayersRun(GraphRun):
    """Runs a pipeline once as a query graph.

    Args:
        pipeline: the pipeline.
        data: its input; each stream has an injector.
        settings: settings of the run; stateful operators have one instance.
        options: options of the variant; None means the defaults.

    Raises:
        UnsupportedError: the core cannot run this pipeline on this input.
        EngineError: a function does not compile, or an option is out of range.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        data: Input,
        settings: RunSettings,
        options: LayersOptions | None = None,
    ) -> None:
        super().__init__(pipeline.output, settings, options)
        reason = check_fields(pipeline, data)
        if reason is not None:
            raise UnsupportedError(reason)
        self._pipeline = pipeline
        self._kernels = [
            StageKernels(stage, pipeline.input_of(index), bounds=settings.bounds)
            for index, stage in enumerate(pipeline.stages)
        ]
        with setup_errors():
            self._core = self._make_core([8, *itemsizes(pipeline.event)])
            for stage, kernels in zip(pipeline.stages, self._kernels, strict=True):
                add_stage(self._core, stage, kernels, partitions_of(stage))
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream, columns_of(stream, pipeline.event))
            self._core.start()

    def _operators_in_words(self) -> list[str]:
        parts = []
        for stage in self._pipeline.stages:
            instances = 1 if stage.kind == STATEFUL else self._settings.workers
            parts.append(f"{stage.name} ({stage.kind}) x {instances}")
        return parts


def check_ties(
    pipeline: Pipeline, output: OutputType, workers: int, dealing: str = TIME
) -> str | None:
    """Return why the answer depends on the order of instances among records of one time, or None.

    Records of one time leave a partitioned operator in the order of its instances, not of the input.
    The same holds for operators without keys if records are dealt in turn. If they are dealt by time,
    one instance has all records of a time (core/layers/route.h), and their order stays.
    This does not check whether the input has two records of one key and time.

    Args:
        pipeline: the pipeline.
        output: output type of the workload.
        workers: number of instances of each operator.
        dealing: option `dealing`.
    """
    reordering = [
        stage for stage in pipeline.stages if stage.kind == PARTITIONED or dealing == TURN
    ]
    if workers == 1 or not reordering:
        return None
    first = reordering[0]
    later = pipeline.stages[pipeline.stages.index(first) + 1 :]
    sensitive = [
        stage.name for stage in later if stage.kind != STATELESS and not stage.ties_commute
    ]
    remedy = "give workers = 1, or run variant 'ordered'"
    if sensitive:
        return (
            f"operator {sensitive[0]} has a state, and reads records of one time in the order of "
            f"the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    if output.key_field is None or output.depends(Tag(0, 0), Tag(0, 1)):
        return (
            f"outputs of different keys depend on each other, but those of one time leave in the "
            f"order of the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    return None
