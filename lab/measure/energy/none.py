"""The provider that reads nothing and knows why."""

from dataclasses import dataclass

from lab.measure.energy.provider import Unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCounters:
    """Never usable.

    Attributes:
        reason: what the record says: why the others were not usable, or that none was wanted.
    """

    reason: str = "switched off"

    @property
    def name(self) -> str:
        """Return `none`."""
        return "none"

    def open(self) -> Unusable:
        """Return the reason."""
        return Unusable(reason=self.reason)
