"""A family of runs as the adapter's table has it: one for each variant of the engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.engines.conditions import BLOCK, MEMORY, Conditions
from streamlab.engines.multicore.run.settings import (
    COMPILED_OPTIONS,
    OPTIONS,
    OwnOptions,
    settings_of,
)
from streamlab.engines.protocol import Prepared, Property, Task, Variant
from streamlab.workloads.model import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A variant: what it runs, its options, how a run is made.

    Attributes:
        name: of the variant.
        summary: in half a sentence.
        models: of the programs that it runs.
        run: makes a run, whose threads wait, of a program of one of the models, its input, the
            settings and the family's own options.
        properties: PIP1 to PIP3.
        unsupported: returns why a task of one of the models cannot run, or None; its options have
            been checked.
        own: the options that other variants do not have.
        compiles: whether it compiles users' functions.
    """

    name: str
    summary: str
    models: tuple[type[Program], ...]
    run: Callable[..., Prepared]
    properties: Mapping[str, Property]
    unsupported: Callable[[Task, Any], str | None] = lambda task, options: None
    own: type[OwnOptions] = OwnOptions
    compiles: bool = True

    def variant(self) -> Variant:
        """Return the variant; one generator (core/run/generator.h) serves them all."""
        return Variant(
            name=self.name,
            summary=self.summary,
            uses_batch=True,
            takes_load=True,
            models=self.models,
            source="generator",
            conditions=Conditions(unit=BLOCK, origin=MEMORY),
        )

    def wrong_options(self, options: Mapping[str, object]) -> str | None:
        """Return what is wrong with options whatever they are used on, or None."""
        known = {**OPTIONS, **(COMPILED_OPTIONS if self.compiles else {}), **self.own.KINDS}
        for option, value in options.items():
            if option not in known:
                return f"variant {self.name} has no option {option!r}; it has {', '.join(known)}"
            if type(value) is not known[option]:
                return f"option {option} takes {known[option].__name__}, got {value!r}"
        return self.own.of(options).wrong()

    def prepare(self, task: Task) -> Prepared:
        """Load a task's input and make the run; see `EngineAdapter.prepare`."""
        program, data = task.workload.program, task.dataset.load()
        return self.run(program, data, settings_of(task), self.own.of(task.options))


def properties(*why: str, holds: bool = True) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3, which hold, or not, for these reasons, by construction."""
    return {f"PIP{i}": Property(holds=holds, why=reason) for i, reason in enumerate(why, 1)}
