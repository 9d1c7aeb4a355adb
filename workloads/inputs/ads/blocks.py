"""Groups events into the blocks between markers, for oracles."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.ads.schema import FIELDS
from streamlab.workloads.model import Input

if TYPE_CHECKING:
    import pandas as pd


def closed_blocks(data: Input, markers_ms: int) -> "pd.DataFrame":
    """Return the events of closed blocks (`FIELDS`, `ts`, `marker`), in total order.

    A block ends at a marker, and is closed if the final watermark of the input reaches that marker.
    `marker` is the marker at the end of the event's block: the first after the event.
    """
    import pandas as pd  # heavy

    events = total_order(data, FIELDS)
    marker = (events.ts // markers_ms + 1) * markers_ms
    frame = pd.DataFrame({"ts": events.ts, "marker": marker, **events.payload})
    return frame[marker <= final_watermark(data, events.ts)]


def look_up_ids(ids: "pd.Series[int]", table: npt.NDArray[np.int32]) -> "pd.Series[int]":
    """Return the table's value for each id; NA for ids outside the table."""
    import pandas as pd

    return ids.map(pd.Series(table, dtype="Int64"))
