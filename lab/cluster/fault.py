"""Defines faults of a cluster, and reads them from text.

    kill worker after 3 s
    cut network after 3 s for 2 s

Times count from the beginning of the timed part.
"""

import re
from dataclasses import dataclass

KILL, CUT = "kill worker", "cut network"
EXPECTED = '"kill worker after 3 s" or "cut network after 3 s for 2 s"'
_TEXT = re.compile(
    r"(?:(kill worker)|(cut network)) after (\d+(?:\.\d+)?) s(?: for (\d+(?:\.\d+)?) s)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a cluster.

    Attributes:
        action: KILL or CUT.
        after_s: seconds from the beginning of the timed part.
        for_s: seconds until a cut network is connected again; 0 for KILL.
    """

    action: str
    after_s: float
    for_s: float = 0.0


def parse_fault(text: str) -> Fault | None:
    """Return a fault from its text; None if the text is not a fault."""
    match = _TEXT.fullmatch(text)
    if match is None or (match[2] is not None) != (match[4] is not None):
        return None
    action = match[1] or match[2]
    return Fault(action=action, after_s=float(match[3]), for_s=float(match[4] or 0))
