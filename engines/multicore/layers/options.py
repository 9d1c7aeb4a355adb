"""How query graphs are run: the options of variant `layers`, their defaults, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engines.multicore import _core
from engines.multicore.run.settings import OwnOptions, wrong_name, wrong_spill

COMMUNICATION, OPERATOR, NONE = _core.DETERMINISMS
CHANNEL_ROWS = 4096

IN_WORDS = {
    OPERATOR: "merge-sorting operators",
    COMMUNICATION: "ordered logs as channels",
    NONE: "no order",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions(OwnOptions):
    """Options of a run.

    Attributes:
        determinism: where what comes from several producers is put in order: by `communication`,
            the channels, or `operator`, operators of their own; or `none`, nowhere.
        channel_rows: records between two threads, rounded up to a power of two.
        spill_rows: records of one time that may wait in memory for room in one channel of one
            producer; more are an error.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "determinism": str,
        "channel_rows": int,
        "spill_rows": int,
    }

    determinism: str = COMMUNICATION
    channel_rows: int = CHANNEL_ROWS
    spill_rows: int = _core.MOST_SPILL_ROWS

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        least, most = _core.LEAST_CHANNEL_ROWS, _core.MOST_CHANNEL_ROWS
        if not least <= self.channel_rows <= most:
            return f"channel_rows must be between {least} and {most}, got {self.channel_rows}"
        return wrong_spill(self.spill_rows) or wrong_name(
            "determinism", _core.DETERMINISMS, self.determinism
        )
