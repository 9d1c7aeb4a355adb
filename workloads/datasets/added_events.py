"""Reports the events of a dataset that its import invented, and no input file holds."""

from collections.abc import Mapping


def invented_words(origin: Mapping[str, object], events: int) -> str:
    """Return the share of events that an import invented, in words; "" if it invented none.

    Args:
        origin: how the dataset was made (`Dataset.origin`).
        events: number of its events.
    """
    invented = origin.get("invented")
    if not isinstance(invented, Mapping) or not invented:
        return ""
    each = ", ".join(f"{count:,} of kind {kind}" for kind, count in invented.items())
    total = sum(invented.values())
    return f"{total / max(1, events):.1%} of {events:,} events were invented by the import ({each})"
