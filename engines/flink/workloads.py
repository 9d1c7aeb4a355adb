"""What Flink is told of each workload: which columns its events carry, and what an answer means."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the events and answers of a workload look in Java.

    Attributes:
        values: the column that an event's `value` is, by kind; None: it carries none.
        items: the column of lists that an event carries.
        answer: the field of the Java answer for each column of the output, but `ts`.
        keyed_state: whether the automatic form keeps anything in Flink's state.
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
