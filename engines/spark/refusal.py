"""Lists what Spark supports, and explains why a task or an option is unsupported."""

from collections.abc import Mapping

from streamlab.engines.protocol import Task
from streamlab.engines.spark.generic.task_reference import unreachable
from streamlab.engines.spark.layout import SQL_TYPES, layout
from streamlab.engines.spark.operators import registry
from streamlab.engines.spark.operators.clock import out_of_range, timestamp_overflow
from streamlab.engines.spark.pipelines import registry as pipelines
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.session import refusal_of_user
from streamlab.workloads.model import (
    Dataflow,
    ListType,
    ModelError,
    Pipeline,
    Query,
    column_type,
    fields_read,
)
from streamlab.workloads.model.dataflow.reference import first_marker
from streamlab.workloads.model.operators.windows import check_spans

PROGRAMS = ("event_window", "fraud_detection", "keyed_counter", "page_view_join")
"""Workloads with a DGS program."""
RELATIONS = {**registry.FORMS, **pipelines.FORMS}
"""Forms of queries of operators and of pipelines, by workload."""
WORKLOADS = (*PROGRAMS, *RELATIONS)
FORMS = {
    "streaming": ("packed",),
    "batch": ("buckets", "ordered"),
    "cached": ("buckets", "ordered"),
}
"""Forms of DGS programs by variant, the default first; the others serve comparison."""
GENERIC = ("generic-streaming", "generic-batch")
"""Variants that run any program; each has one form."""
STREAMING = ("streaming", "generic-streaming")
OPTIONS = {"file_ms", "form", "micro_batches", "warm_up_events", "warm_up_rounds"}
MOST_OVERLAPS = 1000
"""Spark's `window` adds an expression per overlap to the plan. Answers were right with this many; more were not
tried."""

MOST_MARKERS = 1 << 24
"""Limit of markers of a typed dataflow graph: each costs a Python call in every group of every level, and about 100
bytes in a batch query."""

PERSISTENCE_OFF = {"user_activity": {"persist": "none"}}
"""Parameters that stop a workload from storing results outside its answer, by workload."""
_ANY = "variants generic-streaming and generic-batch run any program"
_NO_LOAD = (
    "spark streaming takes no load for {name}: the open loop needs acknowledgements from its "
    "stateful operator, which {operators} do not send; run it at full speed"
)


def forms(workload: str, variant: str) -> tuple[str, ...]:
    """Return the forms of a workload in a variant, the default first."""
    if variant in GENERIC:
        return ("generic",)
    return RELATIONS.get(workload) or FORMS[variant]


def wrong_options(options: Mapping[str, object]) -> str | None:
    """Return what is wrong with options on any task, or None."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        return f"spark has no option {', '.join(unknown)}; it has {', '.join(sorted(OPTIONS))}"
    names = dict.fromkeys(
        form for forms in (*FORMS.values(), *RELATIONS.values()) for form in forms
    )
    if "form" in options and options["form"] not in names:
        return f"spark has no form {options['form']!r}; it has {', '.join(names)}"
    for option in sorted(OPTIONS - {"form"}):
        value = options.get(option, 1)
        lowest = 1 if option in ("file_ms", "micro_batches") else 0
        if type(value) is not int or value < lowest:
            return f"spark option {option} must be a whole number from {lowest}, got {value!r}"
    return None


def refusal(task: Task) -> str | None:
    """Return why a task cannot run, or None. Starts nothing."""
    nameless = refusal_of_user()
    if nameless is not None:
        return nameless
    name = task.workload.name
    if task.variant in GENERIC:
        return wrong_options(task.options) or _refuse_generic(task)
    if name in pipelines.LACKING:
        return f"spark has no query for {name}: {pipelines.LACKING[name]}; {_ANY}"
    if name not in WORKLOADS:
        return f"spark has no query for {name}; it has {', '.join(WORKLOADS)}; {_ANY}"
    if task.variant not in FORMS:
        return f"spark has no variant {task.variant!r}; it has {', '.join((*FORMS, *GENERIC))}"
    wrong = wrong_options(task.options)
    if wrong is not None:
        return wrong
    available = forms(name, task.variant)
    form = task.options.get("form", available[0])
    if form not in available:
        subject = name if name in RELATIONS else task.variant
        return f"spark {subject} has no form {form!r}; it has {', '.join(available)}"
    if task.load is not None and task.variant != "streaming":
        return (
            f"spark {task.variant} takes no load: a batch query reads its whole input at once; run "
            "it at full speed"
        )
    if isinstance(task.workload.program, Query):
        return _refuse_query(task, task.workload.program)
    if isinstance(task.workload.program, Pipeline) and task.load is not None:
        return _NO_LOAD.format(name=name, operators="operators of a pipeline")
    return None


def _refuse_generic(task: Task) -> str | None:
    """Return why a generic variant cannot run a task, or None."""
    if task.load is not None:
        return f"spark {task.variant} takes no load: it runs at full speed only"
    if "form" in task.options:
        return f"spark {task.variant} has no forms; remove the option form"
    program = task.workload.program
    name = task.workload.name
    for param, off in PERSISTENCE_OFF.get(name, {}).items():
        if task.workload.query_params.get(param, off) != off:
            return (
                f"spark runs {name} in several processes, and each would recreate its result "
                f"database; set query parameter {param}={off}"
            )
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
        spans = [(s.name, s.ts_min, s.ts_max) for s in task.dataset.streams if s.rows]
        try:
            check_spans(program, spans, task.dataset.until_ts)
        except ModelError as error:
            return str(error)
    return unreachable(task.workload)


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
    spans = [(stream.ts_min, stream.ts_max) for stream in dataset.streams if stream.rows]
    if not spans:
        return None
    ends = [] if dataset.until_ts is None else [dataset.until_ts - 1]
    last = max([*ends, *(end for _, end in spans)])
    markers = (last - first_marker(min(spans)[0], flow.markers)) // flow.markers + 1
    if markers > MOST_MARKERS:
        return (
            f"spark supports at most {MOST_MARKERS:,} markers, and the input has {markers:,}, one "
            f"every {flow.markers}; give markers a longer period"
        )
    return None


def _refuse_query(task: Task, query: Query) -> str | None:
    if task.load is not None:
        return _NO_LOAD.format(name=query.name, operators="Spark's windows and joins")
    present = {query.kinds[kind] for stream in task.dataset.streams for kind in stream.kinds}
    for kind in query.kinds:
        if kind not in present:
            return f"spark {query.name} needs a stream of kind {kind}; the dataset has none"
    plan = layout(task.dataset)
    reason = out_of_range(plan, query)
    if reason is not None or task.workload.name in registry.TIMELESS:
        return reason
    window = query.operators[0].window
    overlaps = -(-window.size // window.advance)
    if window.type == "multi" and overlaps > MOST_OVERLAPS:
        return (
            f"spark supports at most {MOST_OVERLAPS} windows per tuple, and windows of "
            f"{window.size} ms every {window.advance} ms are {overlaps:,}"
        )
    return timestamp_overflow(plan, window.advance, window.size)
