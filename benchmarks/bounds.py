"""What checked indices cost: CPU time an event of every workload, with `bounds` and without.

A trial is a fresh process with one worker. It runs the workload's default variant both ways on the
same input, in turn, and takes the quickest of each; every second process begins with the other way.
Whether both ways have the same instructions is read from the machine code: where they do, what is
measured is the noise of the machine.

    python -m benchmarks.bounds --workloads items_sold_together paircount --repetitions 4
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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
"""Each way, in a process."""
TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Trial:
    """What a process found.

    Attributes:
        off_ns, on_ns: CPU time an event without and with checks.
        same: whether both have the same instructions.
    """

    off_ns: float
    on_ns: float
    same: bool

    @property
    def cost(self) -> float:
        """How much longer it takes with checks, as a share."""
        return self.on_ns / self.off_ns - 1


def try_out(name: str, root: Path, *, checked_first: bool) -> Trial:
    """Run a workload in this process, whose kernel cache is empty."""
    found = workload(name)
    dataset = ensure(found, {}, FEW_EVENTS.get(name, EVENTS), 1, catalog=Catalog(root=root))
    listing: list[str] = []
    keep = sealed_cache.SealedCache.save_overload

    def read(cache: Any, signature: Any, data: Any) -> None:
        listing.extend(instructions(data.library.get_asm_str()))
        keep(cache, signature, data)

    sealed_cache.SealedCache.save_overload = read  # which is given every kernel that is compiled
    code: dict[bool, str] = {}
    least: dict[bool, int] = {}
    answers: dict[bool, Columns] = {}
    ways = (checked_first, not checked_first)
    for turn in range(RUNS):
        for bounds in ways if turn % 2 == 0 else reversed(ways):
            listing.clear()
            prepared = prepare(name, dataset, root, bounds=bounds)
            code.setdefault(bounds, sha256(" ".join(listing).encode()).hexdigest())
            before = time.process_time_ns()
            prepared.run()
            spent = time.process_time_ns() - before
            answers[bounds] = prepared.answer()
            prepared.close()
            least[bounds] = min(spent, least.get(bounds, spent))
    difference = compare(answers[False], answers[True], found.output)
    if not difference.equal:
        raise RuntimeError(f"{name}: checks change the answer: {difference.render()}")
    each = {bounds: spent / dataset.events for bounds, spent in least.items()}
    return Trial(off_ns=each[False], on_ns=each[True], same=code[False] == code[True])


def prepare(name: str, dataset: Dataset, scratch: Path, *, bounds: bool) -> Prepared:
    """Return a run that is ready."""
    found, engine = workload(name), MulticoreEngine()
    variant = default_variant(engine.variants(), type(found.program)).name
    task = Task(
        workload=found,
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


def in_turn(name: str, repetitions: int, root: Path) -> list[Trial]:
    """Run a workload in so many fresh processes."""
    found = []
    for repetition in range(repetitions):
        with TemporaryDirectory(prefix="lab-bounds-") as cache:
            command = [sys.executable, "-m", __spec__.name, "--child", name, str(repetition % 2)]
            done = subprocess.run(
                [*command, "--root", str(root)],
                env={**os.environ, "LAB_CACHE": cache},
                stdout=subprocess.PIPE,
                timeout=TIMEOUT_S,
                check=True,
            )
        found.append(Trial(**json.loads(done.stdout.splitlines()[-1])))
    return found


def row(name: str, found: Sequence[Trial]) -> str:
    """Return a workload's line of the table."""
    off = statistics.median(trial.off_ns for trial in found)
    on = statistics.median(trial.on_ns for trial in found)
    costs = [100 * trial.cost for trial in found]
    spread = f"{statistics.median(costs):+.1f} % ({min(costs):+.1f} to {max(costs):+.1f})"
    same = "same" if all(trial.same for trial in found) else "more"
    return f"| {name} | {off:.2f} | {on:.2f} | {spread} | {same} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", nargs="+", default=list(names()))
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        name, checked_first = given.child
        trial = try_out(name, given.root, checked_first=checked_first == "1")
        print(json.dumps(asdict(trial)))
        return
    print("| workload | off, ns | on, ns | cost | instructions |")
    print("|---|---|---|---|---|")
    with TemporaryDirectory(prefix="lab-bounds-data-") as root:
        for name in given.workloads:
            print(row(name, in_turn(name, given.repetitions, Path(root))), flush=True)


if __name__ == "__main__":
    main()
