"""Says which events of a dataset an import invented: they are in no line of its files."""

from collections.abc import Mapping


def invented_words(origin: Mapping[str, object], events: int) -> str:
    """Return what share of the events an import invented, in words; "" where it invents none.

    Args:
        origin: how the dataset was made (`Dataset.origin`).
        events: number of its events.
    """
    found = origin.get("invented")
    if not isinstance(found, Mapping) or not found:
        return ""
    each = ", ".join(f"{count:,} of kind {kind}" for kind, count in found.items())
    total = sum(found.values())
    return f"{total / max(1, events):.1%} of {events:,} events were invented by the import ({each})"
