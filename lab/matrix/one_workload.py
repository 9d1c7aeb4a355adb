"""Writes a matrix for one workload on some engines, for runs without a matrix file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tomli_w

from streamlab.engines import registry
from streamlab.engines.errors import EngineError
from streamlab.lab.errors import LabError
from streamlab.workloads import references
from streamlab.workloads.default_folders import here
from streamlab.workloads.registry import short_name


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWorkload:
    """A request to run one workload; None and empty values mean the defaults of a matrix.

    Attributes:
        reference: the workload (`streamlab.workloads.registry`); files are relative to the current folder.
        engines: names, or `name/variant`, repeated for several variants of an engine.
        workers: numbers of workers, for engines that are not sequential.
        batch: batch sizes, for variants that use batches.
        repetitions: fresh processes for each cell.
        options: options of the engines; `engine.option` applies to one engine only.
        events, params, seed, dataset, query: as in a matrix.

    Raises:
        LabError: a number of workers or a batch is not a whole number of at least 1.
    """

    reference: str
    engines: Sequence[str]
    workers: Sequence[int] = ()
    batch: Sequence[int] = ()
    repetitions: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    events: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    dataset: str | None = None
    query: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, numbers in (("workers", self.workers), ("batch", self.batch)):
            if not isinstance(numbers, list | tuple) or not all(map(_is_count, numbers)):
                raise LabError(
                    f"{name} is {numbers!r}; use whole numbers of at least 1, such as "
                    f"--{name} 1,2 ({name}=[1, 2])"
                )


def matrix_text(request: OneWorkload) -> str:
    """Return the matrix as TOML; its only path is absolute.

    Raises:
        ModelError: the workload is unknown or cannot be loaded.
    """
    reference = references.absolute(request.reference, here())
    run = {"name": short_name(reference), "repetitions": request.repetitions}
    workload = {
        "name": reference,
        "dataset": request.dataset,
        "events": request.events,
        "seed": request.seed,
        "params": request.params,
        "query": request.query,
    }
    content = {
        "run": _without_empty(run),
        "workload": [_without_empty(workload)],
        "engine": [_engine(request, engine) for engine in dict.fromkeys(request.engines)],
    }
    return tomli_w.dumps(content)


def describe_ignored_workers(request: OneWorkload) -> str | None:
    """Return a text about numbers of workers that a sequential engine ignores; None if none."""
    sequential = [name for name in _names(request) if _is_sequential(name)]
    if not sequential or set(request.workers) <= {1}:
        return None
    numbers = ", ".join(str(number) for number in dict.fromkeys(request.workers))
    return (
        f"{' and '.join(sequential)} is sequential: it runs with 1 worker and ignores workers = "
        f"{numbers}"
    )


def _is_sequential(name: str) -> bool:
    """Return whether all variants of an engine run on one worker only; False if it cannot be loaded."""
    try:
        return all(variant.sequential for variant in registry.engine(name).variants())
    except EngineError:
        return False  # Reported when the matrix is expanded.


def _names(request: OneWorkload) -> list[str]:
    return list(dict.fromkeys(engine.partition("/")[0] for engine in request.engines))


def _engine(request: OneWorkload, engine: str) -> dict[str, Any]:
    name, _, variant = engine.partition("/")
    names = _names(request)
    options = {}
    for option, value in request.options.items():
        prefix, dot, suffix = option.partition(".")
        if not dot or prefix not in names:
            options[option] = value
        elif prefix == name:
            options[suffix] = value
    return _without_empty(
        {
            "name": name,
            "variants": [variant] if variant else None,
            "workers": [] if _is_sequential(name) else list(request.workers),
            "batch": list(request.batch),
            "options": options,
        }
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _without_empty(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value not in (None, [], {})}
