"""What only an arm's own process can tell of a repository: its cells, their input, where code lies.

    python -m streamlab.lab.gate.arm_inspection REQUEST ANSWER

The engines and workloads that a matrix names are importable there and nowhere else. The lab is the
same in parent and child, so what they tell each other is pickled.
"""

import os
import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamlab.engines.errors import EngineError
from streamlab.lab.errors import LabError
from streamlab.lab.gate.arm import Arm
from streamlab.lab.gate.code_location import Place, loaded_below, places, strays
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.trials import ORACLE_TIMEOUT_S, Work, check_cells, find_inputs, works
from streamlab.lab.isolate.process import run_isolated
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ModelError

_LAST_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a gate is to run.

    Attributes:
        works: by cell's id, with their input, which is made where it was not there.
        said: of making it.
    """

    works: Mapping[str, Work]
    said: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Asks for the plan of a matrix; attributes as in `lab gate`."""

    matrix: Path
    only: Sequence[str]
    master: str

    def answered(self) -> Plan:
        """Expand the matrix and make its inputs."""
        from streamlab.lab.matrix.cells import expand
        from streamlab.lab.matrix.matrix import read_matrix
        from streamlab.lab.runner.datasets import check_entries

        matrix = read_matrix(self.matrix)
        check_entries(matrix)
        cells = expand(matrix, self.only)
        check_cells(cells)
        said: list[str] = []
        datasets = find_inputs(cells, master=self.master, say=said.append)
        return Plan(works=works(cells, datasets), said=said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Where the code of cells lies.

    Attributes:
        places: by cell's id.
        absent: why a cell cannot be run, by its id.
        loaded: the files of the arm's own modules that were imported for them.
    """

    places: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    loaded: Sequence[Path] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """Asks where the code of cells lies.

    Attributes:
        parts: engine and workload by cell's id.
        checkout: where people work on the repository.
        projects: that have their source there (`streamlab.lab.gate.projects`).
        folder: the arm's folder.
    """

    parts: Mapping[str, tuple[str, str]]
    checkout: Path
    projects: frozenset[str]
    folder: Path

    def answered(self) -> Code:
        """Import all of them."""
        found: dict[str, Sequence[Place]] = {}
        absent: dict[str, str] = {}
        for cell, (engine, workload) in self.parts.items():
            try:
                found[cell] = places(engine, workload)
            except (EngineError, ModelError) as error:
                absent[cell] = str(error)
        stray = strays(self.checkout, self.projects)
        return Code(
            places={cell: (*own, *stray) for cell, own in found.items()},
            absent=absent,
            loaded=loaded_below(self.folder),
        )


def ask(arm: Arm, request: PlanRequest | CodeRequest, *, log: Path) -> Any:
    """Return an arm's answer to a request.

    Raises:
        GateError: it has none; the message says why.
    """
    with tempfile.TemporaryDirectory(prefix="lab-gate-") as name:
        folder = Path(name)
        asked, answer = folder / "request", folder / "answer"
        asked.write_bytes(pickle.dumps(request))
        outcome = run_isolated(
            [
                str(word)
                for word in (arm.python, "-m", "streamlab.lab.gate.arm_inspection", asked, answer)
            ],
            log=log,
            timeout_s=ORACLE_TIMEOUT_S,
            env=arm.environment(),
            folder=folder,
        )
        found = pickle.loads(answer.read_bytes()) if answer.exists() else None
    if isinstance(found, str):
        lacks = "; ".join(["", *find_gaps(arm.tree, arm.checkout)])
        raise GateError(f"{arm.name} arm, {arm.revision}: {found}{lacks}")
    if found is None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = " | ".join(line.strip() for line in lines[-_LAST_LINES:])
        raise GateError(
            f"{arm.name} arm, {arm.revision}: looking at its cells ended with code "
            f"{outcome.returncode}: {last} ({log})"
        )
    return found


def main(arguments: Sequence[str]) -> None:
    """Answer a request; what a person has done wrong is answered in words."""
    request, answer = map(Path, arguments)
    asked: PlanRequest | CodeRequest = pickle.loads(request.read_bytes())
    try:
        found: object = asked.answered()
    except (LabError, ModelError, DatasetError, EngineError) as error:
        found = str(error)
    partial = answer.with_suffix(".partial")
    partial.write_bytes(pickle.dumps(found))
    partial.replace(answer)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # whatever threads an engine has left


if __name__ == "__main__":
    # Not as __main__: the answer's types are those that the parent knows.
    from streamlab.lab.gate.arm_inspection import main as run

    run(sys.argv[1:])
