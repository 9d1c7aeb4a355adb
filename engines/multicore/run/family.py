"""Defines `Family`, the record from which the adapter offers and prepares a variant."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlab.engines.conditions import BLOCK, MEMORY, Conditions
from streamlab.engines.multicore.run import broker_run
from streamlab.engines.multicore.run.core_run import CoreRun
from streamlab.engines.multicore.run.settings import CommonOptions
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Prepared, Property, Task, Variant
from streamlab.workloads.model import Program, fields_read


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Describes a variant: its models, its options and how to create a run.

    Attributes:
        name: name of the variant.
        summary: description in half a sentence, for users.
        label: the engine's name in tables and charts.
        models: program types that the variant runs.
        run: creates a run with waiting threads, from a program, its input, the `RunSettings` and
            the variant's options.
        properties: whether PIP1 to PIP3 hold, with reasons.
        unsupported: returns why a task with valid options cannot run, or None.
        options: type of the variant's options.
        stamps_arrivals: see `Variant`.
    """

    name: str
    summary: str
    label: str
    models: tuple[type[Program], ...]
    run: Callable[..., CoreRun]
    properties: Mapping[str, Property]
    options: type[CommonOptions]
    stamps_arrivals: bool = False
    unsupported: Callable[[Task, Any], str | None] = lambda task, options: None

    def variant(self) -> Variant:
        """Return the variant for the lab; all variants share one generator (core/run/generator.h)."""
        return Variant(
            name=self.name,
            summary=self.summary,
            label=self.label,
            uses_batch=True,
            takes_load=True,
            stamps_arrivals=self.stamps_arrivals,
            models=self.models,
            source="generator",
            conditions=Conditions(unit=BLOCK, origin=MEMORY),
            options=self.options,
            colour=0,
        )

    def prepare(self, task: Task) -> Prepared:
        """Load a task's input and create the run; see `Engine.prepare`."""
        options = options_of(task, self.options).resolve(task.scratch)
        if options.broker:
            return broker_run.BrokerRun(task, options, self.run)
        program = task.workload.program
        data = task.dataset.load(fields_read(program))
        return self.run(program, data, options.settings(task), options)


def properties(*reasons: str, holds: bool = True) -> Mapping[str, Property]:
    """Return the platform-independence properties PIP1 to PIP3, each with the reason why it holds or does not."""
    return {f"PIP{i}": Property(holds=holds, why=reason) for i, reason in enumerate(reasons, 1)}
