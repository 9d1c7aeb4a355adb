"""Lets an engine that distributes work use another engine's compiled programs in its tasks.

A split divides a program's work in two steps without communication between the tasks of a step.
`deal` turns rows of one stream into rows for each share; many tasks call it, each on its part of the input.
`answer` processes all rows of one share, stream by stream in their order; a task calls it once for its share.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from streamlab.workloads.model import Alphabet, Columns, Program, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSplit(ABC):
    """A program's work, split into shares.

    Attributes:
        form: what a share consists of, for users.
        deals: whether rows must pass through `deal`; False: the only share takes the streams as they are.
        shares: number of shares, at least 1.
    """

    form: ClassVar[str]
    deals: ClassVar[bool] = True

    shares: int

    @abstractmethod
    def deal(self, rows: Stream) -> Sequence[Stream]:
        """Return the rows for each share; `rows` are consecutive ones of a stream."""

    @abstractmethod
    def answer(self, streams: Sequence[Stream]) -> Columns:
        """Return the outputs of a share, in order; `streams` has its rows of each stream of the input.

        Raises:
            UnsupportedError: the engine cannot run the program on such streams.
            EngineError: the program does not compile, or a function raises.
        """


@runtime_checkable
class SplitsWork(Protocol):
    """Extends `Engine` for engines whose compiled programs run in another engine's tasks."""

    def split_work(
        self, program: Program, alphabet: Alphabet, *, until_ts: int | None, shares: int
    ) -> WorkSplit:
        """Split a program's work into at most `shares` shares; `until_ts` is that of the `Input`."""
