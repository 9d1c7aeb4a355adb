"""Inspects a repository from a process of an arm: its cells, their inputs, and its code's location.

    python -m streamlab.lab.gate.arm_inspection REQUEST ANSWER

Only the arm's processes can import the engines and workloads of a matrix.
Parent and child run the same lab, so they exchange pickles.
"""

import os
import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlab.engines.errors import EngineError
from streamlab.lab.errors import GateError, LabError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.code_location import Place, find_loaded_files, find_places, find_strays
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.trials import ORACLE_TIMEOUT_S, Work, check_cells, find_inputs, make_works
from streamlab.lab.isolate.process import run_isolated
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix
from streamlab.lab.runner.datasets import check_entries
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ModelError

_LAST_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cells that a gate runs."""

    works: Mapping[str, Work]
    messages: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Requests the plan of a matrix; attributes as in `lab gate`."""

    matrix: Path
    only: Sequence[str]
    master: str

    def answer(self) -> Plan:
        """Expand the matrix and make its inputs."""
        matrix = read_matrix(self.matrix)
        check_entries(matrix)
        cells = expand(matrix, self.only)
        check_cells(cells)
        messages: list[str] = []
        datasets = find_inputs(cells, master=self.master, say=messages.append)
        return Plan(works=make_works(cells, datasets), messages=messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The location of cells' code.

    Attributes:
        absent: why a cell cannot run, by cell id.
        loaded: files of the arm's modules that were imported for the cells.
    """

    places: Mapping[str, Sequence[Place]]
    absent: Mapping[str, str]
    loaded: Sequence[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """Requests the location of cells' code.

    Attributes:
        parts: engine and workload, by cell id.
        projects: names of the projects in it (`streamlab.lab.gate.projects`).
    """

    parts: Mapping[str, tuple[str, str]]
    checkout: Path
    projects: frozenset[str]
    folder: Path

    def answer(self) -> Code:
        """Import engines and workloads and return the location of their code."""
        located: dict[str, Sequence[Place]] = {}
        absent: dict[str, str] = {}
        for cell, (engine, workload) in self.parts.items():
            try:
                located[cell] = find_places(engine, workload)
            except (EngineError, ModelError) as error:
                absent[cell] = str(error)
        stray = find_strays(self.checkout, self.projects)
        return Code(
            places={cell: (*parts, *stray) for cell, parts in located.items()},
            absent=absent,
            loaded=find_loaded_files(self.folder),
        )


def inspect_arm(arm: Arm, request: PlanRequest | CodeRequest, *, log: Path) -> Any:
    """Run a request in an arm's process and return the answer, or raise the process's error."""
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
        result = pickle.loads(answer.read_bytes()) if answer.exists() else None
    if isinstance(result, str):
        lacks = "; ".join(["", *find_gaps(arm.tree, arm.checkout)])
        raise GateError(f"{arm.name} arm, {arm.revision}: {result}{lacks}")
    if result is None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = " | ".join(line.strip() for line in lines[-_LAST_LINES:])
        raise GateError(
            f"{arm.name} arm, {arm.revision}: the inspection of its cells ended with code "
            f"{outcome.returncode}: {last} ({log})"
        )
    return result


def main(arguments: Sequence[str]) -> None:
    """Answer a request; a user's error is answered with its message."""
    request, answer = map(Path, arguments)
    question: PlanRequest | CodeRequest = pickle.loads(request.read_bytes())
    try:
        result: object = question.answer()
    except (LabError, ModelError, DatasetError, EngineError) as error:
        result = str(error)
    partial = answer.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(result))
    partial.replace(answer)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # does not wait for threads that an engine left running


if __name__ == "__main__":
    # Imported, not run as __main__, so that the parent can unpickle the answer's types.
    from streamlab.lab.gate.arm_inspection import main as run

    run(sys.argv[1:])
