"""Lists the workloads with hand-written Spark queries, their forms, conditions, properties and options.

The properties are those of the DGS paper, section 4:
PIP1, parallelism independence: the program does not mention the number of parallel instances.
PIP2, partition independence: the program does not mention how events are assigned to instances.
PIP3, API compliance: the program keeps to the documented contract of the API.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from streamlab.engines.conditions import (
    DECODING,
    FILE,
    MEMORY,
    MICRO_BATCH,
    PYTHON,
    READING,
    START_UP,
    WHOLE,
    Conditions,
)
from streamlab.engines.protocol import Property

PROGRAMS = ("event_window", "fraud_detection", "keyed_counter", "page_view_join")
"""Workloads with a DGS program."""
OPERATORS = {
    "forward": "explode",
    "longest_tweet_per_hashtag": "window",
    "nyse_hedge": "pairs",
    "paircount": "window",
    "scale_join": "pairs",
    "wordcount": "window",
}
"""The form of each query of operators: how it runs, in a word for users."""
PIPELINES = dict.fromkeys(
    (
        "cart_abandonment",
        "declining_categories",
        "items_sold_together",
        "items_viewed_together",
        "last_views_before_purchase",
        "linear_road_new_seg",
        "linear_road_pos_rep",
        *(f"nexmark_q{number}" for number in (*range(10), 11, *range(13, 21))),
    ),
    "sql",
)
"""The form of pipelines, and of operator queries whose relation needs the positions of records."""
BATCH_ONLY = tuple(f"nexmark_q{number}" for number in (*range(3, 10), 11, *range(15, 21)))
"""Workloads with a batch query only."""
LACKING: Mapping[str, str] = {
    "high_mobility_fraud": "its speeds between the calls of a phone have no Spark SQL query yet",
    "linear_road_toll": (
        "it measures the cost of determinism in a graph of two keyed operators; its count of "
        "vehicles has no Spark SQL query"
    ),
    "parametric": (
        "its operators cost a set number of steps of compiled code, which Spark SQL would "
        "either interpret or, with the oracle's closed form, skip"
    ),
}
"""Pipelines without a Spark query, with the reason."""
RELATIONS = {**OPERATORS, **PIPELINES}
WORKLOADS = (*PROGRAMS, *RELATIONS)
FORMS = {"streaming": "packed", "batch": "buckets", "cached": "buckets"}
"""The form of DGS programs by variant."""
GENERIC = ("generic-streaming", "generic-batch")
"""Variants that run the functions of any program in Python; each has one form."""
NATIVE, COMPILER = "native", "multicore"
"""The variant that runs compiled code, and the engine that compiles it."""
NATIVE_STREAMING = "native-streaming"
"""The variant that runs compiled code in micro-batches."""
COMPILED = (NATIVE, NATIVE_STREAMING)
ANY_PROGRAM = (*GENERIC, *COMPILED)
"""Variants that run any program."""
BLOCKS = "blocks"
"""The form of compiled variants without partial states or aggregates."""
STREAMING = ("streaming", "generic-streaming", NATIVE_STREAMING)

MASTERS = ("spark://", "yarn", "k8s://")
"""How the address of a cluster begins."""


def form_of(workload: str, variant: str) -> str:
    """Return the form of a workload's query in a variant."""
    return RELATIONS.get(workload) or FORMS[variant]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Options of all variants; docs/engines/spark.md has more.

    Attributes:
        file_ms: period of the files of a stream under a load.
        executor_memory_mb: memory of an executor on a cluster.
        form: the form of a compiled program; None means `partials` if the program has partial states or aggregates.
        master: the address of the cluster; None for local mode.
        micro_batches: number of micro-batches at full speed; None for a number that fits the input.
        python: the path of Python on the cluster; None for the path of this Python.
        warm_up_events: number of events in the prefix for the warm-up.
        warm_up_rounds: number of warm-up rounds; 0 for no warm-up.
    """

    # A stateful micro-batch takes about this long; shorter files would not give earlier answers.
    file_ms: Annotated[int, Meta(ge=1)] = 250
    executor_memory_mb: Annotated[int, Meta(ge=512)] = 1024
    form: Literal["partials", "blocks"] | None = None
    master: str | None = None
    micro_batches: Annotated[int, Meta(ge=1)] | None = None
    python: str | None = None
    warm_up_events: Annotated[int, Meta(ge=0)] = 1_000_000
    warm_up_rounds: Annotated[int, Meta(ge=0)] = 3

    def __post_init__(self) -> None:
        if self.master is not None and not self.master.startswith(MASTERS):
            raise ValueError(
                f"option master is {self.master!r}; it must be spark://HOST:PORT, yarn or k8s://URL"
            )


BATCH = Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING))
CACHED = Conditions(unit=WHOLE, origin=MEMORY)
GENERIC_BATCH = Conditions(unit=WHOLE, origin=FILE, also_timed=(READING, DECODING, PYTHON))
GENERIC_STREAMING = Conditions(
    unit=MICRO_BATCH, origin=FILE, also_timed=(READING, DECODING, PYTHON, START_UP)
)
COMPILED_STREAMING = Conditions(
    unit=MICRO_BATCH, origin=FILE, also_timed=(READING, DECODING, START_UP)
)
_PER_EVENT = (
    "linear_road_pos_rep",
    *(f"nexmark_q{number}" for number in (0, 1, 2, 13, 14)),
)
"""Pipelines without a state."""
_WITHOUT_PYTHON = {*OPERATORS, *_PER_EVENT}
"""Workloads whose streaming query is relational; the others use operators in Python."""


def streaming_conditions(workload: str) -> Conditions:
    """Return the conditions of a streaming query, whose start is timed."""
    python = () if workload in _WITHOUT_PYTHON else (PYTHON,)
    parts = (READING, DECODING, *python, START_UP)
    return Conditions(unit=MICRO_BATCH, origin=FILE, also_timed=parts)


def _holds(why: str) -> Property:
    return Property(holds=True, why=why)


def _fails(why: str) -> Property:
    return Property(holds=False, why=why)


_PIP1 = _holds(
    "the query names no number of instances; local[n] and the shuffle width are settings"
)
_PIP1_GENERIC = _holds(
    "the program names no number of instances; the adapter makes as many groups as workers"
)
_RELATIONAL = _holds("only deterministic relational operators")
_STATEFUL = _holds(
    "operators are deterministic, keep state only in the state store and have no "
    "side effects; the sink replaces the output of a repeated micro-batch"
)
_PIP3 = {
    "streaming": _STATEFUL,
    "batch": _RELATIONAL,
    "cached": _RELATIONAL,
    "generic-streaming": _STATEFUL,
    "generic-batch": _holds("functions of groups are deterministic and have no side effects"),
    NATIVE: _holds("functions of tasks are deterministic and have no side effects"),
    NATIVE_STREAMING: _STATEFUL,
}
_SEQUENTIAL = (
    "one group holds the whole state, so reading and packing run in parallel and the stateful "
    "operator does not"
)
_PIP2_STREAMING = {
    "event_window": _holds(_SEQUENTIAL),
    "keyed_counter": _holds(f"{_SEQUENTIAL}; groups by key would need a punctuation of every key"),
    "fraud_detection": _holds(
        f"{_SEQUENTIAL}: a model depends on all transactions and they on it, and "
        "the streaming API has no feedback across groups"
    ),
    "page_view_join": _fails(
        "groups are the physical streams, and every update is replicated to each; groups by "
        "page would satisfy the property, but use at most two instances for two pages"
    ),
}
_KEYED = _holds("grouped by window and key alone; Spark assigns groups to instances by hash")
_JOINED = _fails(
    "Spark spreads joins over instances by equality only, so the query itself copies right "
    "tuples into time buckets; the answer does not depend on them"
)
_FLAT = _holds("each tuple is independent; Spark assigns ranges of files freely")
_PIP2 = {
    "forward": _FLAT,
    **dict.fromkeys(_PER_EVENT, _FLAT),
    "longest_tweet_per_hashtag": _KEYED,
    "nyse_hedge": _JOINED,
    "paircount": _KEYED,
    "scale_join": _JOINED,
    "wordcount": _KEYED,
}
_SPREAD = _fails(
    "the query itself spreads keys over one group per worker, since a Python call per key "
    "would cost more than the work in it; the answer does not depend on the groups"
)
_BY_KEY = _holds("windows and aggregates by key alone; Spark assigns keys by hash")
_GENERIC = _fails(
    "the adapter spreads keys, or independent parts of the alphabet, over one group per "
    "worker, since a Python call per key would cost more than the work in it; the program does "
    "not mention groups and the answer does not depend on them"
)
_NATIVE = _fails(
    "the adapter deals keys, or independent parts of the alphabet, to one share per worker; the "
    "program does not mention shares and the answer does not depend on them"
)
_BATCH = _holds("separators are broadcast; Spark assigns ranges of files to instances freely")


def properties(workload: str, variant: str) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 of a workload's query."""
    if variant in ANY_PROGRAM:
        spread = _GENERIC if variant in GENERIC else _NATIVE
        return {"PIP1": _PIP1_GENERIC, "PIP2": spread, "PIP3": _PIP3[variant]}
    streams = variant == "streaming"
    if workload in _PIP2:
        partitioned = _PIP2[workload]
    elif workload in PIPELINES:
        partitioned = _SPREAD if streams else _BY_KEY
    else:
        partitioned = _PIP2_STREAMING[workload] if streams else _BATCH
    return {"PIP1": _PIP1, "PIP2": partitioned, "PIP3": _PIP3[variant]}
