"""Lets an engine that distributes work use another engine's compiled programs in its tasks.

A split divides a program's work in two steps without communication between the tasks of a step.
`distribute` turns rows of one stream into rows for each share; many tasks call it, each on its part of the input.
`answer` processes all rows of one share, stream by stream in their order; a task calls it once for its share.
An engine of micro-batches calls `resume` instead, once for each part of the input.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from streamlab.engines.errors import EngineError
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns, Program, Stream


class NoPartialsError(EngineError):
    """A program's partial states depend on earlier states, so tasks cannot make them from their events alone."""


class WorkSplit(ABC):
    """A program's work, split into shares.

    Attributes:
        form: contents of a share, in words for users.
        distributes: whether rows must pass through `distribute`; False: the only share takes the streams unchanged.
        shares: number of shares, at least 1.
        shared: streams whose complete rows each call of `distribute` needs.
    """

    form: ClassVar[str]
    distributes: ClassVar[bool] = True

    shares: int
    shared: tuple[int, ...] = ()

    @abstractmethod
    def distribute(self, src: int, rows: Stream, shared: Sequence[Stream]) -> Sequence[Stream]:
        """Return the rows for each share; `rows` are consecutive rows of stream `src`.

        Raises:
            EngineError: see `answer`.
            NoPartialsError: split the work without `partials`.
        """

    @abstractmethod
    def answer(self, share: int, streams: Sequence[Stream]) -> Columns:
        """Return the outputs of a share, in order; `streams` has its rows of each stream of the input.

        Raises:
            UnsupportedError: the engine cannot run the program on such streams.
            EngineError: the program does not compile, or a function raises.
        """

    @abstractmethod
    def resume(
        self, share: int, streams: Sequence[Stream], state: Any, until_ts: int
    ) -> tuple[Columns, Any]:
        """Return the outputs of a share for the next part of the input, and the state that the following part needs.

        `state` is the state returned for the preceding part; None for the first part. The state can be pickled.
        `streams` has the new rows before `until_ts`, of the share and of shared streams.
        Parts of a typed dataflow graph begin at multiples of its markers' period.
        Call `resume` only for programs whose `SplitsWork.unresumable` is None. It raises the errors of `answer`.
        """


@runtime_checkable
class SplitsWork(Protocol):
    """Extends `Engine` for engines whose compiled programs run in another engine's tasks."""

    def split_work(
        self, program: Program, dataset: Dataset, *, shares: int, partials: bool
    ) -> WorkSplit:
        """Split a program's work on an input, of which `until_ts` is set, into at most `shares` shares.

        With `partials`, `distribute` returns partial states or aggregates instead of events, if the program has them
        and they are few enough.
        """

    def unresumable(self, program: Program) -> str | None:
        """Return why a program cannot process its input in parts, or None."""
