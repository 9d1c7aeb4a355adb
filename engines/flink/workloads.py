"""Describes each workload for Flink: the columns of its events, the fields of its answer, and its properties."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamlab.engines.protocol import Property


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Maps the events and answers of a workload to their Java classes.

    Attributes:
        values: by kind, the column of an event's `value`; None: no value.
        items: the list column of an event.
        answer: the field of the Java answer for each column of the output except `ts`.
        keyed_state: whether variant `automatic` uses Flink's state.
    """

    values: tuple[str | None, ...]
    items: str | None = None
    answer: Mapping[str, str]
    keyed_state: bool = True


SHAPES: Mapping[str, Shape] = {
    "event_window": Shape(values=("value", None), answer={"sum": "value"}),
    "page_view_join": Shape(
        values=("user", "meta"),
        answer={"kind": "kind", "page": "key", "user": "value", "meta": "other"},
    ),
    "fraud_detection": Shape(
        values=("value", "value"),
        answer={"kind": "kind", "value": "value"},
        keyed_state=False,
    ),
    "keyed_counter": Shape(values=(None, None), answer={"key": "key", "count": "value"}),
    "wordcount": Shape(values=(None,), items="words", answer={"word": "other", "count": "value"}),
    "paircount": Shape(values=(None,), items="words", answer={"pair": "other", "count": "value"}),
    "longest_tweet_per_hashtag": Shape(
        values=("chars",), items="hashtags", answer={"hashtag": "other", "chars": "value"}
    ),
}

_SETTING = Property(holds=True, why="the parallelism is a setting of the job; no program names it")
_BY_HASH = Property(holds=True, why="Flink assigns keys to tasks by its own hash")
_CONTRACT = Property(holds=True, why="only the sink has side effects")
_PIP2 = {
    "event_window": Property(
        holds=True, why="barriers are broadcast; any task may process any value"
    ),
    "page_view_join": Property(
        holds=False,
        why="pages are labelled so that Flink's hash spreads them over tasks, as in the paper's "
        "programs; without labels two pages may share a task",
    ),
    "fraud_detection": Property(holds=True, why="one task has all events"),
}
_MANUAL = {
    "PIP1": Property(holds=False, why="the service is built for a number of leaves"),
    "PIP2": Property(holds=False, why="leaves and roots are named by their task numbers"),
    "PIP3": Property(
        holds=False,
        why="tasks wait for each other in a service outside Flink; after a failure, states would "
        "be joined twice",
    ),
}


def properties(workload: str, variant: str) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 of a workload's program (DGS paper, section 4 and table 1)."""
    if variant == "manual":
        return _MANUAL
    return {"PIP1": _SETTING, "PIP2": _PIP2.get(workload, _BY_HASH), "PIP3": _CONTRACT}
