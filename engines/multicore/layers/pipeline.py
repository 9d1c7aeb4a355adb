"""Runs pipelines as query graphs: docs/decisions/0011-determinism-layers.md."""

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.layers.graph import GraphRun
from streamlab.engines.multicore.layers.options import TIME, TURN, LayersOptions
from streamlab.engines.multicore.run.core_run import set_up
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.multicore.stages.columns import (
    add_stage,
    columns_of,
    partitions_of,
    refused_fields,
)
from streamlab.engines.multicore.stages.kernels import StageKernels
from streamlab.workloads.model import Input, OutputType, Pipeline, Tag
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL, STATELESS


class LayersRun(GraphRun):
    """One run of a pipeline as a query graph.

    Args:
        pipeline: what to compute.
        data: on which input; each of its streams has an injector.
        settings: how the run goes; stateful operators have one instance.
        options: the determinism layer.

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
        reason = refused_fields(pipeline, data)
        if reason is not None:
            raise UnsupportedError(reason)
        self._pipeline = pipeline
        self._kernels = [
            StageKernels(stage, pipeline.input_of(index), bounds=settings.bounds)
            for index, stage in enumerate(pipeline.stages)
        ]
        with set_up():
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


def depends_on_ties(
    pipeline: Pipeline, output: OutputType, workers: int, dealing: str = TIME
) -> str | None:
    """Return why an answer would depend on which instance is first among ties, or None.

    Instances of a partitioned operator have keys of their own; what they forward at one time leaves
    in the order of the instances. Of operators without keys, where records are dealt by time, one
    instance has all records of a time (core/layers/route.h), so that their order stays; dealt in
    turn, it does not either. Whether an input has two records of one key at one time, nobody asks
    it: then the answer is compared, and wrong.
    """
    parted = [stage for stage in pipeline.stages if stage.kind == PARTITIONED or dealing == TURN]
    if workers == 1 or not parted:
        return None
    first = parted[0]
    behind = pipeline.stages[pipeline.stages.index(first) + 1 :]
    remembers = [
        stage.name for stage in behind if stage.kind != STATELESS and not stage.ties_commute
    ]
    remedy = "give workers = 1, or run variant 'ordered'"
    if remembers:
        return (
            f"operator {remembers[0]} keeps a state, and takes records of one time in the order of "
            f"the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    if output.key_field is None or output.depends(Tag(0, 0), Tag(0, 1)):
        return (
            f"outputs of different keys depend on each other, and at one time leave in the order "
            f"of the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    return None
