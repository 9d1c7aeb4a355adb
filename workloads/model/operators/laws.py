"""The laws that `check` tests on queries of operators O+, each as a function that raises.

Each draws an input, runs the query on it by the interpreter, and raises a counterexample when the
law does not hold. Engines rest on them: a mapping of keys to instances may change at any time.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from streamlab.workloads.model.code.memo import memo
from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.operators.program import Join, Operator, Query
from streamlab.workloads.model.operators.reference import QueryRun
from streamlab.workloads.model.streams.records import tuple_type
from streamlab.workloads.model.streams.strategies import tuples

Rows = list[tuple[Any, ...]]

MAX_TUPLES = 10
"""Most tuples of an input."""

MAX_INSTANCES = 4

_WORD = range(-(1 << 63), 1 << 63)


def keys_are_pure(query: Query, index: int, draw: Draw) -> None:
    """Keys: f_MK of an operator depends on the tuple alone, and gives integers of 64 bits.

    Instances call it each for themselves, and as often as they like.
    """
    operator = query.operators[index]
    tuples = _tuples_of(query, index, draw)
    calls = [*range(len(tuples)), *reversed(range(len(tuples)))]
    found: dict[int, list[Any]] = {}
    for place in calls:
        added: list[Any] = []
        operator.keys(tuples[place], _Keys(added))
        wrong = [key for key in added if not isinstance(key, int) or key not in _WORD]
        if wrong:
            lines = [_words(query, index, tuples[place]), f"keys: {added}"]
            raise BrokenLawError("a key is not an integer of 64 bits", tuple(lines))
        first = found.setdefault(place, added)
        same = Counter if operator.bag else set
        if same(first) != same(added):
            lines = [
                *(_words(query, index, t) for t in tuples),
                f"keys of {_words(query, index, tuples[place])}",
                f"  first: {first}",
                f"  again: {added}",
            ]
            raise BrokenLawError("the keys of a tuple change from call to call", tuple(lines))


def outputs_are_declared(query: Query, draw: Draw) -> None:
    """Emits: update emits only with `emits_on_update`, and no call more than `max_outputs`.

    Engines leave out what nothing is said to need: room for outputs, or outputs of update at all.
    """
    counted = replace(query, operators=tuple(_counting(operator) for operator in query.operators))
    _run(counted, draw(_histories(query)))


def instances_do_not_matter(query: Query, draw: Draw) -> None:
    """Split: several instances that share the keys answer as one, whoever owns which bucket.

    Outputs of one time may come in any order, so a following operator must not mind either.
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
    """Repeat: the same input gives the same answer; functions keep nothing outside the windows."""
    history = draw(_histories(query))
    first, second = _run(query, history), _run(query, history)
    if first != second:
        lines = [*history.words(query), f"first: {first}", f"again: {second}"]
        raise BrokenLawError("a second run gives another answer", tuple(lines))


def outputs_are_sorted(query: Query, draw: Draw) -> None:
    """Sorted: outputs leave in the order of their time, so that they are their own watermarks."""
    history = draw(_histories(query))
    rows = _run(query, history)
    for before, after in pairwise(rows):
        if after[0] < before[0]:
            lines = [*history.words(query), f"output {after} after {before}"]
            raise BrokenLawError("an output is timed before an earlier one", tuple(lines))


@dataclass(frozen=True, slots=True)
class _History:
    """Tuples in order of time, and where the input is cut off, if it is."""

    tuples: list[Any]
    until_ts: int | None

    def words(self, query: Query) -> list[str]:
        """Return the tuples in words, one to a line."""
        lines = [_words(query, 0, t) for t in self.tuples]
        return lines if self.until_ts is None else [*lines, f"until {self.until_ts}"]


@memo(64)
def _histories(query: Query) -> st.SearchStrategy[_History]:
    """Return a strategy for inputs; half of them end long enough after the last tuple."""
    after = 1 + sum(operator.window.size for operator in query.operators)
    cut = st.sampled_from([None, after])

    def history(drawn: list[Any], cut: int | None) -> _History:
        until_ts = None if cut is None or not drawn else drawn[-1].ts + cut
        return _History(drawn, until_ts)

    return st.builds(history, tuples(query, max_size=MAX_TUPLES), cut)


def _run(query: Query, history: _History, **how: Any) -> Rows:
    rows: Rows = []
    run = QueryRun(query, rows.append, **how)
    for t in history.tuples:
        run.process(t)
    run.finish(history.until_ts)
    return rows


def _tuples_of(query: Query, index: int, draw: Draw) -> list[Any]:
    """Return tuples as operator `index` sees them: what the operators before it forward."""
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
    """`out` of f_MK that keeps what was added, as it was."""

    def __init__(self, added: list[Any]) -> None:
        self.add = added.append


class _Counted:
    """`out` of one call of a program's function; refuses more records than were declared."""

    def __init__(self, operator: Operator, function: str, out: Any) -> None:
        self._operator = operator
        self._function = function
        self._out = out
        self._count = 0

    def emit(self, *fields: Any) -> None:
        """Pass a record on."""
        self._count += 1
        most = self._operator.max_outputs
        if self._count > most:
            raise ProgramError(
                f"operator {self._operator.name}: {self._function} emits more than {most} records; "
                "raise max_outputs"
            )
        self._out.emit(*fields)


def _counting(operator: Operator) -> Operator:
    """Return the operator with its functions counting what they emit."""

    def wrapped(function: Callable[..., None] | None, name: str) -> Callable[..., None] | None:
        if function is None:
            return None
        return lambda *args: function(*args[:-1], _Counted(operator, name, args[-1]))

    made_by = operator.join
    if made_by is not None:
        emit = made_by.emit
        counted = Join(
            match=made_by.match,
            emit=lambda first, second, out: emit(first, second, _Counted(operator, "emit", out)),
            keys=made_by.keys,
        )
        return replace(operator, join=counted)
    return replace(
        operator,
        update=wrapped(operator.update, "update"),
        expire=wrapped(operator.expire, "expire"),
    )
