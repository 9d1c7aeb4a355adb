"""A streaming engine for windows: keeps open windows, and emits them when their end has passed.

It works at full speed and under an offered load: `events` yields a tweet when it is due, and the
lab measures latency from then on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from streamlab.engine import Emitter, StreamingEngine, Task


class WordCount:
    """Counts the tweets with each word, in sliding windows."""

    def __init__(self, task: Task) -> None:
        """Read the windows' advance and size from the query parameters."""
        self.advance = int(task.workload.query_params["wa_ms"])
        self.size = int(task.workload.query_params["ws_ms"])
        self.open: dict[int, Counter[int]] = defaultdict(Counter)

    def take(self, tweet: Any, out: Emitter) -> None:
        """Emit the windows that end before a tweet, then count the tweet."""
        self.advance_time(tweet.ts, out)
        begin = tweet.ts // self.advance * self.advance
        while begin + self.size > tweet.ts:
            self.open[begin + self.size].update(set(tweet.words))
            begin -= self.advance

    def advance_time(self, now: int, out: Emitter) -> None:
        """Emit the windows with a right boundary up to `now`, in time order."""
        for right in sorted(right for right in self.open if right <= now):
            for word, count in sorted(self.open.pop(right).items()):
                out.emit(right, word, count)


class OpenWindows(StreamingEngine):
    """Keeps a counter for each open window."""

    name = "open-windows"
    packages = ("open-windows",)
    queries = {"wordcount": WordCount}  # noqa: RUF012 (never changed)

    def process(self, task: Task, events: Iterable[Any], out: Emitter) -> None:
        """Process every tweet; the end of a truncated input is the time of its cut."""
        query = WordCount(task)
        for event in events:
            query.take(event, out)
        if task.dataset.until_ts is not None:
            query.advance_time(task.dataset.until_ts - 1, out)
