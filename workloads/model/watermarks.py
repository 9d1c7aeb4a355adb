"""Explicit watermarks: makes a timestamp-sorted stream of one whose tuples come out of order.

STRETCH, section 2.3: a source may send watermarks between its tuples. A watermark w says that every
later tuple has ts >= w. Operators whose answer depends on the order of tuples need them sorted, and
all engines of this suite merge sorted streams; so this is the ingress of a stream with disorder. A
tuple that breaks the promise, one with ts below a watermark sent before it, is *late*: its windows
may have been answered. It is left out and counted.

Holding tuples back until a watermark has passed them, then letting them go by time, gives the same
sequence as sorting all that are not late at once: after a watermark w nothing below w is let in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workloads.model.errors import ModelError
from workloads.model.lists import ListColumn
from workloads.model.stream import IntArray, Stream, TagArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Disordered:
    """A stream in order of arrival, with its watermarks.

    Attributes:
        name: as in `Stream`.
        kinds: as in `Stream`.
        ts: int64[n], event time, in any order.
        tag: int32[n] or None, as in `Stream`.
        payload: further columns, as in `Stream`.
        watermarks: int64[m], in the order in which they were sent; one below an earlier one says
            nothing new.
        sent_after: int64[m], non-decreasing, in [0, n]: how many tuples came before each watermark.

    Raises:
        ModelError: the watermarks and their places do not fit each other or the tuples.
    """

    name: str
    kinds: tuple[int, ...]
    ts: IntArray
    tag: TagArray | None = None
    payload: Mapping[str, npt.NDArray[np.generic] | ListColumn] = field(default_factory=dict)
    watermarks: IntArray
    sent_after: IntArray

    def __post_init__(self) -> None:
        where = f"stream {self.name}"
        if len(self.watermarks) != len(self.sent_after):
            raise ModelError(
                f"{where} has {len(self.watermarks)} watermarks and {len(self.sent_after)} places "
                "for them"
            )
        if np.any(np.diff(self.sent_after) < 0):
            raise ModelError(f"{where}: the places of its watermarks decrease")
        if len(self.sent_after) and not 0 <= self.sent_after[0] <= self.sent_after[-1] <= len(
            self.ts
        ):
            raise ModelError(
                f"{where}: watermarks after {self.sent_after[0]} to {self.sent_after[-1]} tuples; "
                f"it has {len(self.ts)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingress:
    """What becomes of a stream with disorder.

    Attributes:
        stream: the tuples that are not late, sorted by time, ties in order of arrival; with the
            watermarks as heartbeats.
        late: int64[k], ascending: the rows, by arrival, that were left out.
        until_ts: every tuple before this time has come: the last watermark; None without one. An
            input whose streams all have one may set `Input.until_ts` to the smallest.
    """

    stream: Stream
    late: IntArray
    until_ts: int | None


def admit(disordered: Disordered) -> Ingress:
    """Sort a stream by its watermarks, without its late tuples.

    Watermarks decide only which tuples are late; when they are sent does not change the order.
    Memory: a few columns as long as the stream.
    """
    ts = disordered.ts
    reached = np.maximum.accumulate(disordered.watermarks)
    # The watermark in force when each row came: the last that was sent before it.
    last = np.searchsorted(disordered.sent_after, np.arange(len(ts)), side="right") - 1
    is_late = np.zeros(len(ts), dtype=np.bool_)
    promised = last >= 0
    is_late[promised] = ts[promised] < reached[last[promised]]
    kept = np.flatnonzero(~is_late)
    order = kept[np.argsort(ts[kept], kind="stable")]
    stream = Stream(
        name=disordered.name,
        kinds=disordered.kinds,
        ts=ts[order],
        tag=None if disordered.tag is None else disordered.tag[order],
        payload={name: _taken(column, order) for name, column in disordered.payload.items()},
        # A heartbeat h says that later events are above h; a watermark w, that they are not below.
        heartbeats=np.unique(reached) - 1,
    )
    until_ts = int(reached[-1]) if len(reached) else None
    return Ingress(stream=stream, late=np.flatnonzero(is_late), until_ts=until_ts)


def _taken(
    column: npt.NDArray[np.generic] | ListColumn, rows: IntArray
) -> npt.NDArray[np.generic] | ListColumn:
    return column.take(rows) if isinstance(column, ListColumn) else column[rows]
