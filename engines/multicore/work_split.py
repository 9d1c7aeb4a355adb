"""Splits programs into shares for the tasks of another engine; each task runs the core with one worker.

A program whose events are independent by key has one share per task. The shares of a typed dataflow graph read partial
aggregates instead of events. Any other program, such as a pipeline whose answer is one sequence, has a single share.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.multicore.dataflow.run import DataflowOptions, DataflowRun, FlowStates
from streamlab.engines.multicore.dgs import resumption as dgs_resumption
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.partial_states import PartialStates, separation_of
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.oplus import map_stage, open_windows
from streamlab.engines.multicore.oplus.map_kernel import TupleMap
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.ordered.run import OrderedOptions, OrderedRun
from streamlab.engines.multicore.run.core_run import CoreRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.work_split import WorkSplit
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import (
    Alphabet,
    Columns,
    Dataflow,
    DGSProgram,
    Input,
    Pipeline,
    Program,
    Query,
    Stream,
)
from streamlab.workloads.model.dataflow.plan import Deployment, is_stateless, split_at_partials
from streamlab.workloads.model.dataflow.reference import first_marker
from streamlab.workloads.model.dgs.dependence import independent_parts
from streamlab.workloads.model.operators.key_buckets import hash_keys
from streamlab.workloads.model.streams.stream import IntArray, take

_SETTINGS = RunSettings(workers=1, batch=4096, measure=False)
_RUNS: Mapping[type[Program], tuple[Any, Any]] = {
    DGSProgram: (DgsRun, DgsOptions),
    Query: (OplusRun, OplusOptions),
    Pipeline: (OrderedRun, OrderedOptions),
    Dataflow: (DataflowRun, DataflowOptions),
}
"""The run class and the options class of each model."""


def split_work(program: Program, dataset: Dataset, *, shares: int, partials: bool) -> WorkSplit:
    """Split a program's work; see `SplitsWork`."""
    alphabet = dataset.alphabet
    kernels = Kernels(program, bounds=_SETTINGS.bounds) if isinstance(program, DGSProgram) else None
    single = _SingleShare(
        shares=1, program=program, alphabet=alphabet, until_ts=dataset.until_ts, kernels=kernels
    )
    if isinstance(program, DGSProgram):
        separation = separation_of(program, dataset) if partials else None
        if separation is not None and separation.pays(dataset):
            return PartialStates(program, dataset, separation, shares=shares)
        parts = independent_parts(program, alphabet)
        shares = min(shares, len(np.unique(parts)))
        return single if shares == 1 else _ByTag(single=single, shares=shares, parts=parts)
    if isinstance(program, Query):
        if shares == 1 or map_stage.check_query(program) is not None:
            return single
        tuples = TupleMap(program.operators[0], bounds=True)
        mapped = replace(program, operators=(tuples.aggregate,))
        return _ByKey(single=replace(single, program=mapped), shares=shares, tuples=tuples)
    deployed = split_at_partials(program) if isinstance(program, Dataflow) and partials else None
    if deployed is None:
        return single
    aggregates, rest = deployed
    # Only combining units and stateless vertices are independent by key; other keyed vertices may read other keys.
    is_independent = all(
        unit.vertex.is_source or is_stateless(unit.vertex) for unit in rest.units[2:]
    )
    is_keyed = rest.units[0].output_type.key is not None
    shares = shares if is_independent and is_keyed else 1
    return _ByAggregate(single=single, shares=shares, partials=aggregates, rest=rest)


def unresumable(program: Program) -> str | None:
    """Return why a program's work cannot be done in parts; see `SplitsWork`."""
    return open_windows.unresumable(program) if isinstance(program, Query) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SingleShare(WorkSplit):
    """The only share of a program."""

    form = "whole"
    distributes = False

    shares: int
    program: Program
    alphabet: Alphabet
    until_ts: int | None
    kernels: Kernels | None

    def distribute(self, src: int, rows: Stream, shared: Sequence[Stream]) -> Sequence[Stream]:
        return (rows,)

    def answer(self, share: int, streams: Sequence[Stream]) -> Columns:
        return self._run(self._input(streams, self.until_ts))

    def resume(
        self, share: int, streams: Sequence[Stream], state: Any, until_ts: int
    ) -> tuple[Columns, Any]:
        return self.resume_keys(np.arange(self.alphabet.keys), streams, state, until_ts)

    def resume_keys(
        self, keys: IntArray, streams: Sequence[Stream], state: Any, until_ts: int
    ) -> tuple[Columns, Any]:
        """Process a part of the input from the state after the preceding part.

        For a DGS program, only `keys` have events.
        """
        program, data = self.program, self._input(streams, until_ts)
        if isinstance(program, Query):
            return open_windows.resume(program, data, state, self._run)
        if isinstance(program, Pipeline):
            run = OrderedRun(program, data, _SETTINGS, OrderedOptions(), states=state or ())
            with closing(run):
                run.run()
                return run.answer(), run.final_states()
        if isinstance(program, Dataflow):
            return self.resume_flow(data, state, None)
        assert isinstance(program, DGSProgram)
        assert self.kernels is not None
        return dgs_resumption.resume(
            program, data, state, keys=keys, kernels=self.kernels, settings=_SETTINGS
        )

    def resume_flow(
        self, data: Input, state: FlowStates | None, deployed: Deployment | None
    ) -> tuple[Columns, FlowStates | None]:
        """Process a part of a typed dataflow graph's input from the state after the preceding part.

        Each part ends at a marker.
        """
        flow = self.program
        assert isinstance(flow, Dataflow)
        assert data.until_ts is not None
        assert self.until_ts is not None
        if state is None and not data.events:
            return {name: np.zeros(0, flow.output[name]) for name in flow.output.names or ()}, None
        # The marker at the end of a part precedes the events at its time.
        until_ts = min(first_marker(data.until_ts - 1, flow.markers) + 1, self.until_ts)
        data = replace(data, until_ts=until_ts)
        run = DataflowRun(flow, data, _SETTINGS, DataflowOptions(), deployed=deployed, states=state)
        with closing(run):
            run.run()
            return run.answer(), run.final_states()

    def _input(self, streams: Sequence[Stream], until_ts: int | None) -> Input:
        return Input(alphabet=self.alphabet, streams=tuple(streams), until_ts=until_ts)

    def _run(self, data: Input) -> Columns:
        run, options = _RUNS[type(self.program)]
        kernels = {} if self.kernels is None else {"kernels": self.kernels}
        return _answer(run(self.program, data, _SETTINGS, options(), **kernels))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares(WorkSplit):
    """A program split into shares; `single` computes the answer of a share from the share's rows."""

    shares: int
    single: _SingleShare

    def answer(self, share: int, streams: Sequence[Stream]) -> Columns:
        return self.single.answer(share, streams)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByTag(_Shares):
    """A DGS program split by tag. `parts` has a number for each tag; tags with different numbers are independent."""

    form = "events by key"

    parts: IntArray

    def distribute(self, src: int, rows: Stream, shared: Sequence[Stream]) -> Sequence[Stream]:
        if rows.tag is None:
            share = self.parts[rows.kinds[0]] % self.shares
            return [
                rows if share == index else take(rows, _NO_ROWS) for index in range(self.shares)
            ]
        return _split_rows(rows, _narrow(self.parts % self.shares).take(rows.tag), self.shares)

    def resume(
        self, share: int, streams: Sequence[Stream], state: Any, until_ts: int
    ) -> tuple[Columns, Any]:
        tags = np.flatnonzero(self.parts % self.shares == share)
        keys = np.unique(tags // len(self.single.alphabet.kinds))
        return self.single.resume_keys(keys, streams, state, until_ts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByKey(_Shares):
    """A query of one operator O+ split by key. A share reads one mapped tuple for each of its keys in each tuple."""

    form = "tuples by key"

    tuples: TupleMap

    def distribute(self, src: int, rows: Stream, shared: Sequence[Stream]) -> Sequence[Stream]:
        mapped = self.tuples.map(rows)
        return _split_rows(
            mapped, _share_of(mapped.payload[map_stage.KEY], self.shares), self.shares
        )

    def resume(
        self, share: int, streams: Sequence[Stream], state: Any, until_ts: int
    ) -> tuple[Columns, Any]:
        return self.single.resume(share, streams, state, until_ts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByAggregate(WorkSplit):
    """A typed dataflow graph split by key. A share reads the partial aggregates of its keys in each block.

    Attributes:
        shares: number of shares.
        single: the whole graph as one share.
        partials: the deployment of the partial aggregates.
        rest: the deployment of the operators after them.
    """

    form = "partial aggregates"

    shares: int
    single: _SingleShare
    partials: Deployment
    rest: Deployment

    def distribute(self, src: int, rows: Stream, shared: Sequence[Stream]) -> Sequence[Stream]:
        flow = self.single.program
        assert isinstance(flow, Dataflow)
        sums = self.rest.units[0].output_type
        if len(rows):
            # The last block of these rows ends at the next marker, or at the end of the input.
            until_ts = first_marker(int(rows.ts[-1]), flow.markers) + 1
            if self.single.until_ts is not None:
                until_ts = min(until_ts, self.single.until_ts)
            data = Input(alphabet=self.single.alphabet, streams=(rows,), until_ts=until_ts)
            columns = self._run(data, self.partials)
        else:
            columns = {name: np.zeros(0, sums.row[name]) for name in sums.row.names or ()}
        # Aggregates come before the marker of their block.
        ts = columns.pop("ts").astype(np.int64) - 1
        aggregates = Stream(name=rows.name, kinds=(0,), ts=ts, payload=columns)
        if self.shares == 1:
            return (aggregates,)
        return _split_rows(aggregates, _share_of(columns[str(sums.key)], self.shares), self.shares)

    def answer(self, share: int, streams: Sequence[Stream]) -> Columns:
        return self._run(self._merge(streams, self.single.until_ts), self.rest)

    def resume(
        self, share: int, streams: Sequence[Stream], state: Any, until_ts: int
    ) -> tuple[Columns, Any]:
        return self.single.resume_flow(self._merge(streams, until_ts), state, self.rest)

    def _merge(self, streams: Sequence[Stream], until_ts: int | None) -> Input:
        ts = np.concatenate([stream.ts for stream in streams])
        order = np.argsort(ts, kind="stable")
        payload = {
            name: np.concatenate([stream.payload[name] for stream in streams])[order]
            for name in streams[0].payload
        }
        merged = Stream(name="partials", kinds=(0,), ts=ts[order], payload=payload)
        return Input(alphabet=self.single.alphabet, streams=(merged,), until_ts=until_ts)

    def _run(self, data: Input, deployed: Deployment) -> Columns:
        flow, options = self.single.program, DataflowOptions()
        assert isinstance(flow, Dataflow)
        return _answer(DataflowRun(flow, data, _SETTINGS, options, deployed=deployed))


_NO_ROWS = np.zeros(0, dtype=np.int64)


def _answer(run: CoreRun) -> Columns:
    """Process the input of a run, close the run, and return its answer."""
    with closing(run):
        run.run()
        return run.answer()


def _share_of(keys: Any, shares: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    return _narrow(hash_keys(keys) % np.uint64(shares))


def _narrow(shares: npt.NDArray[Any]) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return share numbers in the smallest possible dtype, which makes each pass over them cheaper."""
    return shares.astype(np.min_scalar_type(shares.max(initial=0)))


def _split_rows(
    rows: Stream, share: npt.NDArray[np.unsignedinteger[Any]], shares: int
) -> list[Stream]:
    """Return the rows of each share, in order."""
    return [take(rows, np.flatnonzero(share == index)) for index in range(shares)]
