"""Measures the highest rate of each load source on this machine.

A null engine, which discards events, shows the ceiling of a source.
A run may claim an engine's rate up to half the ceiling; at higher rates, the source may be the bottleneck.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Engine, Variant
from streamlab.engines.registry import engine, names
from streamlab.lab.runner.session import SAFE_SHARE, measure_ceiling
from streamlab.lab.trial.spec import CeilingJob

BATCHES = (1, 64, 4096)
"""Batch sizes, from one event to a size at which an event's share of the hand-over cost is negligible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCeiling:
    """The ceiling of one source.

    Attributes:
        variants: names of the variants that share the source.
        batch: events per hand-over; None if the variant uses no batch.
        ceiling_eps: events/s into a null engine; None for a virtual source, or if `reason` is set.
        claimable_eps: highest rate, in events/s, that can be claimed with the source.
        virtual: whether events arrive without a source, so that no ceiling exists.
        reason: why the ceiling is unknown; None otherwise.
    """

    engine: str
    variants: tuple[str, ...]
    batch: int | None
    ceiling_eps: float | None = None
    claimable_eps: float | None = None
    virtual: bool = False
    reason: str | None = None


def ceilings(only: tuple[str, ...] | None = None) -> Iterator[SourceCeiling]:
    """Measure the sources of engines one by one, each in a fresh process."""
    for name in names() if only is None else only:
        try:
            adapter = engine(name)
        except EngineError as error:
            yield SourceCeiling(engine=name, variants=(), batch=None, reason=str(error))
            continue
        yield from _engine_ceilings(adapter)


def _engine_ceilings(adapter: Engine) -> Iterator[SourceCeiling]:
    sources: dict[str, list[Variant]] = {}
    for variant in adapter.variants():
        if variant.takes_load:
            sources.setdefault(variant.source or f"of {variant.name}", []).append(variant)
    for variants in sources.values():
        batches: tuple[int | None, ...] = BATCHES if variants[0].uses_batch else (None,)
        for batch in batches:
            yield _measure(adapter.name, tuple(variant.name for variant in variants), batch)


def _measure(name: str, variants: tuple[str, ...], batch: int | None) -> SourceCeiling:
    """Measure the source that variants share, with the first variant."""
    job = CeilingJob(engine=name, variant=variants[0], batch=batch or 1)
    with tempfile.TemporaryDirectory(prefix="lab-doctor-") as folder:
        ceiling = measure_ceiling(job, Path(folder) / "log")
    eps = ceiling.ceiling_eps
    return SourceCeiling(
        engine=name,
        variants=variants,
        batch=batch,
        ceiling_eps=eps,
        claimable_eps=None if eps is None else SAFE_SHARE * eps,
        virtual=eps is None and ceiling.reason is None,
        reason=ceiling.reason,
    )
