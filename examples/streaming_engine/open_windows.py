"""A streaming engine for windows: what is open is kept, what time has passed is emitted.

Works under an offered load as at full speed: `events` yields a tweet when it is due, and the lab
measures from then on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from streamlab.engine import Emitter, StreamingEngine, Task


class WordCount:
    """How many tweets hold each word, in windows that slide."""

    def __init__(self, task: Task) -> None:
        """Take the windows' advance and size from the query parameters."""
        self.advance = int(task.workload.query_params["wa_ms"])
        self.size = int(task.workload.query_params["ws_ms"])
        self.open: dict[int, Counter[int]] = defaultdict(Counter)

    def take(self, tweet: Any, out: Emitter) -> None:
        """Count a tweet, after what it shows to be over."""
        self.pass_time(tweet.ts, out)
        begin = tweet.ts // self.advance * self.advance
        while begin + self.size > tweet.ts:
            self.open[begin + self.size].update(set(tweet.words))
            begin -= self.advance

    def pass_time(self, now: int, out: Emitter) -> None:
        """Emit the windows whose right boundary has come, in order of time."""
        for right in sorted(right for right in self.open if right <= now):
            for word, count in sorted(self.open.pop(right).items()):
                out.emit(right, word, count)


class OpenWindows(StreamingEngine):
    """Keeps a counter for each open window."""

    name = "open-windows"
    packages = ("open-windows",)
    queries = {"wordcount": WordCount}  # noqa: RUF012 (nobody changes it)

    def process(self, task: Task, events: Iterable[Any], out: Emitter) -> None:
        """Take every tweet; of an input that is cut, time has passed up to the cut."""
        query = WordCount(task)
        for event in events:
            query.take(event, out)
        if task.dataset.until_ts is not None:
            query.pass_time(task.dataset.until_ts - 1, out)
