"""The laws that `check` tests on ordered pipelines, each as a function that raises.

Each draws an input, runs an operator or the whole pipeline on it by the interpreter, and raises a
counterexample when the law does not hold. Engines rest on them: they run stateless operators for
several records at once and in any order, and partitioned ones for several keys at once.
"""

from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.pipeline.program import Pipeline, Stage
from streamlab.workloads.model.pipeline.reference import PipelineRun, narrowed
from streamlab.workloads.model.streams.records import record_type
from streamlab.workloads.model.streams.strategies import records

Row = tuple[Any, ...]

MAX_RECORDS = 12
"""Most records of an input."""

_WORD = range(-(1 << 63), 1 << 63)


def keys_are_pure(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Keys: the key of a record depends on the record alone, and is an integer of 64 bits.

    Whoever groups records asks for the key, and whoever has the state asks for it again.
    """
    key = pipeline.stages[index].key
    assert key is not None, "only partitioned operators have keys"
    seen = _records_of(pipeline, index, draw)
    found: dict[int, Any] = {}
    for place in [*range(len(seen)), *reversed(range(len(seen)))]:
        made = key(seen[place])
        if not isinstance(made, int | np.integer) or int(made) not in _WORD:
            wrong = (_words(pipeline, index, seen[place]), f"key: {made!r}")
            raise BrokenLawError("a key is not an integer of 64 bits", wrong)
        if found.setdefault(place, made) != made:
            lines = (
                *(_words(pipeline, index, t) for t in seen),
                f"key of {_words(pipeline, index, seen[place])}",
                f"  first: {found[place]}",
                f"  again: {made}",
            )
            raise BrokenLawError("the key of a record changes from call to call", lines)


def outputs_are_declared(pipeline: Pipeline, draw: Draw) -> None:
    """Emits: no call forwards more than `max_outputs`, and what it forwards fits the output.

    Engines keep room for so many records, in columns of the output's types.
    """
    output = pipeline.output
    types = [output[name].type for name in output.names or ()]
    last = pipeline.stages[-1].name
    for row in _run(pipeline, draw(records(pipeline, max_size=MAX_RECORDS))):
        for of, value in zip(types, row, strict=True):
            try:
                narrowed(of, value)
            except (OverflowError, ValueError, TypeError) as error:
                raise ProgramError(
                    f"operator {last}: {value!r} does not fit its output's {of.__name__}: {error}"
                ) from error


def runs_repeat(pipeline: Pipeline, draw: Draw) -> None:
    """Repeat: the same input gives the same answer; functions keep nothing outside the states."""
    data = draw(records(pipeline, max_size=MAX_RECORDS))
    first, again = _run(pipeline, data), _run(pipeline, data)
    if first != again:
        lines = [_words(pipeline, 0, t) for t in data]
        lines += [f"first: {first}", f"again: {again}"]
        raise BrokenLawError("a second run gives another answer", tuple(lines))


def order_does_not_matter(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Order: a stateless operator forwards the same for a record whatever it did before."""
    seen = _records_of(pipeline, index, draw)
    order: list[int] = draw(st.permutations(range(len(seen))))
    alone = _alone(pipeline, index)
    straight = _by_record(alone, seen)
    mixed = _by_record(alone, [seen[place] for place in order])
    for turn, place in enumerate(order):
        if mixed[turn] != straight[place]:
            lines = [
                *(_words(pipeline, index, t) for t in seen),
                f"for {_words(pipeline, index, seen[place])}",
                f"  in order: {straight[place]}",
                f"  in the order {order}: {mixed[turn]}",
            ]
            raise BrokenLawError(
                "what is forwarded for a record depends on the records before it", tuple(lines)
            )


def keys_are_apart(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Apart: a partitioned operator forwards what the records of its own key say.

    Each key is run by itself, in a fresh operator; put together in the order of the records, that
    must be the sequence of all keys at once.
    """
    stage = pipeline.stages[index]
    assert stage.key is not None, "only partitioned operators have keys"
    seen = _records_of(pipeline, index, draw)
    alone = _alone(pipeline, index)
    together = _by_record(alone, seen)
    places: dict[int, list[int]] = defaultdict(list)
    for place, t in enumerate(seen):
        places[int(stage.key(t))].append(place)
    for key in draw(st.permutations(sorted(places))):
        own = _by_record(alone, [seen[place] for place in places[key]])
        for place, rows in zip(places[key], own, strict=True):
            if rows != together[place]:
                lines = [
                    *(_words(pipeline, index, t) for t in seen),
                    f"for {_words(pipeline, index, seen[place])} of key {key}",
                    f"  among all keys: {together[place]}",
                    f"  key {key} by itself: {rows}",
                ]
                raise BrokenLawError("a key's answer depends on other keys", tuple(lines))


def ties_commute(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Ties: an operator that says so forwards the same whatever the order of one time's records.

    Engines then give it records of one time in an order of theirs.
    """
    seen = sorted(_records_of(pipeline, index, draw), key=lambda t: int(t.ts))
    order: list[int] = draw(st.permutations(range(len(seen))))
    order.sort(key=lambda place: seen[place].ts)  # stable: ties stay as they were drawn
    alone = _alone(pipeline, index)
    straight = _by_record(alone, seen)
    mixed = _by_record(alone, [seen[place] for place in order])
    for turn, place in enumerate(order):
        if mixed[turn] != straight[place]:
            lines = [
                *(_words(pipeline, index, t) for t in seen),
                f"for {_words(pipeline, index, seen[place])}",
                f"  in order: {straight[place]}",
                f"  in the order {order}: {mixed[turn]}",
            ]
            raise BrokenLawError(
                "what is forwarded for a record depends on the order of ties", tuple(lines)
            )


def _run(pipeline: Pipeline, data: list[Any]) -> list[Row]:
    rows: list[Row] = []
    run = PipelineRun(pipeline, rows.append)
    for t in data:
        run.process(t)
    return rows


def _by_record(alone: Pipeline, data: list[Any]) -> list[list[Row]]:
    """Return what a fresh pipeline forwards for each record."""
    rows: list[Row] = []
    run = PipelineRun(alone, rows.append)
    found = []
    for t in data:
        run.process(t)
        found.append(list(rows))
        rows.clear()
    return found


def _alone(pipeline: Pipeline, index: int) -> Pipeline:
    """Return the pipeline of one operator alone."""
    stage: Stage = pipeline.stages[index]
    event = pipeline.input_of(index)
    return Pipeline(name=stage.name, record=_name(pipeline, index), event=event, stages=(stage,))


def _records_of(pipeline: Pipeline, index: int, draw: Draw) -> list[Any]:
    """Return records as operator `index` sees them: what the operators before it forward."""
    drawn: list[Any] = draw(records(pipeline, max_size=MAX_RECORDS))
    if index == 0:
        return drawn
    before = Pipeline(
        name=pipeline.name,
        record=pipeline.record,
        event=pipeline.event,
        stages=pipeline.stages[:index],
    )
    event = pipeline.input_of(index)
    names = event.names or ()
    types: list[type[np.generic]] = [np.int64, *(event[name].type for name in names)]
    make = record_type(names)._make
    return [
        make([narrowed(of, value) for of, value in zip(types, row, strict=True)])
        for row in _run(before, drawn)
    ]


def _name(pipeline: Pipeline, index: int) -> str:
    return pipeline.record if index == 0 else f"from {pipeline.stages[index - 1].name}"


def _words(pipeline: Pipeline, index: int, t: Any) -> str:
    """Return a record in words, e.g. `report(ts=3, vid=1, speed=2)`."""
    fields = ", ".join(f"{name}={getattr(t, name)}" for name in t._fields)
    return f"{_name(pipeline, index)}({fields})"
