"""Runs queries of one operator O+ as query graphs: docs/decisions/0011-determinism-layers.md."""

import numpy as np

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.layers.graph import GraphRun
from streamlab.engines.multicore.layers.options import NONE, LayersOptions
from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping
from streamlab.engines.multicore.oplus.kernels import OperatorKernels, columns_of, layout_of
from streamlab.engines.multicore.oplus.operator_spec import spec_of
from streamlab.engines.multicore.oplus.refusal import check_query
from streamlab.engines.multicore.run.core_run import setup_errors
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.workloads.model import Input, Query


class LayersQueryRun(GraphRun):
    """Runs an operator O+ once as a query graph.

    Args:
        query: a query of one operator.
        data: its input; each stream has an injector.
        settings: settings of the run; at most 63 instances, each with the windows of its own keys.
        options: options of the variant; None means the defaults.

    Raises:
        UnsupportedError: the core cannot run this query on this input, or with these options.
        EngineError: a function does not compile, or an option is out of range.
    """

    def __init__(
        self,
        query: Query,
        data: Input,
        settings: RunSettings,
        options: LayersOptions | None = None,
    ) -> None:
        super().__init__(query.output, settings, options)
        workers = settings.workers
        compares = query.operators[0].join is not None
        reason = check_graph(query, workers, self._options.determinism) or check_query(
            query, data, fused=compares, states=workers
        )
        if query.operators[0].stores and not compares:
            reason = reason or (
                f"operator {query.operators[0].name} stores tuples with its keys, which variant "
                "layers cannot; use variant vsn"
            )
        if reason is not None:
            raise UnsupportedError(reason)
        operator = query.operators[0]
        self._operator = operator
        self._compares = compares
        self._kernels = OperatorKernels(operator, bounds=settings.bounds)
        layouts = [layout_of(operator, stream) for stream in data.streams]
        owner = balanced_mapping(operator.buckets, workers).astype(np.int32)
        with setup_errors():
            self._core = self._make_core([8])
            self._core.set_operator(
                spec=spec_of(operator, self._kernels, layouts, fused=self._compares),
                owner=owner.tolist(),
                itemsizes=itemsizes(operator.output),
                end_watermark=None if data.until_ts is None else data.until_ts - 1,
            )
            for index, (stream, layout) in enumerate(zip(data.streams, layouts, strict=True)):
                process = 0 if self._compares else self._kernels.process(layout)
                route = 0 if self._compares else self._kernels.route(layout)
                columns = columns_of(operator, stream)
                self._add_stream(index, stream, columns, layout.input, process, route)
            self._core.start()

    def _operators_in_words(self) -> list[str]:
        operator = self._operator
        method = "join of all pairs" if self._compares else "keyed windows"
        workers = self._settings.workers
        return [f"{operator.name} ({method}) x {workers}, {operator.buckets} buckets of keys"]


def check_graph(query: Query, workers: int, determinism: str) -> str | None:
    """Return why a query cannot run as a graph with this many instances and this layer, or None."""
    if workers > _core.MOST_LAYER_INSTANCES:
        return (
            f"variant layers runs at most {_core.MOST_LAYER_INSTANCES} instances of an operator "
            f"O+; give fewer workers than {workers}"
        )
    if query.operators[0].join is not None and determinism == NONE:
        # Without an order no tuple leaves its window while one injector is ahead of the other.
        return (
            f"{query.name} joins all pairs, which needs an order; do not give determinism = 'none'"
        )
    if len(query.operators) == 1:
        return None
    return (
        f"query {query.name} has {len(query.operators)} operators; variant layers runs queries of "
        "one operator; use variant vsn"
    )
