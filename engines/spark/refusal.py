"""Explains why Spark cannot run a task."""

from dataclasses import replace

from streamlab.engines.errors import EngineError
from streamlab.engines.options import OptionError, check_options
from streamlab.engines.protocol import Engine, Task, default_variant
from streamlab.engines.registry import engine as find_engine
from streamlab.engines.spark.generic.task_reference import unreachable
from streamlab.engines.spark.layout import SQL_TYPES, time_span
from streamlab.engines.spark.operators.clock import out_of_range, timestamp_overflow
from streamlab.engines.spark.workloads import (
    ANY_PROGRAM,
    BATCH_ONLY,
    COMPILED,
    COMPILER,
    FORMS,
    GENERIC,
    LACKING,
    NATIVE,
    PROGRAMS,
    WORKLOADS,
)
from streamlab.engines.work_split import SplitsWork
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import (
    Dataflow,
    ListType,
    Pipeline,
    Query,
    column_type,
    fields_read,
)
from streamlab.workloads.model.dataflow.reference import first_marker

TIMELESS = frozenset({"forward"})
"""Workloads whose relation uses no timestamps, so that event times are not restricted."""
MAX_OVERLAPS = 1000
"""Maximum number of windows that overlap at a time. Spark's `window` adds an expression for each to the plan. Answers
were right with this many; higher numbers were not tried."""

MAX_MARKERS = 1 << 24
"""Maximum number of markers of a typed dataflow graph. Each costs a Python call in every group of every level, and
about 100 bytes in a batch query."""

PERSISTENCE_OFF = {"user_activity": {"persist": "none"}}
"""Parameters that stop a workload from storing results outside its answer, by workload."""
_ANY = f"variants {', '.join(ANY_PROGRAM)} run any program"
_NO_LOAD = (
    "spark streaming takes no load for {name}: the open loop needs acknowledgements, which "
    "{operators} do not send; run it at full speed"
)


def refusal(engine: Engine, task: Task) -> str | None:
    """Return why a task cannot run, or None. Starts nothing."""
    name = task.workload.name
    if task.variant not in ANY_PROGRAM:
        if name in LACKING:
            return f"spark has no query for {name}: {LACKING[name]}; {_ANY}"
        if name not in WORKLOADS:
            return f"spark has no query for {name}; it has {', '.join(WORKLOADS)}; {_ANY}"
        if name in BATCH_ONLY and task.variant == "streaming":
            return f"spark has no streaming query for {name}; {_ANY}"
        if task.variant not in FORMS:
            return (
                f"spark has no variant {task.variant!r}; it has {', '.join((*FORMS, *ANY_PROGRAM))}"
            )
    try:
        variants = {variant.name: variant for variant in engine.variants()}
        check_options(engine, variants[task.variant], task.options)
    except OptionError as error:
        return str(error)
    if task.load is not None and task.options.get("master") is not None:
        return (
            "spark takes no load on a cluster: the order in which nodes see arriving files is unknown; "
            "run it at full speed, or in local mode"
        )
    if "form" in task.options and task.variant not in COMPILED:
        return (
            f"spark {task.variant} does not take option form; only variants {' and '.join(COMPILED)} do; "
            "remove it"
        )
    if task.variant in ANY_PROGRAM:
        return _refuse_any_program(task)
    if task.load is not None and task.variant != "streaming":
        return (
            f"spark {task.variant} takes no load: a batch query reads its whole input at once; run it at full "
            "speed, or use variant streaming"
        )
    if isinstance(task.workload.program, Query):
        return _refuse_query(task, task.workload.program)
    if isinstance(task.workload.program, Pipeline) and task.load is not None:
        return _NO_LOAD.format(name=name, operators="operators of a pipeline")
    if name in PROGRAMS:
        for stream in task.dataset.streams:
            if len(stream.kinds) > 1:
                return (
                    f"spark {task.variant} reads a stream for each kind, and stream {stream.name} has several "
                    f"kinds; {_ANY}"
                )
    return None


def _refuse_any_program(task: Task) -> str | None:
    """Return why a variant for any program cannot run a task, or None."""
    if task.load is not None:
        return f"spark {task.variant} takes no load; run it at full speed, or use variant streaming"
    name = task.workload.name
    for param, value in PERSISTENCE_OFF.get(name, {}).items():
        if task.workload.query_params.get(param, value) != value:
            return (
                f"spark runs {name} in several processes, and each would recreate its result "
                f"database; set query parameter {param}={value}"
            )
    reason = _refuse_generic(task) if task.variant in GENERIC else _refuse_native(task)
    return reason or unreachable(task.workload)


def _refuse_generic(task: Task) -> str | None:
    """Return why the operators in Python cannot run a task, or None."""
    program = task.workload.program
    fields = fields_read(program)
    for stream in task.dataset.streams:
        for name, type_name in stream.columns:
            dtype = column_type(type_name)
            element = dtype.element if isinstance(dtype, ListType) else dtype
            if name in fields and element.name not in SQL_TYPES:
                types = ", ".join(SQL_TYPES)
                return (
                    f"spark has no type for field {name} of stream {stream.name}, which is "
                    f"{type_name}; it has types for {types}"
                )
    if isinstance(program, Dataflow):
        reason = _refuse_flow(program, task.dataset)
        if reason is not None:
            return reason
    if isinstance(program, Query):
        reason = out_of_range(task.dataset, program)
        if reason is not None:
            return reason
    return None


def _refuse_native(task: Task) -> str | None:
    """Return why the compiling engine cannot run a task, or None."""
    try:
        compiler = find_engine(COMPILER)
    except EngineError as error:
        return f"spark {task.variant} needs the compiled core: {error}"
    if task.variant != NATIVE:
        assert isinstance(compiler, SplitsWork)
        reason = compiler.unresumable(task.workload.program)
        if reason is not None:
            return f"{reason}; variants {NATIVE} and generic-streaming run it"
    model = type(task.workload.program)
    variant = default_variant(compiler.variants(), model).name
    return compiler.unsupported(replace(task, variant=variant, workers=1, options={}))


def _refuse_flow(flow: Dataflow, dataset: Dataset) -> str | None:
    """Return why the levels of a typed dataflow graph cannot run, or None."""
    for vertex in flow.vertices:
        for name in vertex.type.fields:
            dtype = vertex.type.value[name]
            if dtype.name not in SQL_TYPES:
                return (
                    f"spark has no type for field {name} of vertex {vertex.name}'s output, which "
                    f"is {dtype}; it has types for {', '.join(SQL_TYPES)}"
                )
    span = time_span(dataset)
    if span is None:
        return None
    first, last = span
    markers = (last - first_marker(first, flow.markers)) // flow.markers + 1
    if markers > MAX_MARKERS:
        return (
            f"spark supports at most {MAX_MARKERS:,} markers, and the input has {markers:,}, one "
            f"every {flow.markers}; use a longer period"
        )
    return None


def _refuse_query(task: Task, query: Query) -> str | None:
    if task.load is not None:
        return _NO_LOAD.format(name=query.name, operators="Spark's windows and joins")
    present = {query.kinds[kind] for stream in task.dataset.streams for kind in stream.kinds}
    for kind in query.kinds:
        if kind not in present:
            return f"spark {query.name} needs a stream of kind {kind}; the dataset has none"
    reason = out_of_range(task.dataset, query)
    if reason is not None or task.workload.name in TIMELESS:
        return reason
    window = query.operators[0].window
    overlaps = -(-window.size // window.advance)
    if window.type == "multi" and overlaps > MAX_OVERLAPS:
        return (
            f"spark supports at most {MAX_OVERLAPS} windows per tuple, and a tuple has {overlaps:,} windows of "
            f"{window.size} ms every {window.advance} ms; use a larger advance"
        )
    return timestamp_overflow(task.dataset, window.advance, window.size)
