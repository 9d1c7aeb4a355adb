"""The process in which one variant of an engine is tried on one workload.

`python -m streamlab.lab.conform.child ENGINE VARIANT WORKLOAD GROUP REPORT` appends a JSON line to REPORT
when a case begins and one when it has ended, so that a case that ends the process is known.
"""

import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from streamlab.engines.conformance import CASES, Case, CaseResult, Setting, run_case
from streamlab.engines.conformance_load import LOAD_CASES, LoadCase, run_load_case
from streamlab.engines.environment import activate
from streamlab.engines.protocol import Engine
from streamlab.engines.registry import engine as find_engine
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload as find_workload

USUAL, MORE_WORKERS = "usual", "more-workers"
GROUPS = (USUAL, MORE_WORKERS)
"""Cases by number of workers: some libraries fix that for a whole process."""

WORKERS = (2, 1)
"""The first that an engine accepts is taken."""


def main(arguments: list[str]) -> None:
    """Try the cases of a group, one after the other."""
    name, variant, reference, group, report = arguments
    activate(name)
    engine, workload = find_engine(name), find_workload(reference)
    with Path(report).open("a", encoding="utf-8") as file, tempfile.TemporaryDirectory() as scratch:

        def tell(**what: object) -> None:
            file.write(json.dumps(what) + "\n")
            file.flush()

        _try_group(engine, workload, variant, group, Path(scratch), tell)


def _try_group(
    engine: Engine,
    workload: Workload,
    variant: str,
    group: str,
    folder: Path,
    tell: Callable[..., None],
) -> None:
    takes_load = any(v.name == variant and v.takes_load for v in engine.variants())
    cases: list[Case | LoadCase] = [
        case for case in CASES if (case.extra_workers is not None) == (group == MORE_WORKERS)
    ]
    if group == USUAL and takes_load:
        cases += LOAD_CASES
    workers: tuple[int, ...] = WORKERS
    for number, case in enumerate(cases):
        tell(case=case.name, begun=True)
        try:
            for tried in workers:
                setting = Setting(variant=variant, workers=tried)
                found = _run(engine, workload, case, setting, folder / f"{number}-{tried}")
                if found.unsupported is None:
                    workers = (tried,)
                    break
            tell(case=case.name, unsupported=found.unsupported, problems=found.problems)
        except Exception as error:
            traceback.print_exc()
            tell(case=case.name, crash=f"{type(error).__name__}: {error}")


def _run(
    engine: Engine, workload: Workload, case: Case | LoadCase, setting: Setting, folder: Path
) -> CaseResult:
    if isinstance(case, LoadCase):
        return run_load_case(engine, workload, case, setting, folder)
    return run_case(engine, workload, case, setting, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
