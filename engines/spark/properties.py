"""Declares the platform-independence properties of Spark's queries (DGS paper, section 4).

PIP1, parallelism independence: the program does not mention the number of parallel instances.
PIP2, partition independence: the program does not mention how events are assigned to instances.
PIP3, API compliance: the program keeps to the documented contract of the API.
"""

from collections.abc import Mapping

from streamlab.engines.protocol import Property
from streamlab.engines.spark.pipelines import registry as pipelines
from streamlab.engines.spark.refusal import GENERIC

_PIP1 = Property(
    holds=True,
    why="the query names no number of instances; local[n] and the shuffle width are settings",
)
_PIP1_GENERIC = Property(
    holds=True,
    why="the program names no number of instances; the adapter makes as many groups as workers",
)
_RELATIONAL = Property(holds=True, why="only deterministic relational operators")
_PIP3 = {
    "streaming": Property(
        holds=True,
        why="operators are deterministic, keep state only in the state store and have no "
        "side effects; the sink replaces the output of a repeated micro-batch",
    ),
    "batch": _RELATIONAL,
    "cached": _RELATIONAL,
    "generic-batch": Property(
        holds=True, why="functions of groups are deterministic and have no side effects"
    ),
}
_PIP3["generic-streaming"] = _PIP3["streaming"]
_SEQUENTIAL = (
    "one group holds the whole state, so reading and packing run in parallel and the stateful "
    "operator does not"
)
_PIP2 = {
    ("event_window", "streaming"): Property(holds=True, why=_SEQUENTIAL),
    ("keyed_counter", "streaming"): Property(
        holds=True, why=f"{_SEQUENTIAL}; groups by key would need a punctuation of every key"
    ),
    ("fraud_detection", "streaming"): Property(
        holds=True,
        why=f"{_SEQUENTIAL}: a model depends on all transactions and they on it, and "
        "the streaming API has no feedback across groups",
    ),
    ("page_view_join", "streaming"): Property(
        holds=False,
        why="groups are the physical streams, and every update is replicated to each; groups by "
        "page would satisfy the property, but use at most two instances for two pages",
    ),
}
_KEYED = Property(
    holds=True,
    why="grouped by window and key alone; Spark assigns groups to instances by hash",
)
_JOINED = Property(
    holds=False,
    why="Spark spreads joins over instances by equality only, so the query itself copies right "
    "tuples into time buckets; the answer does not depend on them",
)
_FLAT = Property(holds=True, why="each tuple is independent; Spark assigns ranges of files freely")
_OPERATORS = {
    "forward": _FLAT,
    "longest_tweet_per_hashtag": _KEYED,
    "nyse_hedge": _JOINED,
    "paircount": _KEYED,
    "scale_join": _JOINED,
    "wordcount": _KEYED,
}
_SPREAD = Property(
    holds=False,
    why="the query itself spreads keys over one group per worker, since a Python call per key "
    "would cost more than the work in it; the answer does not depend on the groups",
)
_BY_KEY = Property(
    holds=True, why="windows and aggregates by key alone; Spark assigns keys by hash"
)
_GENERIC = Property(
    holds=False,
    why="the adapter spreads keys, or independent parts of the alphabet, over one group per "
    "worker, since a Python call per key would cost more than the work in it; the program does "
    "not mention groups and the answer does not depend on them",
)
_BATCH = Property(
    holds=True,
    why="markers are broadcast; Spark assigns ranges of files to instances freely",
)


def properties(workload: str, variant: str) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 of a workload's query."""
    if variant in GENERIC:
        return {"PIP1": _PIP1_GENERIC, "PIP2": _GENERIC, "PIP3": _PIP3[variant]}
    if workload in pipelines.FORMS:
        partitioned = _pipeline(workload, variant)
    else:
        partitioned = _OPERATORS.get(workload) or _PIP2.get((workload, variant), _BATCH)
    return {"PIP1": _PIP1, "PIP2": partitioned, "PIP3": _PIP3[variant]}


def _pipeline(workload: str, variant: str) -> Property:
    if workload == "linear_road_pos_rep":
        return _FLAT
    return _SPREAD if variant == "streaming" else _BY_KEY
