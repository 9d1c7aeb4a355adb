"""Runs conformance cases of one variant on one workload, in a child process.

    python -m streamlab.lab.conform.child ENGINE VARIANT WORKLOAD GROUP REPORT

The process appends a JSON line to REPORT when a case starts and when a case ends, so that the parent
knows which case crashed the process.
"""

import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from streamlab.engines.conformance import CASES, Case, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, LoadCase, run_load_case
from streamlab.engines.environment import activate
from streamlab.engines.protocol import Engine
from streamlab.engines.registry import engine as find_engine
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload as find_workload

USUAL, MORE_WORKERS = "usual", "more-workers"
GROUPS = (USUAL, MORE_WORKERS)
"""Groups of cases by number of workers, because some libraries cannot change this number within a process."""

WORKERS = (2, 1)
"""Numbers of workers to try; all cases run with the first number that the engine accepts."""


def main(arguments: list[str]) -> None:
    """Run the cases of a group one by one."""
    name, variant, reference, group, report = arguments
    activate(name)
    engine, workload = find_engine(name), find_workload(reference)
    with Path(report).open("a", encoding="utf-8") as file, tempfile.TemporaryDirectory() as scratch:

        def report_line(**fields: object) -> None:
            file.write(json.dumps(fields) + "\n")
            file.flush()

        _run_group(engine, workload, variant, group, Path(scratch), report_line)


def _run_group(
    engine: Engine,
    workload: Workload,
    variant: str,
    group: str,
    folder: Path,
    report_line: Callable[..., None],
) -> None:
    """Run the cases of a group, and report each case's start and result with `report_line`."""
    takes_load = any(v.name == variant and v.takes_load for v in engine.variants())
    cases: list[Case | LoadCase] = [
        case for case in CASES if (case.extra_workers is not None) == (group == MORE_WORKERS)
    ]
    if group == USUAL and takes_load:
        cases += LOAD_CASES
    workers: tuple[int, ...] = WORKERS
    for number, case in enumerate(cases):
        report_line(case=case.name, begun=True)
        try:
            for count in workers:
                setting = Setting(variant=variant, workers=count)
                case_folder = folder / f"{number}-{count}"
                if isinstance(case, LoadCase):
                    result = run_load_case(engine, workload, case, setting, case_folder)
                else:
                    result = run_case(engine, workload, case, setting, case_folder)
                if result.unsupported is None:
                    workers = (count,)
                    break
            report_line(case=case.name, unsupported=result.unsupported, problems=result.problems)
        except Exception as error:
            traceback.print_exc()
            report_line(case=case.name, crash=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
