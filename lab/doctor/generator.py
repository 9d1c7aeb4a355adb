"""What the sources of offered loads can hand over on this machine: the doctor's certificate.

A null engine, which takes events and does nothing with them, shows how fast a source is. A rate may
be claimed for an engine up to half of that; above, the source may be what was measured.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Engine, Variant
from streamlab.engines.registry import engine, names
from streamlab.lab.runner.generators import CEILING_TIMEOUT_S, SAFE_SHARE
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import CeilingJob

BATCHES = (1, 64, 4096)
"""From tuple-at-a-time to where the cost of a hand-over no longer shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCeiling:
    """What one source can do.

    Attributes:
        engine: whose source.
        variants: of the engine, that share it.
        batch: events per unit of hand-over; None where the variant uses no batch.
        ceiling_eps: events/s into a null engine; None: see `virtual` and `reason`.
        claimable_eps: the highest rate that can be claimed with it.
        virtual: whether events need no source to arrive, so that there is no ceiling.
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
    """Measure the different sources of all engines, each in a fresh process, one after the other.

    Args:
        only: names of engines; None: all that are installed.
    """
    for name in names() if only is None else only:
        try:
            adapter = engine(name)
        except EngineError as error:
            yield SourceCeiling(engine=name, variants=(), batch=None, reason=str(error))
            continue
        yield from _of_engine(adapter)


def _of_engine(adapter: Engine) -> Iterator[SourceCeiling]:
    sources: dict[str, list[Variant]] = {}
    for variant in adapter.variants():
        if variant.takes_load:
            sources.setdefault(variant.source or f"of {variant.name}", []).append(variant)
    for sharing in sources.values():
        batches: tuple[int | None, ...] = BATCHES if sharing[0].uses_batch else (None,)
        for batch in batches:
            yield _measure(adapter.name, tuple(variant.name for variant in sharing), batch)


def _measure(name: str, variants: tuple[str, ...], batch: int | None) -> SourceCeiling:
    """Measure the source that these variants share, by the first of them."""
    job = CeilingJob(engine=name, variant=variants[0], batch=batch or 1)
    with tempfile.TemporaryDirectory(prefix="lab-doctor-") as folder:
        ended = run_trial(job, log=Path(folder) / "log", timeout_s=CEILING_TIMEOUT_S)
    if ended.result.get("status") is not None:
        reason = str(ended.result.get("reason"))
        return SourceCeiling(engine=name, variants=variants, batch=batch, reason=reason)
    eps = ended.result.get("generator_ceiling_eps")
    return SourceCeiling(
        engine=name,
        variants=variants,
        batch=batch,
        ceiling_eps=eps,
        claimable_eps=None if eps is None else SAFE_SHARE * eps,
        virtual=eps is None,
    )
