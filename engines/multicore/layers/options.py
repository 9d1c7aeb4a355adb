"""How query graphs are run: the options of variant `layers`, their defaults, what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass

OPERATOR, COMMUNICATION, NONE = "operator", "communication", "none"
DETERMINISM = (COMMUNICATION, OPERATOR, NONE)
CHANNEL_ROWS = 4096
LEAST_CHANNEL_ROWS, MOST_CHANNEL_ROWS = 2, 1 << 20
KINDS: Mapping[str, type[object]] = {"determinism": str, "channel_rows": int}
"""Types of the options, by name."""

IN_WORDS = {
    OPERATOR: "merge-sorting operators",
    COMMUNICATION: "ordered logs as channels",
    NONE: "no order",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions:
    """Options of a run.

    Attributes:
        determinism: where what comes from several producers is put in order: by `communication`,
            the channels, or `operator`, operators of their own; or `none`, nowhere.
        channel_rows: records between two threads, rounded up to a power of two.
    """

    determinism: str = COMMUNICATION
    channel_rows: int = CHANNEL_ROWS


def layers_options(given: Mapping[str, object]) -> LayersOptions:
    """Return the options among all those that a task gives; the others by default."""
    return LayersOptions(**{k: v for k, v in given.items() if k in KINDS})  # type: ignore[arg-type]


def wrong_options(given: Mapping[str, object]) -> str | None:
    """Return what is wrong with the values of options of the right types, or None."""
    options = layers_options(given)
    if options.determinism not in DETERMINISM:
        return f"determinism is one of {', '.join(DETERMINISM)}, got {options.determinism!r}"
    if not LEAST_CHANNEL_ROWS <= options.channel_rows <= MOST_CHANNEL_ROWS:
        return (
            f"channel_rows must be between {LEAST_CHANNEL_ROWS} and {MOST_CHANNEL_ROWS}, got "
            f"{options.channel_rows}"
        )
    return None
