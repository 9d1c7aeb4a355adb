"""The generalized stateful operator O+ of virtual shared-nothing parallelism, and queries of it.

Source: STRETCH: Virtual Shared-Nothing Parallelism for Scalable and Elastic Stream Processing,
sections 2 and 4, Table I, Algorithms 1 and 2, appendix D. O+ gives each tuple a *set* of keys,
keeps window instances per key, and updates, outputs and slides them by four functions. They are
plain Python over records; the reference engine runs them as they are, the multicore engine compiles
them with Numba.

Where the paper leaves a choice, this is the one taken (docs/decisions/0007-operator-semantics.md):

- A window instance [l, l + WS) with l = n x WA is expired once l + WS <= W (section 2.3; Algorithm
  2 writes <). An empty window has no instance and no output.
- The watermark W is the timestamp of the tuple that is processed: inputs are merged in total order
  (implicit watermarks). At the end of the input nothing more expires: W stays at the last event's
  time, or, for an input that is cut at an event time, reaches the last instant before the cut.
- `update` sees each key of a tuple once, however often `keys` adds it; as often, where the operator
  says that keys are a bag.
- `update` may emit only where outputs come in the order of their time: with a `single` window, or
  where windows do not overlap. Lemma 2 needs that, and does not say it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.errors import ProgramError

MULTI = "multi"
SINGLE = "single"
RESERVED = frozenset({"ts", "input", "key", "left", "tuples"})
"""Names that tuples and window instances have of themselves."""

KeysFn = Callable[[Any, Any], None]
"""`keys(t, out)`, the paper's f_MK: `out.add(key)` for each key (int64) of tuple `t`.

`t` has the attributes `ts`, `input` (index into `Operator.inputs`), and the fields and lists of all
inputs; what its own input does not carry reads as 0, or as an empty list.
"""

UpdateFn = Callable[[Any, Any, Any], None]
"""`update(w, t, out)`, f_U: change the window instances `w[i]` of one key in place.

`w[i]` belongs to input i. It has the fields of `Operator.state`, which start zeroed, `key`, and
`left`, where the window begins. `out.emit(*fields)` forwards a record; it takes the output's fields
without `ts`, which is the window's right boundary.
"""

ExpireFn = Callable[[Any, Any], None]
"""`expire(w, out)`, f_O: forward what the expired window instances of one key give."""

SlideFn = Callable[[Any], None]
"""`slide(w)`, f_S: update the states of a `single` window that has just advanced by WA.

A key whose states are all zero afterwards, with no tuples, is removed.
"""

MatchFn = Callable[[Any, Any], bool]
"""`match(l, r)`: whether a tuple of the first input and one of the second make a result."""

EmitFn = Callable[[Any, Any, Any], None]
"""`emit(l, r, out)`: forward the result of a pair that matches; called once for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputType:
    """The schema of one of the I inputs; its physical streams are of the kind of this name.

    Attributes:
        name: unique within the operator.
        fields: structured dtype of the scalar payload.
        lists: element dtype of each list-valued payload column, by name.
    """

    name: str
    fields: np.dtype[np.void] = field(default_factory=lambda: np.dtype([]))
    lists: tuple[tuple[str, np.dtype[Any]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Window advance WA, size WS (both in units of event time) and type WT.

    `multi` keeps an instance for every window that a tuple falls in, `single` one per key, which
    advances.
    """

    advance: int
    size: int
    type: str = MULTI


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """What makes an operator a join: known to engines, so that they need not call f_U.

    An f_U of such an operator compares a tuple with stored ones of the other input, and purges them
    by itself (`meeting`); the pairs are those of all tuples in the window that match.

    Attributes:
        match: the predicate, asked of any two tuples.
        emit: the result of a pair.
        keys: number of round-robin shares in which tuples are kept (1,000 in the paper) where all
            pairs are compared.
    """

    match: MatchFn
    emit: EmitFn
    keys: int

    def __post_init__(self) -> None:
        require_plain("join", match=self.match, emit=self.emit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """O+(WA, WS, I, f_MK, WT, S, f_mu, f_U, f_O, f_S).

    Attributes:
        name: how messages call it.
        inputs: the I inputs; their order breaks ties in time.
        window: WA, WS and WT.
        output: S: structured dtype whose first field is `ts` (int64).
        state: structured dtype of one window instance's state.
        keys: f_MK.
        update: f_U; None: the default, store the tuple with its sender (`stores` must be set).
        expire: f_O; None: no output at expiry.
        slide: f_S; None: the default, purge stale tuples; a state without tuples stays as it is.
        stores: whether window instances keep tuples: `w[i].tuples`, a deque in order of arrival.
        bag: whether `update` sees a key of a tuple as often as `keys` adds it: what a map in front
            of an aggregate makes of a tuple (Algorithms 11 and 13), where the paper's O+ has a set.
        emits_on_update: whether `update` forwards anything.
        max_outputs: most records that one call of `update`, `expire` or a join's `emit` forwards.
        buckets: into how many buckets keys are hashed; f_mu maps buckets to instances.
        bucket: `bucket(key)`, reduced modulo `buckets`; None: a hash of the key.
        join: set by `join` and `equi_join`; None for other operators.
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
            raise ProgramError(f"{where}: window type is {self.window.type!r}; multi or single")
        if not 1 <= self.window.advance <= self.window.size:
            raise ProgramError(
                f"{where}: window advance {self.window.advance} and size {self.window.size}; "
                "wanted 1 <= advance <= size"
            )
        if self.output.names is None or self.output.names[0] != "ts":
            raise ProgramError(f"{where}: the first output field must be ts, got {self.output}")
        if self.state.names is None:
            raise ProgramError(f"{where}: the state dtype {self.state} has no named fields")
        if self.buckets < 1:
            raise ProgramError(f"{where}: buckets is {self.buckets}; at least 1")
        if self.update is None and not self.stores:
            raise ProgramError(f"{where}: without update it must store its tuples (stores=True)")
        if self.window.type == MULTI and self.slide is not None:
            raise ProgramError(f"{where}: slide is for single windows")
        if self.bag and self.join is not None:
            raise ProgramError(f"{where}: a join compares two tuples once; its keys are no bag")
        overlap = self.window.advance < self.window.size
        if self.emits_on_update and overlap and self.window.type == MULTI:
            raise ProgramError(
                f"{where}: update emits for overlapping multi windows, so that outputs are not in "
                "order of time; use a single window, or emit in expire"
            )
        for part in self.inputs:
            taken = RESERVED & {*(part.fields.names or ()), *(name for name, _ in part.lists)}
            if taken:
                raise ProgramError(
                    f"{where}, input {part.name}: {sorted(taken)} are reserved names"
                )
        taken = RESERVED & set(self.state.names)
        if taken:
            raise ProgramError(f"{where}, state: {sorted(taken)} are reserved names")
        self._check_schemas(where)

    def _check_schemas(self, where: str) -> None:
        seen: dict[str, object] = {}
        for part in self.inputs:
            columns = {name: part.fields[name] for name in part.fields.names or ()}
            for name, dtype in (*columns.items(), *(("list:" + n, d) for n, d in part.lists)):
                if seen.setdefault(name, dtype) != dtype:
                    raise ProgramError(
                        f"{where}: field {name} is {seen[name]} in one input and {dtype} in another"
                    )

    @property
    def fields(self) -> np.dtype[np.void]:
        """Scalar fields of all inputs, each once."""
        found = {
            name: part.fields[name] for part in self.inputs for name in part.fields.names or ()
        }
        return np.dtype(list(found.items()))

    @property
    def lists(self) -> dict[str, np.dtype[Any]]:
        """List-valued fields of all inputs, each once, with the dtype of their elements."""
        return {name: dtype for part in self.inputs for name, dtype in part.lists}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Operators in a row, connected by ordered logs: each reads what the one before forwards.

    Attributes:
        name: how messages call it.
        operators: at least one. Each but the first has one input, whose fields are those of the
            output of the operator before it, without `ts`.

    Raises:
        ProgramError: the schemas do not fit.
    """

    name: str
    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        if not self.operators:
            raise ProgramError(f"query {self.name} needs at least one operator")
        for before, after in zip(self.operators, self.operators[1:], strict=False):
            wanted = [(name, before.output[name]) for name in before.output.names or ()][1:]
            part = after.inputs[0]
            given = [(name, part.fields[name]) for name in part.fields.names or ()]
            if len(after.inputs) != 1 or given != wanted or part.lists:
                raise ProgramError(
                    f"query {self.name}: operator {after.name} must have one input with the fields "
                    f"{wanted} of operator {before.name}, got {after.inputs}"
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
        """What the last operator forwards."""
        return self.operators[-1].output

    def kind_indices(self, names: Any) -> tuple[int, ...]:
        """Return the indices of kinds given by name."""
        return tuple(self.kinds.index(name) for name in names)


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

    A tuple is compared with the tuples of the opposite input that came before it in the total order
    and are at most `size` older: t'.ts + WS >= t.ts, as Operator 10 purges. Each is kept in one of
    `shares` shares, in turn; which one does not change the answer.
    """

    def keys(t: Any, out: Any) -> None:
        for key in range(shares):
            out.add(key)

    meet = meeting(size, match, emit)

    def update(w: Any, t: Any, out: Any) -> None:
        w[0].count += 1
        w[1].count += 1
        this = w[t.input]
        meet(w[1 - t.input], t, out)
        if this.count % shares == this.key:
            this.tuples.append(t)

    return Operator(
        name=name,
        inputs=(left, right),
        window=Window(advance=advance, size=size, type=SINGLE),
        output=output,
        state=np.dtype([("count", np.int64)]),
        keys=keys,
        update=update,
        slide=keep,
        stores=True,
        emits_on_update=True,
        buckets=shares,
        bucket=_same,
        join=Join(match=match, emit=emit, keys=shares),
    )


def meeting(size: int, match: MatchFn, emit: EmitFn) -> Callable[[Any, Any, Any], None]:
    """Return what f_U of a join does with the window opposite to a tuple: purge, then compare.

    Args:
        size: WS.
        match: the predicate.
        emit: the result of a pair.
    """

    def meet(opposite: Any, t: Any, out: Any) -> None:
        while opposite.tuples and opposite.tuples[0].ts + size < t.ts:
            opposite.tuples.popleft()
        for other in opposite.tuples:
            first, second = (t, other) if t.input == 0 else (other, t)
            if match(first, second):
                emit(first, second, out)

    return meet


def _same(key: int) -> int:
    return key


def keep(w: Any) -> None:
    """Leave the states as they are: an f_S for operators whose `update` purges."""
