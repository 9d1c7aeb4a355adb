"""How dataflow graphs are run: the options of variant `dataflow`, defaults, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engines.multicore import _core
from engines.multicore.run.settings import OwnOptions, wrong_name

AUTO, ALWAYS, NEVER = "auto", "always", "never"
COMBINES = [AUTO, ALWAYS, NEVER]
LINK_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowOptions(OwnOptions):
    """Options of a run.

    Attributes:
        combine: whether an instance adds up a block's items of a key before it sends them to the
            instance that has the key's state: `always` where the graph allows it, or `never`;
            `auto`: always.
        link_rows: unread rows of a link from which on its producer takes none from its streams.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {"combine": str, "link_rows": int}

    combine: str = AUTO
    link_rows: int = LINK_ROWS

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        if not 1 <= self.link_rows <= _core.MOST_LINK_ROWS:
            return f"link_rows must be between 1 and {_core.MOST_LINK_ROWS}, got {self.link_rows}"
        return wrong_name("combine", COMBINES, self.combine)
