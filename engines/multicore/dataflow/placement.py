"""Parallelizes a typed dataflow graph for the core: instances, and the way of rows between them.

Source: Data-Trace Types, Theorem 4.3, Corollary 4.4 and section 5. A stateless vertex follows the
one that it reads, instance by instance (MRG >> f is f || ... || f >> MRG; of several inputs it gets
a copy behind each), unless it asks for another degree: then items are dealt in turn (RR). A keyed
one, and SORT, has the keys of a hash (HASH), which is left out where its input is dealt by the same
keys already. An unordered aggregate is split in two where its items come from several instances:
one adds up what its own instance has seen of a block, the other what they have sent; `combine` is
associative and commutative.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engines.multicore.dataflow.options import NEVER, NONE, DataflowOptions
from workloads.model.dataflow import (
    Dataflow,
    FlowOperator,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
    TraceType,
    Vertex,
)

SOURCE, STATELESS, KEYED, PARTIAL, SORT = "source", "stateless", "keyed", "partial", "sort"
FORWARD, HASH, DEAL = "forward", "hash", "deal"
WHOLE, FINAL = "whole", "final"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A vertex as the core runs it.

    Attributes:
        name: how messages call it.
        kind: SOURCE, STATELESS, KEYED, PARTIAL or SORT.
        form: of a keyed one, WHOLE, or FINAL where it reads what a PARTIAL one adds up.
        operator: its functions; None: a source, or SORT.
        reads, gives: the types of its rows; those of a PARTIAL's are aggregates.
        route: how they come to it, FORWARD, HASH or DEAL.
        inputs: what it reads, as indices of such vertices.
        degree: how many instances it has.
        marks: whether its `on_marker` is called; of a stateless one's copies that of one.
        keeps: whether its rows are dealt by their keys.
        kind_index: of a source, which kind of streams.
    """

    name: str
    kind: str
    form: str = WHOLE
    operator: FlowOperator | None = None
    reads: TraceType
    gives: TraceType
    route: str = FORWARD
    inputs: tuple[int, ...] = ()
    degree: int = 1
    marks: bool = True
    keeps: bool = False
    kind_index: int = -1

    def in_words(self) -> str:
        """Return it in words."""
        what = {PARTIAL: "adds up blocks", SORT: "sorts blocks"}.get(self.kind, "")
        how = {FORWARD: "", HASH: "by hash ", DEAL: "in turn "}[self.route]
        return f"{how}{self.name} x {self.degree}" + (f" ({what})" if what else "")


def place(
    flow: Dataflow, streams: Sequence[int], workers: int, options: DataflowOptions
) -> tuple[tuple[Placed, ...], tuple[int, ...]]:
    """Return the vertices that the core runs, and which of them give the answer; the last does.

    Args:
        flow: the graph.
        streams: how many there are of each kind.
        workers: threads.
        options: `combine` and `soundness`.
    """
    placing = _Placing(workers, options)
    at: list[tuple[int, ...]] = []
    for vertex in flow.vertices:
        if vertex.is_source:
            at.append(placing.source(vertex, flow.kinds.index(vertex.name), streams))
        else:
            inputs = tuple(index for before in vertex.inputs for index in at[before])
            at.append(placing.vertex(vertex, inputs))
    return tuple(placing.placed), at[-1]


class _Placing:
    def __init__(self, workers: int, options: DataflowOptions) -> None:
        self._workers = workers
        self._typed = options.soundness != NONE
        self._combine = self._typed and options.combine != NEVER
        self.placed: list[Placed] = []

    def source(self, vertex: Vertex, kind: int, streams: Sequence[int]) -> tuple[int, ...]:
        degree = max(1, min(self._workers, streams[kind]))
        made = Placed(
            name=vertex.name,
            kind=SOURCE,
            reads=vertex.type,
            gives=vertex.type,
            degree=degree,
            kind_index=kind,
        )
        return self._add(made)

    def vertex(self, vertex: Vertex, inputs: tuple[int, ...]) -> tuple[int, ...]:
        operator = vertex.operator
        if isinstance(operator, OpStateless):
            return self._stateless(vertex, operator, inputs)
        if operator is None and not self._typed:
            return inputs
        reads = vertex.type if operator is None else operator.reads
        made = Placed(
            name=vertex.name,
            kind=SORT if operator is None else KEYED,
            operator=operator,
            reads=reads,
            gives=vertex.type,
            inputs=inputs,
            degree=self._degree(vertex, reads),
            keeps=operator is None or isinstance(operator, OpKeyedOrdered),
        )
        if self._forwards(made):
            return self._add(made)
        if isinstance(operator, OpKeyedUnordered) and self._adds_up(operator, made):
            sums = aggregates(operator)
            partials: list[int] = []
            for index in inputs:
                partial = replace(
                    made,
                    kind=PARTIAL,
                    name=f"{made.name} (block)",
                    gives=sums,
                    inputs=(index,),
                    degree=self.placed[index].degree,
                )
                partials += self._add(partial)
            made = replace(made, form=FINAL, reads=sums, inputs=tuple(partials))
        return self._add(replace(made, route=HASH))

    def _stateless(
        self, vertex: Vertex, operator: OpStateless, inputs: tuple[int, ...]
    ) -> tuple[int, ...]:
        copies: list[int] = []
        for number, index in enumerate(inputs):
            before = self.placed[index].degree
            wanted = vertex.degree if self._typed else vertex.degree or self._workers
            degree = before if wanted is None else min(wanted, self._workers)
            made = Placed(
                name=vertex.name if number == 0 else f"{vertex.name} ({number + 1})",
                kind=STATELESS,
                operator=operator,
                reads=operator.reads,
                gives=operator.gives,
                route=FORWARD if degree == before else DEAL,
                inputs=(index,),
                degree=degree,
                marks=number == 0,
            )
            copies += self._add(made)
        return tuple(copies)

    def _degree(self, vertex: Vertex, reads: TraceType) -> int:
        if reads.key is None:
            return 1
        return min(self._workers, vertex.degree or self._workers)

    def _forwards(self, made: Placed) -> bool:
        """Return whether each instance has all rows of its keys from the one that it reads."""
        if len(made.inputs) != 1:
            return False
        before = self.placed[made.inputs[0]]
        return before.degree == made.degree and (made.degree == 1 or before.keeps)

    def _adds_up(self, operator: OpKeyedUnordered, made: Placed) -> bool:
        if not self._combine or operator.on_item is not None:
            return False
        dtype = operator.aggregate
        return all(dtype[name].subdtype is None for name in dtype.names or ())

    def _add(self, made: Placed) -> tuple[int, ...]:
        self.placed.append(made)
        return (len(self.placed) - 1,)


def aggregates(operator: OpKeyedUnordered) -> TraceType:
    """Return the type of what a block's items of a key add up to, timed as the marker behind it."""
    fields = [("ts", np.dtype(np.int64))]
    dtype = operator.aggregate
    fields += [(f"sum_{name}", dtype[name]) for name in dtype.names or ()]
    return TraceType(False, operator.reads.key, np.dtype(fields))
