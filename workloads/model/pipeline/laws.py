"""Defines the laws that `check` tests on ordered pipelines.

Each law draws an input, runs an operator or the whole pipeline on it with the interpreter, and raises a
counterexample if it does not hold. Engines rely on these laws: they run stateless operators on several
records at once in any order, and partitioned operators on several keys at once.
"""

from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.workloads.model.dgs.laws import BrokenLawError, Law
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATELESS, Pipeline, Stage
from streamlab.workloads.model.pipeline.reference import PipelineRun, fit_output, narrow
from streamlab.workloads.model.streams.records import record_type
from streamlab.workloads.model.streams.strategies import records

Row = tuple[Any, ...]

MAX_RECORDS = 12
"""Largest number of records of an input."""

_WORD = range(-(1 << 63), 1 << 63)


def keys_are_pure(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Keys: the key of a record depends on the record alone, and is an integer of 64 bits.

    Engines compute the key several times: to group records, and to find the state.
    """
    key = pipeline.stages[index].key
    assert key is not None, "only partitioned operators have keys"
    data = _records_of(pipeline, index, draw)
    first_keys: dict[int, Any] = {}
    for place in [*range(len(data)), *reversed(range(len(data)))]:
        value = key(data[place])
        if not isinstance(value, int | np.integer) or int(value) not in _WORD:
            wrong = (_words(pipeline, index, data[place]), f"key: {value!r}")
            raise BrokenLawError("a key is not an integer of 64 bits", wrong)
        if first_keys.setdefault(place, value) != value:
            lines = (
                *(_words(pipeline, index, t) for t in data),
                f"key of {_words(pipeline, index, data[place])}",
                f"  first: {first_keys[place]}",
                f"  again: {value}",
            )
            raise BrokenLawError("the key of a record changes from call to call", lines)


def outputs_are_declared(pipeline: Pipeline, draw: Draw) -> None:
    """Emits: no call forwards more than `max_outputs` records, and all fit the output's types.

    Engines allocate columns of the output's types for that many records.
    """
    output = pipeline.output
    types = [output[name].type for name in output.names or ()]
    last = pipeline.stages[-1].name
    for row in _run(pipeline, draw(records(pipeline, max_size=MAX_RECORDS))):
        for kind, value in zip(types, row, strict=True):
            fit_output(last, kind, value)


def runs_repeat(pipeline: Pipeline, draw: Draw) -> None:
    """Repeat: the same input gives the same answer, so functions keep nothing outside the states."""
    data = draw(records(pipeline, max_size=MAX_RECORDS))
    first, again = _run(pipeline, data), _run(pipeline, data)
    if first != again:
        lines = [_words(pipeline, 0, t) for t in data]
        lines += [f"first: {first}", f"again: {again}"]
        raise BrokenLawError("a second run gives another answer", tuple(lines))


def order_does_not_matter(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Order: the output of a stateless operator for a record does not depend on earlier records."""
    data = _records_of(pipeline, index, draw)
    order: list[int] = draw(st.permutations(range(len(data))))
    law = "the output for a record depends on the records before it"
    _require_equal_outputs(pipeline, index, data, order, law)


def keys_are_apart(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Apart: the output of a partitioned operator for a key depends on records of that key only.

    Runs each key alone in a fresh operator; the outputs must equal the outputs of all keys together.
    """
    stage = pipeline.stages[index]
    assert stage.key is not None, "only partitioned operators have keys"
    data = _records_of(pipeline, index, draw)
    alone = _single_operator(pipeline, index)
    together = _by_record(alone, data)
    indices: dict[int, list[int]] = defaultdict(list)
    for place, t in enumerate(data):
        indices[int(stage.key(t))].append(place)
    for key in draw(st.permutations(sorted(indices))):
        separate = _by_record(alone, [data[place] for place in indices[key]])
        for place, rows in zip(indices[key], separate, strict=True):
            if rows != together[place]:
                lines = [
                    *(_words(pipeline, index, t) for t in data),
                    f"for {_words(pipeline, index, data[place])} of key {key}",
                    f"  among all keys: {together[place]}",
                    f"  key {key} by itself: {rows}",
                ]
                raise BrokenLawError("a key's answer depends on other keys", tuple(lines))


def ties_commute(pipeline: Pipeline, index: int, draw: Draw) -> None:
    """Ties: with `ties_commute`, outputs do not depend on the order of records of equal time.

    Engines may then process such records in any order.
    """
    data = sorted(_records_of(pipeline, index, draw), key=lambda t: int(t.ts))
    order: list[int] = draw(st.permutations(range(len(data))))
    order.sort(key=lambda place: data[place].ts)  # stable: ties keep their drawn order
    law = "the output for a record depends on the order of ties"
    _require_equal_outputs(pipeline, index, data, order, law)


def laws_of(pipeline: Pipeline) -> list[Law]:
    """Return the laws of the operators, then the laws of the pipeline."""
    laws: list[Law] = []
    for index, stage in enumerate(pipeline.stages):
        if stage.kind == PARTITIONED:
            laws.append(("keys", stage.name, partial(keys_are_pure, pipeline, index)))
            laws.append(("apart", stage.name, partial(keys_are_apart, pipeline, index)))
            if stage.ties_commute:
                laws.append(("ties", stage.name, partial(ties_commute, pipeline, index)))
        elif stage.kind == STATELESS:
            laws.append(("order", stage.name, partial(order_does_not_matter, pipeline, index)))
    laws.append(("emits", pipeline.name, partial(outputs_are_declared, pipeline)))
    laws.append(("repeat", pipeline.name, partial(runs_repeat, pipeline)))
    return laws


def _require_equal_outputs(
    pipeline: Pipeline, index: int, data: list[Any], order: list[int], law: str
) -> None:
    """Raise BrokenLawError if an operator's output for a record differs in another order."""
    alone = _single_operator(pipeline, index)
    straight = _by_record(alone, data)
    mixed = _by_record(alone, [data[place] for place in order])
    for turn, place in enumerate(order):
        if mixed[turn] != straight[place]:
            lines = (
                *(_words(pipeline, index, t) for t in data),
                f"for {_words(pipeline, index, data[place])}",
                f"  in order: {straight[place]}",
                f"  in the order {order}: {mixed[turn]}",
            )
            raise BrokenLawError(law, lines)


def _run(pipeline: Pipeline, data: list[Any]) -> list[Row]:
    rows: list[Row] = []
    run = PipelineRun(pipeline, rows.append)
    for t in data:
        run.process(t)
    return rows


def _by_record(alone: Pipeline, data: list[Any]) -> list[list[Row]]:
    """Return the output of a fresh pipeline for each record."""
    rows: list[Row] = []
    run = PipelineRun(alone, rows.append)
    outputs = []
    for t in data:
        run.process(t)
        outputs.append(list(rows))
        rows.clear()
    return outputs


def _single_operator(pipeline: Pipeline, index: int) -> Pipeline:
    """Return a pipeline with a single operator."""
    stage: Stage = pipeline.stages[index]
    event = pipeline.input_of(index)
    return Pipeline(
        name=stage.name, record=_record_name(pipeline, index), event=event, stages=(stage,)
    )


def _records_of(pipeline: Pipeline, index: int, draw: Draw) -> list[Any]:
    """Return the input records of operator `index`, which the operators before it forward."""
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
        make([narrow(kind, value) for kind, value in zip(types, row, strict=True)])
        for row in _run(before, drawn)
    ]


def _record_name(pipeline: Pipeline, index: int) -> str:
    return pipeline.record if index == 0 else f"from {pipeline.stages[index - 1].name}"


def _words(pipeline: Pipeline, index: int, t: Any) -> str:
    """Return a record in words, e.g. `report(ts=3, vid=1, speed=2)`."""
    fields = ", ".join(f"{name}={getattr(t, name)}" for name in t._fields)
    return f"{_record_name(pipeline, index)}({fields})"
