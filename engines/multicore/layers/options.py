"""Defines the options of the variant `layers`."""

from dataclasses import dataclass

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import VariantOptions, choice

COMMUNICATION, OPERATOR, NONE = _core.DETERMINISMS
LOG, SCALEGATE = _core.CHANNELS
RUN, TUPLE = _core.MERGE_UNITS
TIME, TURN = _core.DEALINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions(VariantOptions):
    """Options of a query graph.

    Attributes:
        determinism: layer that orders the tuples of several producers: `communication` (the
            channels), `operator` (separate merge-sorting operators) or `none`.
        channels: channels of layer `communication`: `log`, merged in runs; or `scalegate`, a skip
            list of tuples with flow control by watermark tuples, as Viper publishes it.
        merge_unit: unit of a merge-sorting operator of layer `operator`: a `run` of tuples, or a
            `tuple` as Viper publishes it.
        dealing: how records without a key are dealt to instances: by `time`, so that ties stay
            together, or in `turn` as in Viper's evaluation.
        channel_rows: capacity of a channel in records, rounded up to a power of two. Tests lower
            it; a task cannot set it.
    """

    determinism: str = choice(_core.DETERMINISMS)
    channels: str = choice(_core.CHANNELS)
    merge_unit: str = choice(_core.MERGE_UNITS)
    dealing: str = choice(_core.DEALINGS)
    channel_rows: int = 4096

    @property
    def in_words(self) -> str:
        """The means of ordering, as text."""
        if self.determinism == COMMUNICATION:
            return "ordered logs as channels" if self.channels == LOG else "ScaleGate as channels"
        if self.determinism == OPERATOR:
            unit = "" if self.merge_unit == RUN else ", a tuple at a time"
            return f"merge-sorting operators{unit}"
        return "no order"
