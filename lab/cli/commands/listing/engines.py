"""Lists engines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlab.engines import environment
from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import MODELS, Variant, default_variant
from streamlab.engines.registry import engine, names


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRecord:
    """An engine's separate environment; `lacking` is why the environment cannot be used, or None."""

    folder: str
    lacking: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRecord:
    """A variant of an engine; docs/json.md describes the keys."""

    name: str
    summary: str
    uses_batch: bool
    models: list[str]
    default_for: list[str]
    lacking: dict[str, str]
    written_for: list[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRecord:
    """An installed engine, with its variants."""

    name: str
    version: str | None = None
    environment: EnvironmentRecord | None = None
    variants: tuple[VariantRecord, ...] = ()
    error: str | None = None


def records(root: Path) -> list[EngineRecord]:
    """Return the installed engines."""
    return [_record(name) for name in names()]


def _record(name: str) -> EngineRecord:
    try:
        adapter = engine(name)
        required_environment = environment.declared_environment(adapter)
        variants = adapter.variants()
        return EngineRecord(
            name=name,
            version=adapter.version(),
            environment=None
            if required_environment is None
            else EnvironmentRecord(
                folder=str(environment.folder(name)),
                lacking=environment.unusable_reason(name, required_environment),
            ),
            variants=tuple(_variant(variant, variants) for variant in variants),
        )
    except EngineError as error:
        return EngineRecord(name=name, error=str(error))


def _variant(variant: Variant, variants: Sequence[Variant]) -> VariantRecord:
    models = [model for model in MODELS if model in variant.models]
    return VariantRecord(
        name=variant.name,
        summary=variant.summary,
        uses_batch=variant.uses_batch,
        models=[MODELS[model] for model in models],
        default_for=[MODELS[m] for m in models if default_variant(tuple(variants), m) is variant],
        lacking=dict(variant.lacking),
        written_for=None if variant.written_for is None else sorted(variant.written_for),
    )


def lines(records: Sequence[EngineRecord]) -> Iterator[str]:
    """Yield the text of records."""
    if not records:
        yield "no engine is installed; run `make setup`"
    for record in records:
        if record.error is not None:
            yield f"{record.name}  not usable: {record.error}"
            continue
        yield f"{record.name}  {record.version}"
        if (environment := record.environment) is not None:
            yield f"    {environment.lacking or f'environment installed: {environment.folder}'}"
        for variant in record.variants:
            models = " and ".join(", ".join(variant.default_for).rsplit(", ", 1))
            default = f", default for {models}" if models else ""
            batch = ", takes a batch size" if variant.uses_batch else ""
            yield f"    {variant.name}  {variant.summary}{batch}{default}"
            if variant.lacking or len(variant.models) < len(MODELS):
                missing_text = "".join(f"; not {name}" for name in variant.lacking)
                yield f"        runs {', '.join(variant.models)}{missing_text}"
            if variant.written_for is not None:
                yield f"        written only for {', '.join(variant.written_for)}"
