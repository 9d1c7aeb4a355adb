"""The matrix of one workload on some engines, for who has no matrix: as text, kept with the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tomli_w

from streamlab.lab.errors import LabError
from streamlab.workloads import references
from streamlab.workloads.default_folders import here
from streamlab.workloads.registry import short_name

ONE_WORKER = frozenset({"reference"})
"""Engines that are sequential whatever is asked: more workers would be cells without a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWorkload:
    """What is asked of one workload. What is None or empty is left to the defaults of a matrix.

    Attributes:
        reference: the workload (`streamlab.workloads.registry`); files are relative to the current folder.
        engines: names, or `name/variant`; several variants of one engine are several of these.
        workers: for each engine that is not sequential.
        batch: for the variants that take one.
        repetitions: fresh processes a cell.
        options: of engines; those of one engine alone as `engine.option`.
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
                    f"{name} is {numbers!r}; give whole numbers of at least 1, such as "
                    f"--{name} 1,2 ({name}=[1, 2])"
                )


def matrix_text(asked: OneWorkload) -> str:
    """Return the matrix as TOML; its only path is absolute.

    Raises:
        ModelError: the workload cannot be found or loaded.
    """
    reference = references.absolute(asked.reference, here())
    run = {"name": short_name(reference), "repetitions": asked.repetitions}
    workload = {
        "name": reference,
        "dataset": asked.dataset,
        "events": asked.events,
        "seed": asked.seed,
        "params": asked.params,
        "query": asked.query,
    }
    content = {
        "run": _given(run),
        "workload": [_given(workload)],
        "engine": [_engine(asked, engine) for engine in dict.fromkeys(asked.engines)],
    }
    return tomli_w.dumps(content)


def left_undone(asked: OneWorkload) -> str | None:
    """Return, in words, which numbers of workers are asked for and not run; None: all are run."""
    alone = [name for name in _names(asked) if name in ONE_WORKER]
    if not alone or set(asked.workers) <= {1}:
        return None
    numbers = ", ".join(str(number) for number in dict.fromkeys(asked.workers))
    return (
        f"{' and '.join(alone)} is sequential: it runs with 1 worker, whatever is asked ({numbers})"
    )


def _names(asked: OneWorkload) -> list[str]:
    return list(dict.fromkeys(engine.partition("/")[0] for engine in asked.engines))


def _engine(asked: OneWorkload, engine: str) -> dict[str, Any]:
    name, _, variant = engine.partition("/")
    names = _names(asked)
    options = {}
    for option, value in asked.options.items():
        whose, dot, its = option.partition(".")
        if not dot or whose not in names:
            options[option] = value
        elif whose == name:
            options[its] = value
    return _given(
        {
            "name": name,
            "variants": [variant] if variant else None,
            "workers": [] if name in ONE_WORKER else list(asked.workers),
            "batch": list(asked.batch),
            "options": options,
        }
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _given(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value not in (None, [], {})}
