"""Defines ordered pipelines: operators in a row, with outputs in the order of sequential execution.

Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, sections 1, 2 and 4. An
operator is stateless, partitioned (a state for each key) or stateful (one state). It reads one
record at a time and forwards any number of records. The answer is the *sequence* of a single thread that
takes the input in total order and passes each record through the whole pipeline before the next. Design
choices: docs/decisions/0010-ordered-pipelines.md.

Functions are plain Python over records. The reference engine runs them as they are; the multicore
engine compiles them with Numba.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from streamlab.workloads.model.code.functions import require_plain
from streamlab.workloads.model.errors import ProgramError

RESERVED = frozenset({"ts"})
"""Field names that every record has."""

ApplyFn = Callable[..., None]
"""`apply(t, out)` of a stateless operator, `apply(s, t, out)` of an operator with a state.

`t` is the record: `t.ts` and the fields of the operator's input. `s` is the state, changed in
place; its fields start zeroed. `out.emit(*fields)` forwards a record: it takes the output's fields
without `ts`, which is that of `t`.
"""

KeyFn = Callable[[Any], int]
"""`key(t)`: the key (int64) of a record; a pure function of its fields."""

STATELESS, PARTITIONED, STATEFUL = "stateless", "partitioned", "stateful"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Describes one operator of a pipeline; made by `stateless`, `partitioned` or `stateful`.

    Attributes:
        output: Structured dtype of its output; the first field is `ts` (int64).
        apply: Processes a record.
        state: Structured dtype of a state; None if stateless.
        key: The key selector of a partitioned operator; None for other operators.
        partitions: Default number of partitions into which keys are hashed; a run may choose another
            number, which does not change the answer.
        bounds: Ascending bounds that partition keys by range: the partition of a key is the number of
            bounds at or below it. None means partitioned by hash.
        max_outputs: Largest number of records that one call of `apply` forwards.
        ties_commute: For an operator with a state: whether the order of records of equal time changes
            neither the output for each record nor later outputs.
    """

    name: str
    output: np.dtype[np.void]
    apply: ApplyFn
    state: np.dtype[np.void] | None = None
    key: KeyFn | None = None
    partitions: int = 100
    bounds: tuple[int, ...] | None = None
    max_outputs: int = 1
    ties_commute: bool = False

    def __post_init__(self) -> None:
        where = f"operator {self.name}"
        require_plain(where, apply=self.apply, key=self.key)
        if self.output.names is None or self.output.names[0] != "ts":
            raise ProgramError(f"{where}: the first output field must be ts, got {self.output}")
        if self.output["ts"] != np.int64:
            raise ProgramError(f"{where}: ts is {self.output['ts']}; it must be int64")
        if self.key is not None and self.state is None:
            raise ProgramError(f"{where} has keys but no state; make it stateless")
        if self.state is not None and not self.state.names:
            raise ProgramError(f"{where}: the state dtype {self.state} has no named fields")
        if self.partitions < 1:
            raise ProgramError(f"{where}: partitions is {self.partitions}; expected at least 1")
        if self.max_outputs < 1:
            raise ProgramError(f"{where}: max_outputs is {self.max_outputs}; expected at least 1")
        bounds = self.bounds
        if bounds is not None and any(a >= b for a, b in pairwise(bounds)):
            raise ProgramError(f"{where}: bounds must ascend, got {bounds}")

    @property
    def kind(self) -> str:
        """Return `stateless`, `partitioned` or `stateful`."""
        if self.state is None:
            return STATELESS
        return STATEFUL if self.key is None else PARTITIONED


def stateless(
    *, name: str, output: np.dtype[np.void], apply: ApplyFn, max_outputs: int = 1
) -> Stage:
    """Return an operator without a state, which any number of workers may run at once."""
    return Stage(name=name, output=output, apply=apply, max_outputs=max_outputs)


def partitioned(
    *,
    name: str,
    output: np.dtype[np.void],
    key: KeyFn,
    state: np.dtype[np.void],
    apply: ApplyFn,
    partitions: int = 100,
    bounds: tuple[int, ...] | None = None,
    max_outputs: int = 1,
    ties_commute: bool = False,
) -> Stage:
    """Return an operator with a state for each key, with one worker at a time per partition."""
    return Stage(
        name=name,
        output=output,
        apply=apply,
        state=state,
        key=key,
        partitions=partitions,
        bounds=bounds,
        max_outputs=max_outputs,
        ties_commute=ties_commute,
    )


def stateful(
    *,
    name: str,
    output: np.dtype[np.void],
    state: np.dtype[np.void],
    apply: ApplyFn,
    max_outputs: int = 1,
) -> Stage:
    """Return an operator with one state, which one worker at a time runs, in order."""
    return Stage(name=name, output=output, apply=apply, state=state, max_outputs=max_outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Describes operators in a row: each reads the output of the one before.

    Attributes:
        record: Name of its input records: the kind of its streams.
        event: Structured dtype of their fields, without `ts`.
        stages: The operators, at least one.

    Raises:
        ProgramError: The pipeline has no operator, or a field has a reserved name.
    """

    name: str
    record: str
    event: np.dtype[np.void]
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        if not self.stages:
            raise ProgramError(f"pipeline {self.name} needs at least one operator")
        if RESERVED & set(self.event.names or ()):
            raise ProgramError(
                f"pipeline {self.name}: every record has ts; remove or rename that field"
            )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The single kind of streams that it reads, as a tuple."""
        return (self.record,)

    @property
    def output(self) -> np.dtype[np.void]:
        """Structured dtype of the output of the last operator."""
        return self.stages[-1].output

    def kind_indices(self, names: Any) -> tuple[int, ...]:
        """Return the indices of kinds by name."""
        return tuple(self.kinds.index(name) for name in names)

    def input_of(self, index: int) -> np.dtype[np.void]:
        """Return the fields, without `ts`, of the records that operator `index` reads."""
        if index == 0:
            return self.event
        before = self.stages[index - 1].output
        return np.dtype([(name, before[name]) for name in (before.names or ())[1:]])
