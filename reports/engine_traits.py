"""Reads what engines state of themselves in their variants, for baselines and colours of reports."""

from functools import cache

from streamlab.engines import registry
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Variant


def baseline_rank(engine: str) -> int | None:
    """Return an engine's rank as the baseline of ratios, the lowest first; None: it has none."""
    ranks = [variant.baseline for variant in _variants(engine) if variant.baseline is not None]
    return min(ranks, default=None)


def colour_slot(engine: str) -> int | None:
    """Return the number of an engine's colour in the palette; None: any free one."""
    return next((v.colour for v in _variants(engine) if v.colour is not None), None)


@cache
def _variants(engine: str) -> tuple[Variant, ...]:
    """Return an engine's variants; none if it is not installed here."""
    try:
        return tuple(registry.engine(engine).variants())
    except EngineError:
        return ()
