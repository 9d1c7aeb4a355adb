"""Runs one instance of an operator O+: Algorithm 2 of STRETCH, in plain Python.

An instance takes all tuples in total order, processes the keys that it owns, and passes its output
records to a function. Outputs of equal time may come in any order; here windows expire in the order of
their start, and keys in the order of their first tuple. For f_MK, f_U, f_O, f_S, WA, WS and WT, see `program`.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.operators.program import SINGLE, Join, Operator, keep
from streamlab.workloads.model.operators.windows import (
    earliest_left,
    is_empty,
    latest_left,
    purge,
    window_maker,
)

Row = tuple[Any, ...]
Forward = Callable[[Row], None]
Owns = Callable[[int], bool]
"""Returns whether the instance owns a key."""


class Instance(Protocol):
    """Processes tuples and watermarks of one operator.

    Its state between two calls can be pickled, if the tuples can. A new instance of the same operator and
    keys can continue from it.
    """

    def advance(self, watermark: int) -> None:
        """Expire all window instances with l + WS <= watermark; ignore a lower watermark than before."""

    def process(self, t: Any) -> None:
        """Advance to the tuple's time, then update the window instances that contain it."""

    def state(self) -> Any:
        """Return the state."""

    def restore(self, saved: Any) -> None:
        """Continue from the state of another instance."""


def instance(
    operator: Operator, forward: Forward, owns: Owns | None = None, *, direct: bool = True
) -> Instance:
    """Return a new instance that owns the keys for which `owns` is true; None means all keys.

    It passes records to `forward`. With `direct`, a `join` is one loop over the opposite window. Otherwise the
    instance runs the f_U of Operator 10 as written, once for each share, which is slow but gives the same answer.
    """
    if operator.join is not None and direct:
        kind = _KeyedJoinInstance if operator.join.keyed else _JoinInstance
        return kind(operator, operator.join, forward, owns)
    if operator.window.type == SINGLE:
        return _SingleInstance(operator, forward, owns)
    return _MultiInstance(operator, forward, owns)


class _WindowOutput:
    """Implements `out` of f_U and f_O: stamps records with the right boundary of the window.

    Attributes:
        right: The boundary; set before each call of a program's function.
        emit: The function that programs call.
    """

    __slots__ = ("emit", "right")

    def __init__(self, operator: Operator, forward: Forward) -> None:
        self.right = 0
        names = (operator.output.names or ())[1:]
        width = len(names)

        def emit(*fields: Any) -> None:
            if len(fields) != width:
                raise ProgramError(
                    f"operator {operator.name}: out.emit got {len(fields)} fields {fields}; "
                    f"the output has {names} after ts"
                )
            forward((self.right, *fields))

        self.emit = emit


class _Silent:
    """Implements `out` of an f_U without `emits_on_update`: `emit` raises."""

    __slots__ = ("_name", "right")

    def __init__(self, name: str) -> None:
        self._name = name
        self.right = 0

    def emit(self, *fields: Any) -> None:
        raise ProgramError(
            f"operator {self._name}: update emits {fields}, but emits_on_update is not set; "
            "set it, or emit in expire"
        )


class _KeySelector:
    """Calls f_MK and returns its keys as a set or a bag, without the keys of other instances."""

    __slots__ = ("_added", "_bag", "_keys", "_owns", "add")

    def __init__(self, operator: Operator, owns: Owns | None) -> None:
        self._keys = operator.keys
        self._bag = operator.bag
        self._owns = owns
        self._added: list[int] = []
        self.add = self._added.append

    def select(self, t: Any) -> Iterable[int]:
        """Return the keys of a tuple in the order of their addition; without duplicates, unless a bag."""
        self._added.clear()
        self._keys(t, self)
        keys: Iterable[int] = self._added if self._bag else dict.fromkeys(self._added)
        if self._owns is None:
            return keys
        return [key for key in keys if self._owns(key)]


def store(w: Any, t: Any, out: Any) -> None:
    """Store the tuple with its sender: the default f_U."""
    w[t.input].tuples.append(t)


class _Windows:
    """Holds the functions of an operator that keeps window instances."""

    def __init__(self, operator: Operator, forward: Forward, owns: Owns | None) -> None:
        self._window = operator.window
        self._selector = _KeySelector(operator, owns)
        self._make = window_maker(operator)
        self._update = operator.update or store
        self._expire = operator.expire
        self._out = _WindowOutput(operator, forward)
        self._update_out: Any = self._out if operator.emits_on_update else _Silent(operator.name)


class _MultiInstance(_Windows):
    """Implements an instance with window instances for every window of every key (WT = multi)."""

    def __init__(self, operator: Operator, forward: Forward, owns: Owns | None) -> None:
        super().__init__(operator, forward, owns)
        # Window instances by left. New lefts are never lower: tuples come in order, and each opens
        # all windows that contain it.
        self._open: dict[int, dict[int, tuple[Any, ...]]] = {}
        self._lefts: deque[int] = deque()
        self._next_expiry: float = math.inf

    def advance(self, watermark: int) -> None:
        while watermark >= self._next_expiry:
            left = self._lefts.popleft()
            instances = self._open.pop(left)
            self._next_expiry = self._lefts[0] + self._window.size if self._lefts else math.inf
            if self._expire is not None:
                self._out.right = left + self._window.size
                for w in instances.values():
                    self._expire(w, self._out)

    def process(self, t: Any) -> None:
        ts = t.ts
        self.advance(ts)
        keys = self._selector.select(t)
        if not keys:
            return
        window, update, out, make = self._window, self._update, self._update_out, self._make
        end = latest_left(window, ts) + 1
        for left in range(earliest_left(window, ts), end, window.advance):
            instances = self._open.get(left)
            if instances is None:
                if not self._lefts:
                    self._next_expiry = left + window.size
                self._lefts.append(left)
                instances = self._open[left] = {}
            out.right = left + window.size
            for key in keys:
                w = instances.get(key)
                if w is None:
                    w = instances[key] = make(key, left)
                update(w, t, out)

    def state(self) -> Any:
        """Return the open windows by left, in order."""
        return self._open

    def restore(self, saved: Any) -> None:
        self._open = saved
        self._lefts = deque(saved)
        self._next_expiry = self._lefts[0] + self._window.size if saved else math.inf


class _SingleInstance(_Windows):
    """Implements an instance with one advancing set of window instances for every key (WT = single).

    All keys are at the same window: the earliest that the watermark has not passed.
    """

    def __init__(self, operator: Operator, forward: Forward, owns: Owns | None) -> None:
        super().__init__(operator, forward, owns)
        self._fields = operator.state.names or ()
        self._stores = operator.stores
        self._slide = operator.slide
        self._keeps_time = operator.keeps_time
        # Without functions to call at each step, windows may take several steps at once; purging gives the same result.
        self._can_skip_steps = self._expire is None and self._slide in (None, keep)
        # If there are no tuples to purge either, a key's window need not move before the key's next tuple.
        self._moves_when_touched = self._can_skip_steps and not self._stores
        self._instances: dict[int, tuple[Any, ...]] = {}
        self._left = 0
        self._next_expiry: float = -math.inf

    def advance(self, watermark: int) -> None:
        """Expire and advance all windows with l + WS <= watermark, step by step."""
        if watermark < self._next_expiry:
            return
        target = earliest_left(self._window, watermark)
        while self._instances and self._left < target and not self._moves_when_touched:
            self._shift(target if self._can_skip_steps else self._left + self._window.advance)
        self._left = target
        self._next_expiry = target + self._window.size

    def process(self, t: Any) -> None:
        self.advance(t.ts)
        out = self._update_out
        out.right = t.ts if self._keeps_time else self._next_expiry
        for key in self._selector.select(t):
            w = self._instances.get(key)
            if w is None:
                w = self._instances[key] = self._make(key, self._left)
            elif self._moves_when_touched:
                for part in w:
                    part.left = self._left
            self._update(w, t, out)

    def state(self) -> Any:
        """Return the windows by key, their left boundary, and when they expire."""
        return self._instances, self._left, self._next_expiry

    def restore(self, saved: Any) -> None:
        self._instances, self._left, self._next_expiry = saved

    def _shift(self, left: int) -> None:
        self._out.right = self._left + self._window.size
        for key, w in list(self._instances.items()):
            if self._expire is not None:
                self._expire(w, self._out)
            for part in w:
                part.left = left
            if self._slide is not None:
                self._slide(w)
            elif self._stores:
                purge(w)
            if is_empty(w, self._fields, self._stores):
                del self._instances[key]
        self._left = left


class _JoinInstance:
    """Implements an instance of a `join` as one loop over the opposite window of a tuple.

    Operator 10 stores every tuple in one of many shares and calls f_U for each share; together the shares
    are the two windows. Here an instance stores a tuple if it owns the key of its share. The results of
    a tuple come in the arrival order of the other tuples, while f_U orders them by share.
    """

    def __init__(self, operator: Operator, join: Join, forward: Forward, owns: Owns | None) -> None:
        self._window = operator.window
        self._match = join.match
        self._emit = join.emit
        self._shares = join.keys
        self._owns = owns
        self._out = _WindowOutput(operator, forward)
        self._stored_tuples: tuple[deque[Any], deque[Any]] = (deque(), deque())
        self._count = 0

    def advance(self, watermark: int) -> None:
        """Do nothing: tuples purge, and nothing is emitted at expiry."""

    def process(self, t: Any) -> None:
        """Compare the tuple with the opposite window, then store it."""
        ts, size = t.ts, self._window.size
        same_side, opposite = self._stored_tuples[t.input], self._stored_tuples[1 - t.input]
        while opposite and opposite[0].ts + size < ts:
            opposite.popleft()
        match, emit, out = self._match, self._emit, self._out
        out.right = earliest_left(self._window, ts) + size
        if t.input == 0:
            for other in opposite:
                if match(t, other):
                    emit(t, other, out)
        else:
            for other in opposite:
                if match(other, t):
                    emit(other, t, out)
        self._count += 1
        if self._owns is None or self._owns(self._count % self._shares):
            same_side.append(t)

    def state(self) -> Any:
        """Return the stored tuples and the number of all tuples so far."""
        return self._stored_tuples, self._count

    def restore(self, saved: Any) -> None:
        self._stored_tuples, self._count = saved


class _KeyedJoinInstance:
    """Implements an instance of an `equi_join`: a tuple meets the opposite windows of its keys."""

    def __init__(self, operator: Operator, join: Join, forward: Forward, owns: Owns | None) -> None:
        self._window = operator.window
        self._match = join.match
        self._emit = join.emit
        self._selector = _KeySelector(operator, owns)
        self._out = _WindowOutput(operator, forward)
        self._stored_tuples: dict[int, tuple[deque[Any], deque[Any]]] = {}

    def advance(self, watermark: int) -> None:
        """Do nothing: tuples purge, and nothing is emitted at expiry."""

    def process(self, t: Any) -> None:
        """Compare the tuple with the opposite window of each of its keys, then store it."""
        ts, size = t.ts, self._window.size
        match, emit, out = self._match, self._emit, self._out
        out.right = earliest_left(self._window, ts) + size
        for key in self._selector.select(t):
            sides = self._stored_tuples.get(key)
            if sides is None:
                sides = self._stored_tuples[key] = (deque(), deque())
            opposite = sides[1 - t.input]
            while opposite and opposite[0].ts + size < ts:
                opposite.popleft()
            for other in opposite:
                first, second = (t, other) if t.input == 0 else (other, t)
                if match(first, second):
                    emit(first, second, out)
            sides[t.input].append(t)

    def state(self) -> Any:
        """Return the stored tuples of each key."""
        return self._stored_tuples

    def restore(self, saved: Any) -> None:
        self._stored_tuples = saved
