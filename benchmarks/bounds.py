"""Measures the cost of checked indices: CPU time per event of each workload, with and without checks.

A trial is a fresh process with one worker. It runs the workload's default variant on the same input, in turn with and
without checks, and takes the fastest run of each. Every second process begins without checks.
The table also shows whether checks change the machine code. If not, the difference is only noise of the machine.

    python -m benchmarks.bounds --workloads items_sold_together paircount --repetitions 4
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.turns import run_program
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.kernels import sealed_cache
from streamlab.engines.protocol import Prepared, Task, default_variant
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import names, workload

EVENTS = 1_000_000
FEW_EVENTS = {"paircount": 20_000, "wordcount": 200_000, "scale_join": 20_000, "nyse_hedge": 60_000}
RUNS = 5
"""Runs with checks in a process, and as many without."""


@dataclass(frozen=True)
class Trial:
    """A process: CPU time per event without and with checks, and whether both have the same instructions."""

    off_ns: float
    on_ns: float
    same: bool


def try_out(name: str, root: Path, *, checked_first: bool) -> Trial:
    """Run a workload with and without checks in this process, whose kernel cache is empty."""
    subject = workload(name)
    dataset = ensure(subject, {}, FEW_EVENTS.get(name, EVENTS), 1, catalog=Catalog(root=root))
    listing: list[str] = []
    save = sealed_cache.SealedCache.save_overload

    def record_code(cache: Any, signature: Any, data: Any) -> None:
        listing.extend(instructions(data.library.get_asm_str()))
        save(cache, signature, data)

    sealed_cache.SealedCache.save_overload = record_code  # called with every compiled kernel
    code: dict[bool, str] = {}
    fastest_ns: dict[bool, int] = {}
    answers: dict[bool, Columns] = {}
    order = (checked_first, not checked_first)
    for turn in range(RUNS):
        for bounds in order if turn % 2 == 0 else reversed(order):
            listing.clear()
            prepared = prepare(name, dataset, root, bounds=bounds)
            code.setdefault(bounds, sha256(" ".join(listing).encode()).hexdigest())
            before = time.process_time_ns()
            prepared.run()
            spent_ns = time.process_time_ns() - before
            answers[bounds] = prepared.answer()
            prepared.close()
            fastest_ns[bounds] = min(spent_ns, fastest_ns.get(bounds, spent_ns))
    difference = compare(answers[False], answers[True], subject.output)
    if not difference.equal:
        raise RuntimeError(f"{name}: checks change the answer: {difference.render()}")
    event_ns = {bounds: run_ns / dataset.events for bounds, run_ns in fastest_ns.items()}
    return Trial(off_ns=event_ns[False], on_ns=event_ns[True], same=code[False] == code[True])


def prepare(name: str, dataset: Dataset, scratch: Path, *, bounds: bool) -> Prepared:
    """Return a prepared run of a workload's default variant; `bounds` turns checks on."""
    subject, engine = workload(name), MulticoreEngine()
    variant = default_variant(engine.variants(), type(subject.program)).name
    task = Task(
        workload=subject,
        dataset=dataset,
        variant=variant,
        workers=1,
        batch=4096,
        scratch=scratch,
        options={"bounds": bounds},
    )
    return engine.prepare(task)


def instructions(assembly: str) -> list[str]:
    """Return the names of the instructions of a kernel, in order."""
    lines = (line.split() for line in assembly.splitlines() if line.startswith("\t"))
    return [words[0] for words in lines if not words[0].startswith((".", "#"))]


def run_processes(name: str, repetitions: int, root: Path) -> list[Trial]:
    """Run a workload in several fresh processes."""
    trials = []
    for repetition in range(repetitions):
        with TemporaryDirectory(prefix="lab-bounds-") as cache:
            arguments = ("--child", name, str(repetition % 2), "--root", str(root))
            numbers = run_program("bounds", *arguments, env={**os.environ, "LAB_CACHE": cache})
        trials.append(Trial(**numbers))
    return trials


def row(name: str, trials: Sequence[Trial]) -> str:
    """Return a workload's line of the table."""
    off = statistics.median(trial.off_ns for trial in trials)
    on = statistics.median(trial.on_ns for trial in trials)
    costs = [100 * (trial.on_ns / trial.off_ns - 1) for trial in trials]
    spread = f"{statistics.median(costs):+.1f} % ({min(costs):+.1f} to {max(costs):+.1f})"
    same = "same" if all(trial.same for trial in trials) else "more"
    return f"| {name} | {off:.2f} | {on:.2f} | {spread} | {same} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", nargs="+", default=list(names()))
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        name, checked_first = options.child
        trial = try_out(name, options.root, checked_first=checked_first == "1")
        print(json.dumps(asdict(trial)))
        return
    print("| workload | off, ns | on, ns | cost | instructions |")
    print("|---|---|---|---|---|")
    with TemporaryDirectory(prefix="lab-bounds-data-") as root:
        for name in options.workloads:
            print(row(name, run_processes(name, options.repetitions, Path(root))), flush=True)


if __name__ == "__main__":
    main()
