"""Defines the laws that `check` tests on queries of operators O+.

Each law draws an input, runs the query on it with the interpreter, and raises a counterexample if it
does not hold. Engines rely on these laws, because the mapping of keys to instances may change at any time.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from streamlab.workloads.model.code.functions import memo
from streamlab.workloads.model.dgs.laws import BrokenLawError, Law
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.operators.program import FLUSH, Operator, Query
from streamlab.workloads.model.operators.reference import QueryRun
from streamlab.workloads.model.operators.windows import flush_end
from streamlab.workloads.model.streams.records import tuple_type
from streamlab.workloads.model.streams.strategies import tuples

Rows = list[tuple[Any, ...]]

MAX_TUPLES = 10
"""Largest number of tuples of an input."""

MAX_INSTANCES = 4
"""Largest number of instances of an operator."""

_WORD = range(-(1 << 63), 1 << 63)
"""The values of int64."""


def keys_are_pure(query: Query, index: int, draw: Draw) -> None:
    """Keys: f_MK of an operator depends on the tuple alone, and returns integers of 64 bits.

    Every instance calls it, any number of times.
    """
    operator = query.operators[index]
    tuples = _tuples_of(query, index, draw)
    calls = [*range(len(tuples)), *reversed(range(len(tuples)))]
    first_keys: dict[int, list[Any]] = {}
    for place in calls:
        added: list[Any] = []
        operator.keys(tuples[place], _Keys(added))
        wrong = [key for key in added if not isinstance(key, int) or key not in _WORD]
        if wrong:
            lines = [_words(query, index, tuples[place]), f"keys: {added}"]
            raise BrokenLawError("a key is not an integer of 64 bits", tuple(lines))
        first = first_keys.setdefault(place, added)
        collection = Counter if operator.bag else set
        if collection(first) != collection(added):
            lines = [
                *(_words(query, index, t) for t in tuples),
                f"keys of {_words(query, index, tuples[place])}",
                f"  first: {first}",
                f"  again: {added}",
            ]
            raise BrokenLawError("the keys of a tuple change from call to call", tuple(lines))


def outputs_are_declared(query: Query, draw: Draw) -> None:
    """Emits: update emits only with `emits_on_update`, and no call emits more than `max_outputs`.

    Engines allocate room for the declared outputs only.
    """
    counted = replace(query, operators=tuple(_counting(operator) for operator in query.operators))
    _run(counted, draw(_histories(query)))


def instances_do_not_matter(query: Query, draw: Draw) -> None:
    """Split: several instances give the answer of one instance, for any assignment of buckets.

    Outputs of equal time may come in any order, so the next operator must not depend on that order.
    """
    history = draw(_histories(query))
    instances: int = draw(st.integers(2, MAX_INSTANCES))
    seed: int = draw(st.integers(0, 2**16))
    alone = _run(query, history)

    def owner(bucket: int) -> int:
        return (bucket * 0x9E3779B1 + seed) // 7 % instances

    together = _run(query, history, instances=instances, owner=owner)
    if Counter(alone) != Counter(together):
        lines = [
            *history.words(query),
            f"one instance: {alone}",
            f"{instances} instances: {together}",
        ]
        raise BrokenLawError(
            "the answer depends on how keys are split over instances", tuple(lines)
        )


def runs_repeat(query: Query, draw: Draw) -> None:
    """Repeat: the same input gives the same answer, so functions keep nothing outside the windows."""
    history = draw(_histories(query))
    first, second = _run(query, history), _run(query, history)
    if first != second:
        lines = [*history.words(query), f"first: {first}", f"again: {second}"]
        raise BrokenLawError("a second run gives another answer", tuple(lines))


def outputs_are_sorted(query: Query, draw: Draw) -> None:
    """Sorted: outputs leave in order of time, so that each output is a watermark."""
    history = draw(_histories(query))
    rows = _run(query, history)
    for before, after in pairwise(rows):
        if after[0] < before[0]:
            lines = [*history.words(query), f"output {after} after {before}"]
            raise BrokenLawError("an output is timed before an earlier one", tuple(lines))


def flush_closes_windows(query: Query, draw: Draw) -> None:
    """Flush: the end adds the open windows to the answer, operator by operator, and nothing else.

    Engines advance the watermark of all operators to one time (`flush_end`). The answer is the same as if
    the windows of one operator after the other were closed. The exception is a single window that keeps
    its state before another operator, because its windows continue after the last tuple.
    """
    tuples = draw(_histories(query)).tuples
    if not tuples:
        return
    until_ts = flush_end(query, [tuples[-1].ts])
    dropped, whole = _run(query, _History(tuples, None)), _run(query, _History(tuples, until_ts))
    rows, read, end_ts = Rows(), tuples, tuples[-1].ts
    for index, operator in enumerate(query.operators):
        if index:
            make = tuple_type(operator.fields.names or ())._make
            read = [make((row[0], 0, *row[1:])) for row in rows]
        end_ts += operator.window.size
        rows = _run(replace(query, operators=(operator,)), _History(read, end_ts + 1))
    lines = [*_History(tuples, None).words(query), f"flushed: {whole}"]
    if whole[: len(dropped)] != dropped:
        raise BrokenLawError("a flush changes earlier outputs", (*lines, f"dropped: {dropped}"))
    if Counter(whole) != Counter(rows):
        raise BrokenLawError(
            "windows of an operator go on after the last tuple: its slide keeps the state of a single "
            "window, and another operator follows; let slide empty the state, or do not flush",
            (*lines, f"operator by operator: {rows}"),
        )


def laws_of(query: Query) -> list[Law]:
    """Return the laws of the operators, then the laws of the query."""
    at_end = [("flush", query.name, partial(flush_closes_windows, query))]
    return [
        *(
            ("keys", operator.name, partial(keys_are_pure, query, index))
            for index, operator in enumerate(query.operators)
        ),
        ("emits", query.name, partial(outputs_are_declared, query)),
        ("repeat", query.name, partial(runs_repeat, query)),
        ("split", query.name, partial(instances_do_not_matter, query)),
        ("sorted", query.name, partial(outputs_are_sorted, query)),
        *(at_end if query.at_end == FLUSH else []),
    ]


@dataclass(frozen=True, slots=True)
class _History:
    """Holds tuples in order of time, and the time at which the input is cut, if any."""

    tuples: list[Any]
    until_ts: int | None

    def words(self, query: Query) -> list[str]:
        """Return the tuples in words, one to a line."""
        lines = [_words(query, 0, t) for t in self.tuples]
        return lines if self.until_ts is None else [*lines, f"until {self.until_ts}"]


@memo(64)
def _histories(query: Query) -> st.SearchStrategy[_History]:
    """Return a strategy for inputs; half of them end late enough to expire all windows."""
    after = 1 + query.reach
    cut = st.sampled_from([None, after])

    def history(drawn: list[Any], cut: int | None) -> _History:
        until_ts = None if cut is None or not drawn else drawn[-1].ts + cut
        return _History(drawn, until_ts)

    return st.builds(history, tuples(query, max_size=MAX_TUPLES), cut)


def _run(query: Query, history: _History, **options: Any) -> Rows:
    rows: Rows = []
    run = QueryRun(query, rows.append, **options)
    for t in history.tuples:
        run.process(t)
    run.finish(history.until_ts)
    return rows


def _tuples_of(query: Query, index: int, draw: Draw) -> list[Any]:
    """Return the input tuples of operator `index`, which the operators before it forward."""
    history = draw(_histories(query))
    if index == 0:
        return list(history.tuples)
    before = replace(query, operators=query.operators[:index])
    make = tuple_type(query.operators[index].fields.names or ())._make
    return [make((row[0], 0, *row[1:])) for row in _run(before, history)]


def _words(query: Query, index: int, t: Any) -> str:
    """Return a tuple in words, e.g. `tweet(ts=3, user=1, words=(2, 2))`."""
    fields = [f"{name}={getattr(t, name)}" for name in t._fields if name != "input"]
    return f"{query.operators[index].inputs[t.input].name}({', '.join(fields)})"


class _Keys:
    """Implements `out` of f_MK: collects the added keys unchanged."""

    def __init__(self, added: list[Any]) -> None:
        self.add = added.append


class _Counter:
    """Implements `out` for one call of a program's function: raises beyond the declared records."""

    def __init__(self, operator: Operator, function: str, out: Any) -> None:
        self._operator = operator
        self._function = function
        self._out = out
        self._count = 0

    def emit(self, *fields: Any) -> None:
        """Pass on a record, or raise ProgramError."""
        self._count += 1
        max_records = self._operator.max_outputs
        if self._count > max_records:
            raise ProgramError(
                f"operator {self._operator.name}: {self._function} emits more than {max_records} records; "
                "raise max_outputs"
            )
        self._out.emit(*fields)


def _counting(operator: Operator) -> Operator:
    """Return the operator with functions that count their outputs."""

    def counting_function(
        function: Callable[..., None] | None, name: str
    ) -> Callable[..., None] | None:
        if function is None:
            return None
        return lambda *args: function(*args[:-1], _Counter(operator, name, args[-1]))

    join = operator.join
    if join is not None:
        emit = join.emit
        counting_join = replace(
            join,
            emit=lambda first, second, out: emit(first, second, _Counter(operator, "emit", out)),
        )
        return replace(operator, join=counting_join)
    return replace(
        operator,
        update=counting_function(operator.update, "update"),
        expire=counting_function(operator.expire, "expire"),
    )
