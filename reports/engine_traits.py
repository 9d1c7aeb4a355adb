"""Reads engine names, colours and baseline ranks from the variants of engines."""

from functools import cache

from streamlab.engines import registry
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Variant


def baseline_rank(engine: str) -> int | None:
    """Return an engine's rank as the baseline of ratios; the lowest rank comes first, None is no rank."""
    ranks = [variant.baseline for variant in _variants(engine) if variant.baseline is not None]
    return min(ranks, default=None)


def colour_slot(engine: str) -> int | None:
    """Return the number of an engine's colour in the palette; None if any free colour suffices."""
    return next((v.colour for v in _variants(engine) if v.colour is not None), None)


def variant_label(engine: str, variant: str) -> str:
    """Return the name of an engine's variant for readers."""
    label = next((v.label for v in _variants(engine) if v.name == variant), "")
    return label or f"{engine} {variant}".strip()


@cache
def _variants(engine: str) -> tuple[Variant, ...]:
    """Return the variants of an engine; empty if the engine is not installed."""
    try:
        return tuple(registry.engine(engine).variants())
    except EngineError:
        return ()
