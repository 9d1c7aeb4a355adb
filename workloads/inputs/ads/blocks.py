"""What the oracles share: all events in one frame, each with the marker that closes its block."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.ads.schema import FIELDS
from streamlab.workloads.model import Input

if TYPE_CHECKING:
    import pandas as pd


def closed_blocks(data: Input, markers_ms: int) -> "pd.DataFrame":
    """Return the events (`FIELDS`, `ts`, `marker`) that a marker comes behind, in total order.

    The marker of an event is the first one after it. There is one when an event of its time or a
    later one follows; or, of an input that is cut off, when the cut is later.
    """
    import pandas as pd  # heavy

    events = total_order(data, FIELDS)
    marker = (events.ts // markers_ms + 1) * markers_ms
    frame = pd.DataFrame({"ts": events.ts, "marker": marker, **events.payload})
    return frame[marker <= reached(data, events.ts)]


def reached(data: Input, ts: npt.NDArray[np.int64]) -> int:
    """Return up to when event time is known to have passed; `ts` ascends."""
    if data.until_ts is not None:
        return data.until_ts - 1
    return int(ts[-1]) if len(ts) else 0


def looked_up(ids: "pd.Series[int]", table: npt.NDArray[np.int32]) -> "pd.Series[int]":
    """Return what a table has for ids; nothing (NA) for those that it lacks."""
    import pandas as pd

    return ids.map(pd.Series(table, dtype="Int64"))
