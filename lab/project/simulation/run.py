"""The discrete-event simulation: strands that compute, meet, and wait for cores and messages.

The way of a synchronization is that of `engines/multicore/core/dgs/forest.h`: who is the last to
arrive at a node joins and climbs on, forks on its way back and releases at each node the side that
waits there, which does the same below. Time is in ns. What is simulated are the stretches of work
between two synchronizations, never single events, so that a hundred workers take seconds.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from lab.project.simulation.machine import Machine
from lab.project.simulation.work import Shape, Strand, Work
from workloads.optimizers.request import Costs

MOST_STEPS = 20_000
"""Synchronizations times strands that are simulated; a longer run is so many times as long."""
LEAST_ROUNDS = 32
PIECES = 64
"""In so many the work of a strand is done that never meets another one."""

Steps = Generator[simpy.Event, Any, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What a simulation found.

    Attributes:
        steady_ns: the whole input, without what it takes to start.
        start_ns: starting the run and its workers.
        events: in the input.
        busy: share of the time in which a worker computes, on average over workers that work.
        workers: that work.
        synchronizations: of the whole input.
        sent_bytes: between machines, of the whole input.
        memory_bytes_per_ns: read by all machines together.
    """

    steady_ns: float
    start_ns: float
    events: int
    busy: float
    workers: int
    synchronizations: int
    sent_bytes: float
    memory_bytes_per_ns: float

    @property
    def duration_ns(self) -> float:
        """Duration of a run on the whole input."""
        return self.steady_ns + self.start_ns

    @property
    def rate_eps(self) -> float:
        """Events a second of a run that is long enough for starting not to count."""
        return self.events / self.steady_ns * 1e9 if self.steady_ns else 0.0

    @property
    def run_rate_eps(self) -> float:
        """Events a second of a run on this input."""
        return self.events / self.duration_ns * 1e9 if self.duration_ns else 0.0


def simulate(
    work: Work, costs: Costs, machine: Machine, *, seed: int = 1, most_steps: int = MOST_STEPS
) -> Simulated:
    """Simulate the work of a plan; the same arguments give the same answer.

    Synchronizations lie evenly in the input. Where they are at several nodes, which comes when is
    drawn by `seed`, by their frequencies.

    Args:
        work: what is to be done.
        costs: of its steps; `cores` is not read, the machine's are.
        machine: what it is done on.
        seed: of the order of synchronizations.
        most_steps: bounds what is simulated; what remains takes as long in proportion.
    """
    return _Simulation(work, costs, machine, seed, most_steps).run()


class _Runner:
    """A strand while it runs: what it holds, where it was last, and how long it has computed."""

    __slots__ = ("busy_ns", "core", "home", "last", "strand", "turn")

    def __init__(self, strand: Strand, home: int, first: int) -> None:
        self.strand = strand
        self.home = home
        self.last = first
        self.core: simpy.resources.resource.Request | None = None
        self.turn: simpy.resources.resource.Request | None = None
        self.busy_ns = 0.0


def _length(core: simpy.Resource) -> int:
    """Return how many are on a core or wait for it."""
    return core.count + len(core.queue)


class _Cell:
    """An inner node: who waits there, for what."""

    __slots__ = ("parked", "sleeper")

    def __init__(self) -> None:
        self.parked: tuple[_Runner, simpy.Event] | None = None
        self.sleeper: tuple[_Runner, simpy.Event] | None = None


class _Simulation:
    def __init__(
        self, work: Work, costs: Costs, machine: Machine, seed: int, most_steps: int
    ) -> None:
        self._work, self._costs, self._machine = work, costs, machine
        self._env = simpy.Environment()
        workers = 1 + max((strand.worker for strand in work.strands), default=0)
        self._workers = workers
        self._homes = [
            [machine.home(worker, workers) for worker in shape.worker] for shape in work.shapes
        ]
        self._cores = [
            [simpy.Resource(self._env, 1) for _ in range(machine.cores)]
            for _ in range(machine.machines)
        ]
        self._lines = [simpy.Resource(self._env, 1) for _ in range(machine.machines)]
        self._computing = [0] * machine.machines
        # A worker with several mailboxes works for one at a time.
        of_worker = [strand.worker for strand in work.strands]
        self._turns = {
            worker: simpy.Resource(self._env, 1)
            for worker in set(of_worker)
            if of_worker.count(worker) > 1
        }
        self._cells = [
            [_Cell() if children else None for children in shape.children] for shape in work.shapes
        ]
        self._sent_bytes = 0
        self._rounds = self._sequence(seed, most_steps)
        self._total = max(work.synchronizations, 1) if work.meetings else PIECES

    def _sequence(self, seed: int, most_steps: int) -> Sequence[tuple[int, int] | None]:
        """Return tree and node of each synchronization that is simulated."""
        meetings = self._work.meetings
        if not meetings:
            return [None] * PIECES
        most = max(LEAST_ROUNDS, most_steps // len(self._work.strands))
        places = [(meeting.tree, meeting.node) for meeting in meetings]
        times = np.array([meeting.times for meeting in meetings])
        draw = np.random.default_rng(seed)
        if times.sum() <= most:
            which = draw.permutation(np.repeat(np.arange(len(places)), times))
        else:
            which = draw.choice(len(places), size=most, p=times / times.sum())
        return [places[index] for index in which]

    def run(self) -> Simulated:
        runners = [
            _Runner(
                strand,
                self._machine.home(strand.worker, self._workers),
                strand.worker % self._machine.cores,
            )
            for strand in self._work.strands
        ]
        ends = [self._env.process(self._live(runner)) for runner in runners]
        if ends:
            self._env.run(until=simpy.AllOf(self._env, ends))
        longer = self._total / len(self._rounds)
        took = self._env.now
        used = self._work.workers
        return Simulated(
            steady_ns=took * longer,
            start_ns=self._costs.begin_ns + max(0, used - 1) * self._costs.start_ns,
            events=self._work.events,
            busy=sum(runner.busy_ns for runner in runners) / (used * took) if took else 0.0,
            workers=used,
            synchronizations=self._work.synchronizations,
            sent_bytes=self._sent_bytes * longer,
            memory_bytes_per_ns=(
                self._work.events * self._work.event_bytes / (took * longer) if took else 0.0
            ),
        )

    def _live(self, runner: _Runner) -> Steps:
        strand, costs = runner.strand, self._costs
        each_ns = (
            strand.updates * costs.update_ns
            + strand.ordered * costs.order_ns
            + strand.skipped * costs.skip_ns
        ) / self._total
        each_bytes = (strand.updates + strand.ordered) * self._work.event_bytes / self._total
        owed = 0
        for place in self._rounds:
            owed += 1
            if place is None:
                yield from self._read(runner, each_ns, each_bytes)
                owed = 0
                continue
            tree, owner = place
            leaf = strand.leaves.get(tree)
            if leaf is None or not self._work.shapes[tree].is_below(leaf, owner):
                continue
            yield from self._read(runner, owed * each_ns, owed * each_bytes)
            owed = 0
            yield from self._synchronize(runner, tree, leaf, owner)
        yield from self._read(runner, owed * each_ns, owed * each_bytes)
        self._leave(runner)

    def _read(self, runner: _Runner, ns: float, nbytes: float) -> Steps:
        """Compute on events, slower where all that compute read more than the memory gives."""
        if ns <= 0:
            return
        bound = self._machine.memory_bytes_per_ns
        if bound is not None:
            yield from self._enter(runner)
            ns *= max(1.0, self._computing[runner.home] * nbytes / ns / bound)
        yield from self._compute(runner, ns)

    def _enter(self, runner: _Runner) -> Steps:
        """Get a core, and the worker's turn, if this strand has none.

        It is the core on which it was last, also while others are idle: what Linux does with more
        threads than cores (docs/performance.md, *more threads than cores*). Only at the end of a
        slice it goes where fewer wait.
        """
        if runner.core is not None:
            return
        turns = self._turns.get(runner.strand.worker)
        if turns is not None:
            runner.turn = turns.request()
            yield runner.turn
        request = self._cores[runner.home][runner.last].request()
        waits = not request.triggered
        yield request
        runner.core = request
        self._computing[runner.home] += 1
        if waits and self._machine.switch_ns:
            yield self._env.timeout(self._machine.switch_ns)

    def _leave(self, runner: _Runner) -> None:
        if runner.core is None:
            return
        self._cores[runner.home][runner.last].release(runner.core)
        self._computing[runner.home] -= 1
        runner.core = None
        if runner.turn is not None:
            self._turns[runner.strand.worker].release(runner.turn)
            runner.turn = None

    def _compute(self, runner: _Runner, ns: float) -> Steps:
        runner.busy_ns += ns
        while ns > 0:
            yield from self._enter(runner)
            piece = min(ns, self._machine.slice_ns)
            yield self._env.timeout(piece)
            ns -= piece
            cores = self._cores[runner.home]
            if ns > 0 and cores[runner.last].queue:
                self._leave(runner)
                lengths = [_length(core) for core in cores]
                if min(lengths) < lengths[runner.last]:
                    runner.last = lengths.index(min(lengths))

    def _synchronize(self, runner: _Runner, tree: int, leaf: int, owner: int) -> Steps:
        """Climb from a leaf to the node whose event it is, and go on below where released."""
        shape, homes = self._work.shapes[tree], self._homes[tree]
        half_ns = self._costs.fork_join_ns / 2  # a join, or a fork: only their sum is measured
        at = leaf
        while at != owner:
            up = shape.parent[at]
            if homes[at] != homes[up]:
                self._leave(runner)
                yield from self._send(homes[at], homes[up], shape.state_bytes[at])
            cell = self._cell(tree, up)
            if cell.parked is None:
                released = self._env.event()
                cell.parked = runner, released
                self._leave(runner)
                yield released
                owner = at
                break
            cell.sleeper, cell.parked = cell.parked, None
            yield from self._compute(runner, half_ns + self._handover_ns(runner, cell.sleeper[0]))
            at = up
        yield from self._descend(runner, tree, owner, leaf, shape, half_ns)

    def _descend(
        self, runner: _Runner, tree: int, top: int, leaf: int, shape: Shape, half_ns: float
    ) -> Steps:
        homes = self._homes[tree]
        at = top
        while at != leaf:
            yield from self._compute(runner, half_ns)
            first, second = shape.children[at]
            below, other = (first, second) if shape.is_below(leaf, first) else (second, first)
            sleeper = self._cell(tree, at).sleeper
            assert sleeper is not None, "who descends has met somebody at each node"
            self._env.process(self._release(runner, tree, at, other, sleeper))
            if homes[below] != homes[at]:
                self._leave(runner)
                yield from self._send(homes[at], homes[below], shape.state_bytes[below])
            at = below

    def _release(
        self,
        runner: _Runner,
        tree: int,
        node: int,
        side: int,
        sleeper: tuple[_Runner, simpy.Event],
    ) -> Steps:
        other, released = sleeper
        homes = self._homes[tree]
        if homes[node] != homes[side]:
            yield from self._send(
                homes[node], homes[side], self._work.shapes[tree].state_bytes[side]
            )
        else:
            yield self._env.timeout(self._handover_ns(runner, other))
        released.succeed()

    def _handover_ns(self, one: _Runner, other: _Runner) -> float:
        """Return what it takes to see what another core has written; between machines it is sent.

        A synchronization has two at each node, on the way up and on the way back.
        """
        if one.strand.worker == other.strand.worker or one.home != other.home:
            return 0.0
        return self._costs.handover_ns / 2

    def _cell(self, tree: int, node: int) -> _Cell:
        cell = self._cells[tree][node]
        assert cell is not None, "leaves are nobody's meeting place"
        return cell

    def _send(self, source: int, target: int, nbytes: int) -> Steps:
        network = self._machine.network
        assert network is not None and source != target
        self._sent_bytes += nbytes + network.header_bytes
        with self._lines[source].request() as line:
            yield line
            yield self._env.timeout(network.sending_ns(nbytes))
        yield self._env.timeout(network.latency_ns)
