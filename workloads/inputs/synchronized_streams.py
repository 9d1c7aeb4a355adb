"""Lays out inputs of DGS workloads: equal streams of one kind, and a stream that synchronizes them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import (
    numbered_specs,
    rows_per_stream,
    sync_ticks,
    ticks,
)
from streamlab.workloads.datasets.drift import awake_span, awake_ticks, era_of
from streamlab.workloads.model import Columns, Parameter, Params, StreamSpec

NO_FIELDS = np.dtype([])


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Describes the streams: ordinary streams of `kind`, then one synchronizing stream of `sync`.

    Attributes:
        period: The parameter with the number of events of each ordinary stream between two synchronizing events.
        fields, sync_fields: Structured dtypes of the events of ordinary and synchronizing streams.
        drifts: Whether ordinary streams are idle in some eras, whose length is parameter `drift`.
    """

    kind: str
    sync: str
    period: str
    fields: np.dtype[np.void] = NO_FIELDS
    sync_fields: np.dtype[np.void] = NO_FIELDS
    drifts: bool = False

    def parameters(self, period: int, between: str) -> dict[str, Parameter]:
        """Return the layout's parameters; `period` is the default period, `between` names the synchronizing events."""
        return {
            "streams": Parameter(
                default=2, help=f"number of {self.kind} streams", minimum=1, maximum=1024
            ),
            self.period: Parameter(
                default=period,
                help=f"{self.kind}s of each {self.kind} stream between two {between}",
                minimum=1,
                maximum=2**31,
            ),
        }

    def streams(self, params: Params, events: int) -> tuple[StreamSpec, ...]:
        """Return the ordinary streams, then the synchronizing stream."""
        count, period = int(params["streams"]), int(params[self.period])
        rows = rows_per_stream(events, count, period)
        era = self._era(params)
        span = awake_span(rows, count, era) if era else rows
        sync = StreamSpec(
            name=self.sync, kinds=(self.sync,), fields=self.sync_fields, events=span // period
        )
        return (*numbered_specs(self.kind, self.kind, self.fields, [rows] * count), sync)

    def is_sync(self, params: Params, index: int) -> bool:
        """Return whether a stream is the synchronizing stream."""
        return index == int(params["streams"])

    def times(self, params: Params, index: int, begin: int, end: int) -> npt.NDArray[np.int64]:
        """Return the event times of rows [begin, end) of a stream."""
        if self.is_sync(params, index):
            return sync_ticks(begin, end, int(params[self.period]))
        era = self._era(params)
        if era:
            return awake_ticks(begin, end, int(params["streams"]), index, era)
        return ticks(begin, end)

    def tagged(self, params: Params, index: int, key: npt.NDArray[np.int64], keys: int) -> Columns:
        """Return the column `tag` of rows of a stream with these keys; no column with a single key."""
        if keys == 1:
            return {}
        return {"tag": (self.is_sync(params, index) + 2 * key).astype(np.int32)}

    def _era(self, params: Params) -> int:
        """Return the length of an era in ticks; 0 if ordinary streams are never idle."""
        return era_of(params) if self.drifts else 0
