"""Describes how the native core runs queries of operators O+ and ordered pipelines, for `lab plan`.

The variants are the models' default variants `vsn` and `ordered`, with their default options.
"""

from collections.abc import Sequence

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.oplus.kernels import entry_bytes
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.refusal import check_windows, max_open_windows
from streamlab.engines.multicore.oplus.stored_tuples import stored_dtype
from streamlab.engines.multicore.ordered.run import OrderedOptions
from streamlab.engines.multicore.stages.kernels import state_bytes
from streamlab.workloads.model import Operator, Pipeline, Query
from streamlab.workloads.model.operators.program import FLUSH
from streamlab.workloads.model.picture import Arrow, Box, Picture, workers_text
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL, STATELESS, Stage

LOG, PAIRS = "ordered log, by key", "ordered log, to all"
UNITS, BY_KEY, IN_ORDER = "units", "by key", "in order"
_MEANING = {
    LOG: "ordered log, by key: merges its inputs by time; an instance takes the rows of its keys",
    PAIRS: "ordered log, to all: merges its inputs by time; each instance reads all rows, and compares "
    "pairs whose earlier row is in its share",
    UNITS: "units: of up to {batch:,} consecutive rows, to any free worker; at most {window} under way",
    BY_KEY: "by key: rows of a unit by partition; a partition takes units in order, a worker at a time",
    IN_ORDER: "in order: units in the order of the input, a worker at a time",
}


def deployment_picture(
    program: Query | Pipeline, workers: int, streams: Sequence[int], batch: int
) -> Picture:
    """Return the operators of a program with their instances, windows, states and routes.

    Args:
        program: a query or a pipeline.
        workers: number of threads.
        streams: number of physical streams of each kind.
        batch: maximum number of rows in a unit of a pipeline.

    Raises:
        UnsupportedError: the core refuses the query, or its number of streams.
    """
    if isinstance(program, Query):
        return _query_picture(program, workers, streams)
    return _pipeline_picture(program, workers, streams, batch)


def _query_picture(query: Query, workers: int, streams: Sequence[int]) -> Picture:
    options = OplusOptions()
    first = query.operators[0]
    fused = options.fuses(first)
    reason = check_windows(query.operators[1:] if fused else query.operators)
    if fused and [*streams] != [1, 1]:
        reason = (
            f"operator {first.name}: a join over columns reads one stream for each of its two inputs, "
            f'got {" and ".join(map(str, streams))}; run it with join_form = "operator10"'
        )
    if reason is not None:
        raise UnsupportedError(reason)
    boxes = [
        _operator_box(operator, workers, fused=fused and operator is first)
        for operator in query.operators
    ]
    routes = [PAIRS if fused else LOG, *[LOG] * (len(boxes) - 1)]
    end = "closes" if query.at_end == FLUSH else "drops"
    return _row(
        f"query {query.name} on multicore/vsn: {workers_text(workers)}",
        query.kinds,
        streams,
        boxes,
        routes,
        answer="merged by time",
        notes=(
            *(_MEANING[route] for route in dict.fromkeys(routes)),
            "merged by time: the outputs of all instances of the last operator",
            f"The end of the input {end} open windows.",
        ),
    )


def _operator_box(operator: Operator, workers: int, *, fused: bool) -> tuple[str, ...]:
    window, open_windows = operator.window, max_open_windows(operator)
    lines = [f"window {window.type}, size {window.size:,}, advance {window.advance:,}"]
    if fused:
        lines.append("no state per key: the rows of the window stay in their columns")
        return (operator.name, f"x {workers}", *lines)
    lines[0] += f", {open_windows} open per key" if open_windows > 1 else ""
    lines.append(f"keys in {operator.buckets:,} buckets, {_share(operator.buckets, workers)}")
    state = f"state {entry_bytes(operator):,} bytes per key"
    if operator.stores:
        state += f", and {stored_dtype(operator).itemsize} per stored row"
    return (operator.name, f"x {workers}", *lines, state)


def _share(buckets: int, instances: int) -> str:
    """Return the number of buckets per instance as text."""
    minimum, remainder = divmod(buckets, instances)
    return (
        f"{minimum:,} or {minimum + 1:,} per instance" if remainder else f"{minimum:,} per instance"
    )


def _pipeline_picture(
    pipeline: Pipeline, workers: int, streams: Sequence[int], batch: int
) -> Picture:
    options = OrderedOptions()
    routes = [_ROUTES[stage.kind] for stage in pipeline.stages]
    meanings = {**_MEANING}
    meanings[UNITS] = meanings[UNITS].format(batch=batch, window=options.window_for(workers, batch))
    return _row(
        f"pipeline {pipeline.name} on multicore/ordered: {workers_text(workers)}, each runs any operator",
        pipeline.kinds,
        streams,
        [
            _stage_box(stage, options.partitions_of(stage, workers), workers)
            for stage in pipeline.stages
        ],
        routes,
        answer="order of the input",
        notes=(
            *(meanings[route] for route in dict.fromkeys([UNITS, *routes])),
            f"order of the input: {options.reordering} reordering puts finished units back in order",
        ),
    )


_ROUTES = {STATELESS: UNITS, PARTITIONED: BY_KEY, STATEFUL: IN_ORDER}


def _stage_box(stage: Stage, partitions: int, workers: int) -> tuple[str, ...]:
    if stage.state is None:
        return stage.name, f"x {workers}"
    per_key = " per key" if stage.kind == PARTITIONED else ""
    state = f"state {state_bytes(stage)} bytes{per_key}"
    if stage.kind == STATEFUL:
        return stage.name, "x 1", state
    method = "hash" if stage.bounds is None else "range"
    return (
        stage.name,
        f"x {min(workers, partitions)}",
        f"{partitions} {'partition' if partitions == 1 else 'partitions'} by {method}",
        state,
    )


def _row(
    title: str,
    kinds: Sequence[str],
    streams: Sequence[int],
    operators: Sequence[tuple[str, ...]],
    routes: Sequence[str],
    *,
    answer: str,
    notes: tuple[str, ...],
) -> Picture:
    """Return the picture of sources and operators in a row; each operator reads the output of its predecessor."""
    boxes = [
        Box(lines=(kind, f"{n} {'stream' if n == 1 else 'streams'}"), level=0, is_source=True)
        for kind, n in zip(kinds, streams, strict=True)
    ]
    arrows: list[Arrow] = []
    for level, (lines, route) in enumerate(zip(operators, routes, strict=True), start=1):
        inputs = range(len(kinds)) if level == 1 else [len(boxes) - 1]
        arrows += [Arrow(source=i, target=len(boxes), lines=(route,)) for i in inputs]
        boxes.append(Box(lines=lines, level=level, is_source=False))
    return Picture(
        title=title,
        boxes=tuple(boxes),
        arrows=tuple(arrows),
        answers=(len(boxes) - 1,),
        answer=answer,
        notes=notes,
    )
