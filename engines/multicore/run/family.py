"""Defines `Family`: the record by which the adapter offers and prepares one variant."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.engines.conditions import BLOCK, MEMORY, Conditions
from streamlab.engines.multicore.run.settings import (
    COMPILED_OPTIONS,
    OPTIONS,
    VariantOptions,
    settings_of,
)
from streamlab.engines.protocol import Prepared, Property, Task, Variant
from streamlab.workloads.model import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Describes a variant: its models, its options and how to create a run.

    Attributes:
        name: name of the variant.
        summary: description in half a sentence.
        models: program types that the variant runs.
        run: creates a run with waiting threads, from a program, its input, the `RunSettings` and
            the variant's own options.
        properties: whether PIP1 to PIP3 hold, with reasons.
        unsupported: returns why a task with valid options cannot run, or None.
        options_type: type of the options that other variants do not have.
        compiles: whether the variant compiles users' functions.
    """

    name: str
    summary: str
    models: tuple[type[Program], ...]
    run: Callable[..., Prepared]
    properties: Mapping[str, Property]
    unsupported: Callable[[Task, Any], str | None] = lambda task, options: None
    options_type: type[VariantOptions] = VariantOptions
    compiles: bool = True

    def variant(self) -> Variant:
        """Return the variant for the lab; all variants share one generator (core/run/generator.h)."""
        return Variant(
            name=self.name,
            summary=self.summary,
            uses_batch=True,
            takes_load=True,
            models=self.models,
            source="generator",
            conditions=Conditions(unit=BLOCK, origin=MEMORY),
            colour=0,
        )

    def wrong_options(self, options: Mapping[str, object]) -> str | None:
        """Return why options are invalid for any task of the variant, or None."""
        types = {
            **OPTIONS,
            **(COMPILED_OPTIONS if self.compiles else {}),
            **self.options_type.kinds(),
        }
        for option, value in options.items():
            if option not in types:
                return f"variant {self.name} has no option {option!r}; it has {', '.join(types)}"
            if type(value) is not types[option]:
                return f"option {option} takes {types[option].__name__}, got {value!r}"
        return self.options_type.from_task(options).check()

    def prepare(self, task: Task) -> Prepared:
        """Load a task's input and create the run; see `Engine.prepare`."""
        program, data = task.workload.program, task.dataset.load()
        return self.run(program, data, settings_of(task), self.options_type.from_task(task.options))


def properties(*why: str, holds: bool = True) -> Mapping[str, Property]:
    """Return PIP1, PIP2 and PIP3 with one reason each for why they hold, or do not."""
    return {f"PIP{i}": Property(holds=holds, why=reason) for i, reason in enumerate(why, 1)}
