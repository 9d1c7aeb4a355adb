"""Inspects a repository from a process of an arm: finds the cells, their inputs and the location of their code.

    python -m streamlab.lab.gate.arm_inspection REQUEST ANSWER

Only the arm's processes can import the engines and workloads of a matrix.
Parent and child run the same lab, so they exchange pickles of functions and answers.
"""

import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from streamlab.engines.errors import EngineError
from streamlab.lab.errors import GateError, LabError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.code_location import Place, find_loaded_files, find_places, find_strays
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.trials import ORACLE_TIMEOUT_S, Work, check_cells, find_inputs, make_works
from streamlab.lab.isolate.process import last_lines, run_isolated
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix
from streamlab.lab.runner.datasets import check_entries
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ModelError

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cells that a gate runs.

    Attributes:
        works: the cells by id.
        messages: progress messages of the preparation, for the user.
    """

    works: Mapping[str, Work]
    messages: Sequence[str]


def make_plan(*, matrix: Path, only: Sequence[str], master: str) -> Plan:
    """Expand a matrix and make its inputs; arguments as in `lab gate`."""
    content = read_matrix(matrix)
    check_entries(content)
    cells = expand(content, only)
    check_cells(cells)
    messages: list[str] = []
    datasets = find_inputs(cells, master=master, say=messages.append)
    return Plan(works=make_works(cells, datasets), messages=messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The location of cells' code.

    Attributes:
        places: places of the parts of each cell that can run, by cell id.
        absent: reason why a cell cannot run, by cell id.
        loaded: files of the arm's modules that were imported for the cells.
    """

    places: Mapping[str, Sequence[Place]]
    absent: Mapping[str, str]
    loaded: Sequence[Path]


def locate_code(
    *,
    parts: Mapping[str, tuple[str, str]],
    checkout: Path,
    projects: frozenset[str],
    folder: Path,
) -> Code:
    """Import the cells' engines and workloads, and return the location of their code.

    `parts` has engine and workload by cell id; `projects` are the names of the projects in the checkout
    (`streamlab.lab.gate.projects`).
    """
    located: dict[str, Sequence[Place]] = {}
    absent: dict[str, str] = {}
    for cell, (engine, workload) in parts.items():
        try:
            located[cell] = find_places(engine, workload)
        except (EngineError, ModelError) as error:
            absent[cell] = str(error)
    stray = find_strays(checkout, projects)
    return Code(
        places={cell: (*places, *stray) for cell, places in located.items()},
        absent=absent,
        loaded=find_loaded_files(folder),
    )


def inspect_arm(arm: Arm, request: Callable[[], Answer], *, log: Path) -> Answer:
    """Call a function in an arm's process and return its answer, or raise its error."""
    with tempfile.TemporaryDirectory(prefix="lab-gate-") as name:
        folder = Path(name)
        question, answer = folder / "request", folder / "answer"
        question.write_bytes(pickle.dumps(request))
        module = "streamlab.lab.gate.arm_inspection"
        outcome = run_isolated(
            [str(arm.python), "-m", module, str(question), str(answer)],
            log=log,
            timeout_s=ORACLE_TIMEOUT_S,
            env=arm.environment(),
            folder=folder,
        )
        result: Answer | str | None = pickle.loads(answer.read_bytes()) if answer.exists() else None
    if isinstance(result, str):
        gaps = "; ".join(["", *find_gaps(arm.tree, arm.checkout)])
        raise GateError(f"{arm.name} arm, {arm.revision}: {result}{gaps}")
    if result is None:
        raise GateError(
            f"{arm.name} arm, {arm.revision}: the inspection of its cells ended with code "
            f"{outcome.returncode}: {' | '.join(last_lines(log, 5))} ({log})"
        )
    return result


def main(arguments: Sequence[str]) -> None:
    """Answer a request; for an error that a user can correct, the answer is the error's message."""
    request, answer = map(Path, arguments)
    question: Callable[[], object] = pickle.loads(request.read_bytes())
    try:
        result = question()
    except (LabError, ModelError, DatasetError, EngineError) as error:
        result = str(error)
    partial = answer.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(result))
    partial.replace(answer)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # does not wait for threads that an engine left running


if __name__ == "__main__":
    # Call the imported module, not __main__, so that the parent can unpickle the answer's types.
    from streamlab.lab.gate.arm_inspection import main as run

    run(sys.argv[1:])
