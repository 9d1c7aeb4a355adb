"""How dataflow graphs are run: the options of variant `dataflow`, defaults, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from streamlab.engines.multicore.run.settings import OwnOptions, wrong_name

ALWAYS, NEVER = "always", "never"
COMBINES = [ALWAYS, NEVER]
TYPED, NONE = "typed", "none"
SOUNDNESSES = [TYPED, NONE]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowOptions(OwnOptions):
    """Options of a run.

    Attributes:
        combine: whether an instance adds up a block's items of a key before it sends them to the
            instance that has the key's state: `always` where the graph allows it, or `never`.
        soundness: `typed`, or `none`: in parallel as a system without types would run the graph,
            whose answer is another with more than one worker. SORT is left out, stateless operators
            get items in turn, links are read as they are found, and a marker counts where it comes
            first. It is there to be seen, and is never a number.
        link_rows: unread rows of a link from which on what fills it takes no more. Tests take
            fewer; a task cannot.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "combine": str,
        "soundness": str,
    }

    combine: str = ALWAYS
    soundness: str = TYPED
    link_rows: int = 1 << 14

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        return wrong_name("combine", COMBINES, self.combine) or wrong_name(
            "soundness", SOUNDNESSES, self.soundness
        )
