"""How query graphs are run: the options of variant `layers`, their defaults, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import OwnOptions, wrong_name

COMMUNICATION, OPERATOR, NONE = _core.DETERMINISMS
LOG, SCALEGATE = _core.CHANNELS
RUN, TUPLE = _core.MERGE_UNITS
TIME, TURN = _core.DEALINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions(OwnOptions):
    """Options of a run.

    Attributes:
        determinism: where what comes from several producers is put in order: by `communication`,
            the channels, or `operator`, operators of their own; or `none`, nowhere.
        channels: of layer communication: `log`, merged in runs, or, as Viper publishes them,
            `scalegate`, a skip list of tuples with flow control by watermark tuples.
        merge_unit: of layer operator: a merge-sorting operator takes and hands over a `run` of
            tuples at once, or, as Viper publishes it, a `tuple`.
        dealing: how records without a key find an instance: by `time`, so that ties stay
            together, or in `turn`, as in Viper's evaluation.
        channel_rows: records between two threads, rounded up to a power of two. Tests take fewer;
            a task cannot.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "determinism": str,
        "channels": str,
        "merge_unit": str,
        "dealing": str,
    }

    determinism: str = COMMUNICATION
    channels: str = LOG
    merge_unit: str = RUN
    dealing: str = TIME
    channel_rows: int = 4096

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        return (
            wrong_name("determinism", _core.DETERMINISMS, self.determinism)
            or wrong_name("channels", _core.CHANNELS, self.channels)
            or wrong_name("merge_unit", _core.MERGE_UNITS, self.merge_unit)
            or wrong_name("dealing", _core.DEALINGS, self.dealing)
        )

    @property
    def in_words(self) -> str:
        """Who puts in order, in a few words."""
        if self.determinism == COMMUNICATION:
            return "ordered logs as channels" if self.channels == LOG else "ScaleGate as channels"
        if self.determinism == OPERATOR:
            unit = "" if self.merge_unit == RUN else ", a tuple at a time"
            return f"merge-sorting operators{unit}"
        return "no order"
