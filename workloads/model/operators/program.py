"""Defines the generalized stateful operator O+ of virtual shared-nothing parallelism, and its queries.

Source: STRETCH: Virtual Shared-Nothing Parallelism for Scalable and Elastic Stream Processing,
sections 2 and 4, Table I, Algorithms 1 and 2, appendix D. O+ gives each tuple a *set* of keys, keeps
window instances per key, and has four functions that select keys and update, output and slide windows.
The functions are plain Python over records. The reference engine runs them as they are; the multicore
engine compiles them with Numba.

The paper leaves these choices open (docs/decisions/0007-operator-semantics.md):

- A window instance [l, l + WS) with l = n x WA expires once l + WS <= W (section 2.3; Algorithm 2
  writes <). An empty window has no instance and no output.
- The watermark W is the timestamp of the current tuple, because inputs are merged in total order
  (implicit watermarks). At the end of the input W stays at the last tuple's time T. With
  `at_end="flush"` it advances to T plus all window sizes, which closes every window that contains a tuple.
  If the input is cut at an event time, W reaches the last instant before the cut, and nothing is flushed.
- `update` gets each key of a tuple once, even if `keys` adds it several times, unless the operator
  declares the keys a bag.
- `update` may emit only if outputs then come in order of time: with a `single` window, or if windows do
  not overlap. Lemma 2 needs that without stating it.
- Records of an operator that `keeps_time` have the time of their tuple, so later records may have the time
  W. No window of the next operator that contains W has expired by then.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.errors import ProgramError

MULTI = "multi"
SINGLE = "single"
DROP = "drop"
FLUSH = "flush"
RESERVED = frozenset({"ts", "input", "key", "left", "tuples"})
"""Field names that every tuple or window instance has."""

KeysFn = Callable[[Any, Any], None]
"""`keys(t, out)`, the paper's f_MK: `out.add(key)` for each key (int64) of tuple `t`.

`t` has the attributes `ts`, `input` (index into `Operator.inputs`), and the fields and lists of all
inputs. Fields and lists that its input does not have read as 0 or as an empty list.
"""

UpdateFn = Callable[[Any, Any, Any], None]
"""`update(w, t, out)`, f_U: change the window instances `w[i]` of one key in place.

`w[i]` belongs to input i. It has the fields of `Operator.state`, which start zeroed, `key`, and
`left`, the start of the window. `out.emit(*fields)` forwards a record; it takes the output's fields
without `ts`, which is the window's right boundary.
"""

ExpireFn = Callable[[Any, Any], None]
"""`expire(w, out)`, f_O: forward the results of the expired window instances of one key."""

SlideFn = Callable[[Any], None]
"""`slide(w)`, f_S: update the states of a `single` window that has just advanced by WA.

Afterwards a key is removed if all its states are zero and without tuples.
"""

MatchFn = Callable[[Any, Any], bool]
"""`match(l, r)`: whether a tuple of the first input and a tuple of the second match."""

EmitFn = Callable[[Any, Any, Any], None]
"""`emit(l, r, out)`: forward the result of a matching pair; called once for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputType:
    """Describes the schema of one of the I inputs; its physical streams have the kind `name`.

    Attributes:
        name: Unique within the operator.
        fields: Structured dtype of the scalar payload.
        lists: Element dtype of each list-valued payload column, by name.
    """

    name: str
    fields: np.dtype[np.void] = field(default_factory=lambda: np.dtype([]))
    lists: tuple[tuple[str, np.dtype[Any]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Describes a window: advance WA, size WS (both in units of event time) and type WT.

    `multi` keeps an instance for every window that contains a tuple; `single` keeps one advancing
    instance per key.
    """

    advance: int
    size: int
    type: str = MULTI


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Describes an operator as a join, so that engines can run it without f_U.

    The f_U of such an operator purges stored tuples of the other input and compares a tuple with them
    (`join_step`). The result has all matching pairs of tuples in the window.

    Attributes:
        match: The predicate on two tuples.
        emit: Forwards the result of a pair.
        keys: Number of round-robin shares that store tuples (1,000 in the paper), if all pairs are
            compared.
        keyed: Whether only tuples with a common key can match (`equi_join`).
    """

    match: MatchFn
    emit: EmitFn
    keys: int
    keyed: bool = False

    def __post_init__(self) -> None:
        require_plain("join", match=self.match, emit=self.emit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Describes an operator O+(WA, WS, I, f_MK, WT, S, f_mu, f_U, f_O, f_S).

    Attributes:
        inputs: The I inputs; their order breaks ties in time.
        window: WA, WS and WT.
        output: S: structured dtype whose first field is `ts` (int64).
        state: Structured dtype of one window instance's state.
        keys: f_MK.
        update: f_U; None stores the tuple with its sender, the default (`stores` must be set).
        expire: f_O; None means no output at expiry.
        slide: f_S; None purges stale tuples, the default. The default leaves a state without tuples unchanged.
        stores: Whether window instances store tuples: `w[i].tuples`, a deque in order of arrival.
        bag: Whether `update` is called once for each time that `keys` adds a key of a tuple, as in an aggregate
            after a map (Algorithms 11 and 13). Otherwise keys are a set, as in the paper's O+.
        emits_on_update: Whether `update` forwards records.
        keeps_time: Whether these records have the time of their tuple, not the right boundary of the window. The
            operator has a `single` window and no `expire`, so that its state does not depend on the window.
        max_outputs: Largest number of records that one call of `update`, `expire` or a join's `emit`
            forwards.
        buckets: Number of buckets into which keys are hashed; f_mu maps buckets to instances.
        bucket: `bucket(key)`, reduced modulo `buckets`; None means a hash of the key.
        join: Set by `join` and `equi_join`; None for other operators.
    """

    name: str
    inputs: tuple[InputType, ...]
    window: Window
    output: np.dtype[np.void]
    state: np.dtype[np.void]
    keys: KeysFn
    update: UpdateFn | None = None
    expire: ExpireFn | None = None
    slide: SlideFn | None = None
    stores: bool = False
    bag: bool = False
    emits_on_update: bool = False
    keeps_time: bool = False
    max_outputs: int = 1
    buckets: int = 1024
    bucket: Callable[[int], int] | None = None
    join: Join | None = None

    def __post_init__(self) -> None:
        where = f"operator {self.name}"
        require_plain(
            where,
            keys=self.keys,
            update=self.update,
            expire=self.expire,
            slide=self.slide,
            bucket=self.bucket,
        )
        if not self.inputs:
            raise ProgramError(f"{where} needs at least one input")
        names = [part.name for part in self.inputs]
        if len(set(names)) != len(names):
            raise ProgramError(f"{where}: inputs share a name: {names}")
        if self.window.type not in (MULTI, SINGLE):
            raise ProgramError(
                f"{where}: window type is {self.window.type!r}; expected multi or single"
            )
        if not 1 <= self.window.advance <= self.window.size:
            raise ProgramError(
                f"{where}: window advance {self.window.advance} and size {self.window.size}; "
                "expected 1 <= advance <= size"
            )
        if self.output.names is None or self.output.names[0] != "ts":
            raise ProgramError(f"{where}: the first output field must be ts, got {self.output}")
        if self.state.names is None:
            raise ProgramError(f"{where}: the state dtype {self.state} has no named fields")
        if self.buckets < 1:
            raise ProgramError(f"{where}: buckets is {self.buckets}; expected at least 1")
        if self.update is None and not self.stores:
            raise ProgramError(f"{where}: without update it must store its tuples (stores=True)")
        if self.window.type == MULTI and self.slide is not None:
            raise ProgramError(f"{where}: slide is only for single windows; remove it")
        plain = self.window.type == SINGLE and self.expire is None and self.join is None
        if self.keeps_time and not (plain and self.emits_on_update):
            raise ProgramError(
                f"{where}: keeps_time is for operators that emit in update only, with a single window; set "
                "emits_on_update, and remove expire"
            )
        if self.bag and self.join is not None:
            raise ProgramError(
                f"{where}: the keys of a join cannot be a bag, because a join compares two tuples once"
            )
        overlap = self.window.advance < self.window.size
        if self.emits_on_update and overlap and self.window.type == MULTI:
            raise ProgramError(
                f"{where}: update emits for overlapping multi windows, so outputs would not be in "
                "order of time; use a single window, or emit in expire"
            )
        for part in self.inputs:
            reserved = RESERVED & {*(part.fields.names or ()), *(name for name, _ in part.lists)}
            if reserved:
                raise ProgramError(
                    f"{where}, input {part.name}: {sorted(reserved)} are reserved names"
                )
        reserved = RESERVED & set(self.state.names)
        if reserved:
            raise ProgramError(f"{where}, state: {sorted(reserved)} are reserved names")
        self._check_schemas(where)

    def _check_schemas(self, where: str) -> None:
        types: dict[str, object] = {}
        for part in self.inputs:
            columns = {name: part.fields[name] for name in part.fields.names or ()}
            for name, dtype in (*columns.items(), *(("list:" + n, d) for n, d in part.lists)):
                if types.setdefault(name, dtype) != dtype:
                    raise ProgramError(
                        f"{where}: field {name} is {types[name]} in one input and {dtype} in another"
                    )

    @property
    def fields(self) -> np.dtype[np.void]:
        """Scalar fields of all inputs, each once."""
        fields = {
            name: part.fields[name] for part in self.inputs for name in part.fields.names or ()
        }
        return np.dtype(list(fields.items()))

    @property
    def lists(self) -> dict[str, np.dtype[Any]]:
        """List-valued fields of all inputs, each once, with the dtype of their elements."""
        return {name: dtype for part in self.inputs for name, dtype in part.lists}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Describes operators in a row, connected by ordered logs: each reads the output of the one before.

    Attributes:
        operators: At least one. Later operators have one input, with the fields of the output of the
            operator before it, without `ts`.
        at_end: Effect of the input's end on open windows: `drop` leaves them without output, `flush`
            closes them.
        arrival_tick_ns: Unit of arrival times, in ns. The source of an offered load sets the time of each tuple to
            the time since the load's start when it sends the tuple. None if tuples have event times.

    Raises:
        ProgramError: The schemas do not fit, or arrival times without one flushed operator with multi windows.
    """

    name: str
    operators: tuple[Operator, ...]
    at_end: str = DROP
    arrival_tick_ns: int | None = None

    def __post_init__(self) -> None:
        if self.at_end not in (DROP, FLUSH):
            raise ProgramError(
                f"query {self.name}: at_end is {self.at_end!r}; expected drop or flush"
            )
        if not self.operators:
            raise ProgramError(f"query {self.name} needs at least one operator")
        if self.arrival_tick_ns is not None and (
            self.arrival_tick_ns < 1
            or self.at_end != FLUSH
            or len(self.operators) > 1
            or self.operators[0].window.type != MULTI
        ):
            raise ProgramError(
                f"query {self.name}: arrival times need a unit of at least 1 ns, at_end = 'flush', and one operator "
                "with multi windows"
            )
        for before, after in zip(self.operators, self.operators[1:], strict=False):
            expected = [(name, before.output[name]) for name in before.output.names or ()][1:]
            part = after.inputs[0]
            actual = [(name, part.fields[name]) for name in part.fields.names or ()]
            if len(after.inputs) != 1 or actual != expected or part.lists:
                raise ProgramError(
                    f"query {self.name}: operator {after.name} must have one input with the fields "
                    f"{expected} of operator {before.name}, got {after.inputs}"
                )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the inputs: the kinds of the streams."""
        return tuple(part.name for part in self.operators[0].inputs)

    @property
    def event(self) -> np.dtype[np.void]:
        """Scalar payload of all inputs."""
        return self.operators[0].fields

    @property
    def output(self) -> np.dtype[np.void]:
        """Structured dtype of the output of the last operator."""
        return self.operators[-1].output

    @property
    def reach(self) -> int:
        """Sum of the window sizes: the longest time from a tuple to an output that it causes."""
        return sum(operator.window.size for operator in self.operators)

    def kind_indices(self, names: Any) -> tuple[int, ...]:
        """Return the indices of kinds by name."""
        return tuple(self.kinds.index(name) for name in names)


def arrival_tick_ns(program: object) -> int | None:
    """Return the unit of a program's arrival times in ns; None if it has event times."""
    return program.arrival_tick_ns if isinstance(program, Query) else None


def join(
    *,
    name: str,
    left: InputType,
    right: InputType,
    size: int,
    output: np.dtype[np.void],
    match: MatchFn,
    emit: EmitFn,
    advance: int = 1,
    shares: int = 1000,
) -> Operator:
    """Return the J+ that compares all pairs: ScaleJoin (Operator 10).

    A tuple is compared with earlier tuples of the opposite input (in total order) that are at most `size`
    older: t'.ts + WS >= t.ts, as Operator 10 purges. Each tuple is stored in one of `shares` shares, in
    turn; the share does not change the answer.
    """

    def keys(t: Any, out: Any) -> None:
        for key in range(shares):
            out.add(key)

    meet = join_step(size, match, emit)

    def update(w: Any, t: Any, out: Any) -> None:
        # Each key counts all tuples, since a tuple has all keys. `%` would cost as much as comparing four tuples.
        turn = w[0].turn + 1
        if turn == shares:
            turn = 0
        w[0].turn = turn
        meet(w[1 - t.input], t, out)
        if turn == w[0].key:
            w[t.input].tuples.append(t)

    return Operator(
        name=name,
        inputs=(left, right),
        window=Window(advance=advance, size=size, type=SINGLE),
        output=output,
        state=np.dtype([("turn", np.int64)]),
        keys=keys,
        update=update,
        slide=keep,
        stores=True,
        emits_on_update=True,
        buckets=shares,
        bucket=lambda key: key,
        join=Join(match=match, emit=emit, keys=shares),
    )


def join_step(size: int, match: MatchFn, emit: EmitFn) -> Callable[[Any, Any, Any], None]:
    """Return the step of a join's f_U on the opposite window of a tuple: purge, then compare."""

    def matches(t: Any, other: Any) -> Any:
        first, second = (t, other) if t.input == 0 else (other, t)
        return match(first, second)

    def meet(opposite: Any, t: Any, out: Any) -> None:
        while opposite.tuples and opposite.tuples[0].ts + size < t.ts:
            opposite.tuples.popleft()
        if any_matches(opposite.tuples, matches, t):
            for other in opposite.tuples:
                first, second = (t, other) if t.input == 0 else (other, t)
                if match(first, second):
                    emit(first, second, out)

    return meet


def any_matches(tuples: Any, matches: Callable[[Any, Any], Any], t: Any) -> bool:
    """Return whether a tuple matches any of the stored tuples. Compiled code compares several at a time."""
    return any(matches(t, other) for other in tuples)


def keep(w: Any) -> None:
    """Do nothing: an f_S for operators whose `update` purges."""
