"""How events are dealt to physical streams, and how many there may be.

Of a table, each kind has streams of its own, in the order of the program, which breaks ties in
time. A kind is dealt to several streams in turn, in order of time, unless its streams cannot be
split: events of a kind that depend on each other would need each other's streams, and a join reads
one stream for each of its inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import DGSProgram, Program, Query, StreamSpec, Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One stream: the rows of a kind whose turn it is.

    Attributes:
        name: of the stream.
        kind: index of the kind.
        place: which of the kind's streams it is.
        count: how many streams the kind has.
    """

    name: str
    kind: int
    place: int
    count: int

    def dealer(self) -> Callable[[npt.NDArray[np.int8]], npt.NDArray[np.bool_]]:
        """Return what tells, for the kinds of the next rows in order of time, which are its own."""
        before = 0

        def mine(kinds: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
            nonlocal before
            of_kind = kinds == self.kind
            turn = (before + np.cumsum(of_kind) - 1) % self.count
            before += int(np.count_nonzero(of_kind))
            found: npt.NDArray[np.bool_] = of_kind & (turn == self.place)
            return found

        return mine


MOST_IN_ORDER = 64
"""Streams that the multicore engine's ordered log merges, for queries and pipelines."""


def check_streams(program: Program, streams: int) -> None:
    """Refuse a number of streams that engines would refuse, before anything is read.

    Raises:
        DatasetError: more than one is asked for and no kind can be split, or there would be more
            than engines merge.
    """
    whole = [why_whole(program, kind) for kind in range(len(program.kinds))]
    if streams > 1 and all(whole):
        raise DatasetError(
            f"streams is {streams}, but the input of {program.name} takes one stream of each kind "
            f"({whole[0]}); leave it out"
        )
    count = sum(1 if why else streams for why in whole)
    if _too_many(program, count):
        raise DatasetError(
            f"streams is {streams}, which makes {count} streams for {program.name}; engines that "
            f"merge streams in order take {MOST_IN_ORDER} at most, so give "
            f"{MOST_IN_ORDER // len(whole)} or fewer"
        )


def check_generated(program: Program, streams: Sequence[StreamSpec]) -> None:
    """Refuse streams that engines would refuse, before they are generated.

    Raises:
        DatasetError: as `check_streams`.
    """
    for index, kind in enumerate(program.kinds):
        count = sum(kind in stream.kinds for stream in streams)
        why = why_whole(program, index)
        if count > 1 and why:
            raise DatasetError(
                f"there would be {count} streams of {kind}, but the input of {program.name} takes "
                f"one stream of each kind ({why}); give other parameters (--param)"
            )
    if _too_many(program, len(streams)):
        raise DatasetError(
            f"there would be {len(streams)} streams for {program.name}; engines that merge streams "
            f"in order take {MOST_IN_ORDER} at most; give other parameters (--param)"
        )


def _too_many(program: Program, streams: int) -> bool:
    return not isinstance(program, DGSProgram) and streams > MOST_IN_ORDER


def shares(program: Program, streams: int) -> tuple[Share, ...]:
    """Return the streams of a program, in the order that breaks ties.

    Raises:
        DatasetError: as `check_streams`.
    """
    check_streams(program, streams)
    whole = [why_whole(program, kind) for kind in range(len(program.kinds))]
    return tuple(
        Share(
            name=name if why else f"{name}-{place}",
            kind=kind,
            place=place,
            count=1 if why else streams,
        )
        for kind, (name, why) in enumerate(zip(program.kinds, whole, strict=True))
        for place in range(1 if why else streams)
    )


def why_whole(program: Program, kind: int) -> str:
    """Return why events of a kind must be in one stream; "" where they may be in several."""
    if isinstance(program, DGSProgram) and program.dependent(Tag(kind), Tag(kind)):
        return f"events of kind {program.kinds[kind]} depend on each other"
    if isinstance(program, Query) and program.operators[0].join is not None:
        return "the engines' joins read one stream for each of their inputs"
    return ""
