"""Measures how long an operator takes to change its number of instances under a load.

    python -m benchmarks.reconfiguration 1 2

runs `scale_join` on virtual shared-nothing instances, and changes from the first number to the
second and back, 1,000 times each. Prints one JSON object: for each direction, the number of changes
and the 99th percentile of the time from the call to the switch, in ns. A wrong answer is an error.

At the offered rate the join takes about a sixth of one core. A millisecond has 20 units of event
time. Instances switch when event time advances; this wait is part of the measured time.
Pauses between changes are random, so that changes do not synchronize with heartbeats.
"""

import argparse
import json
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.generator import percentile_ns
from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import LOAD_RING_BLOCKS, RunSettings
from streamlab.lab.load.arrivals import expected_events
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.model import Query, Workload
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import workload

RATE_EPS = 40_000.0
"""Rate of both sides together; a second of event time has 2,000 tuples."""
WINDOW_MS = 20_000
"""A window holds 20,000 tuples of each side: 0.8 G comparisons/s."""
BATCH = 64
WARM_UP_S = 2.0
"""The windows are full after 1 s."""
LENGTH_S = 25.0
ROUNDS = 1000
"""Changes in each direction."""
PAUSE_S = (0.001, 0.003)
"""Range of the pause between changes."""
SPARE_EVENTS = 1000
"""A load needs slightly more input than its expected events."""
SEED = 1


class TooFewError(Exception):
    """The input ended before all changes were made."""


def input_of(spec: LoadSpec) -> tuple[Workload, Dataset]:
    """Return the workload and its input for a load; generates the input if the catalogue lacks it."""
    join = workload("scale_join").bound({"ws_ms": WINDOW_MS})
    return join, ensure(join, {}, round(expected_events(spec)) + SPARE_EVENTS, SEED)


def switch_times_ns(
    join: Workload, dataset: Dataset, spec: LoadSpec, before: int, after: int, rounds: int
) -> dict[tuple[int, int], list[int]]:
    """Run once; after the warm-up, change `rounds` times from `before` to `after` instances and back.

    Returns:
        The ns from each call to its switch, by (instances before, instances after).

    Raises:
        TooFewError: the input ended before all changes were made.
        ValueError: the answer is wrong.
    """
    offered = offer(spec, dataset, grid=join.output.grid)
    assert isinstance(join.program, Query)
    run = OplusRun(
        join.program,
        offered.dataset.load(),
        RunSettings(workers=before, batch=BATCH, ring_blocks=LOAD_RING_BLOCKS, load=offered.load),
        OplusOptions(max_instances=max(before, after)),
    )
    try:
        changer = threading.Thread(target=_change, args=(run, spec, before, after, rounds))
        changer.start()
        run.run()
        changer.join()
        times_ns: dict[tuple[int, int], list[int]] = defaultdict(list)
        for called_ns, done_ns, instances_before, instances_after, _, _ in run.switches():
            if done_ns >= 0:
                times_ns[len(instances_before), len(instances_after)].append(done_ns - called_ns)
        answer = run.answer()
    finally:
        run.close()
    difference = compare(expected(join, offered.dataset), answer, join.output)
    if not difference.equal:
        raise ValueError(f"the answer is wrong: {difference.render()}")
    for direction in ((before, after), (after, before)):
        if len(times_ns[direction]) < rounds:
            raise TooFewError(
                f"{len(times_ns[direction])} of {rounds} changes {_direction_name(direction)} in "
                f"{spec.window_s:g} s; raise --length or lower --rounds"
            )
    return dict(times_ns)


def _change(run: OplusRun, spec: LoadSpec, before: int, after: int, rounds: int) -> None:
    """Change to `after` and back `rounds` times, or until the run ends."""
    pauses = random.Random(SEED)
    time.sleep(spec.warm_up_s)
    for _ in range(rounds):
        for instances in (after, before):
            time.sleep(pauses.uniform(*PAUSE_S))
            mapping = balanced_mapping(len(run.mapping), instances, run.mapping)
            if run.reconfigure(instances, mapping) is None:
                return


def _direction_name(direction: tuple[int, int]) -> str:
    return f"{direction[0]} -> {direction[1]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print JSON, return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=int, help="instances at the start")
    parser.add_argument("after", type=int, help="instances to change to, and back")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="changes in each direction")
    parser.add_argument(
        "--length", type=float, default=LENGTH_S, metavar="S", help="of the load, besides warm-up"
    )
    options = parser.parse_args(arguments)
    if options.before < 1 or options.after < 1 or options.before == options.after:
        parser.error(
            f"two different numbers of instances, not {options.before} and {options.after}"
        )
    spec = LoadSpec(rate_eps=RATE_EPS, warm_up_s=WARM_UP_S, window_s=options.length)
    try:
        changes = options.before, options.after, options.rounds
        switch_ns = switch_times_ns(*input_of(spec), spec, *changes)
    except (TooFewError, ValueError) as error:
        print(f"reconfiguration: {error}", file=sys.stderr)
        return 1
    by_direction = {
        _direction_name(direction): {
            "changes": len(times),
            "p99_ns": percentile_ns(sorted(times), [1] * len(times), 0.99),
        }
        for direction, times in switch_ns.items()
    }
    print(json.dumps(by_direction))
    return 0


if __name__ == "__main__":
    sys.exit(main())
