"""Interprets pipelines one record at a time, in plain Python; this defines their meaning."""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.pipeline.program import Pipeline, Stage
from streamlab.workloads.model.streams.records import RecordType, record_type

Row = tuple[Any, ...]
Forward = Callable[[Row], None]


class PipelineRun:
    """Runs a pipeline: call `process` with all records in total order."""

    def __init__(self, pipeline: Pipeline, emit: Forward) -> None:
        """Start all operators without state; `emit` takes each record of the last operator, `ts` first."""
        forward = emit
        self._running: list[_Running] = []
        for index in reversed(range(len(pipeline.stages))):
            stage = pipeline.stages[index]
            running = _Running(stage, forward)
            self._running.append(running)
            if index == 0:
                self.process = running.process
            else:
                forward = _chain(pipeline, index, running.process)

    def state(self) -> Any:
        """Return the states of all operators; they can be pickled."""
        return [running.states for running in self._running]

    def restore(self, saved: Any) -> None:
        """Continue from the states of another run of this pipeline."""
        for running, states in zip(self._running, saved, strict=True):
            running.states = states


class _Out:
    """Implements `out` of one operator: stamps outputs with the time of the current record."""

    __slots__ = ("emit", "remaining", "ts")

    def __init__(self, stage: Stage, forward: Forward) -> None:
        self.ts = 0
        self.remaining = 0
        width = len(stage.output.names or ()) - 1

        def emit(*fields: Any) -> None:
            if len(fields) != width:
                raise ProgramError(
                    f"operator {stage.name}: out.emit got {len(fields)} fields {fields}; the "
                    f"output has {(stage.output.names or ())[1:]}"
                )
            self.remaining -= 1
            if self.remaining < 0:
                raise ProgramError(
                    f"operator {stage.name} forwards more than {stage.max_outputs} records for "
                    "one; raise its max_outputs"
                )
            forward((self.ts, *fields))

        self.emit = emit


class _Running:
    """Runs one operator, with its states by key; a stateful operator uses key 0."""

    def __init__(self, stage: Stage, forward: Forward) -> None:
        self._stage = stage
        self._out = _Out(stage, forward)
        self.states: dict[int, Any] = {}
        if stage.state is not None:
            self._record = RecordType(f"state of {stage.name}", stage.state)

    def process(self, t: Any) -> None:
        """Process one record, after all outputs of the last record have been forwarded."""
        stage, out = self._stage, self._out
        out.ts = t.ts
        out.remaining = stage.max_outputs
        if stage.state is None:
            stage.apply(t, out)
        else:
            key = 0 if stage.key is None else int(stage.key(t))
            state = self.states.get(key)
            if state is None:
                state = self.states[key] = self._record.zeroed()
            stage.apply(state, t, out)


def _chain(pipeline: Pipeline, index: int, process: Callable[[Any], None]) -> Forward:
    """Return a function that passes outputs of the operator before to operator `index` as records."""
    fields = pipeline.input_of(index)
    names = fields.names or ()
    make = record_type(names)._make
    types = [fields[name].type for name in names]
    before = pipeline.stages[index - 1].name

    def forward(row: Row) -> None:
        # Values take the width of their field before the next operator reads them.
        values = [fit_output(before, kind, v) for kind, v in zip(types, row[1:], strict=True)]
        process(make((row[0], *values)))

    return forward


def narrow(kind: type[np.generic], value: Any) -> Any:
    """Return a value as a field of type `kind` holds it.

    Raises:
        OverflowError, ValueError, TypeError: The value does not fit.
    """
    # NumPy wraps its own scalars, such as elements of a state's array, but raises for plain numbers.
    convert: Any = kind
    return convert(value.item() if isinstance(value, np.generic) else value).item()


def fit_output(operator: str, kind: type[np.generic], value: Any) -> Any:
    """Return a value as a field of an operator's output holds it.

    Raises:
        ProgramError: The value does not fit.
    """
    try:
        return narrow(kind, value)
    except (OverflowError, ValueError, TypeError) as error:
        raise ProgramError(
            f"operator {operator}: {value!r} does not fit its output's {kind.__name__}: {error}"
        ) from error
