"""Describes each workload for Flink: the columns of its events, and the fields of its answer."""

from collections.abc import Mapping
from dataclasses import dataclass


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
