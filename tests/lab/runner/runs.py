"""The lab's command line called within a test, and what it left of searches."""

import json
from pathlib import Path

from streamlab.lab.cli import call


def run_lab(capsys, *arguments):
    """Exit code, lines of standard output, and standard error of one `lab run`."""
    code = call(["run", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out.splitlines(), printed.err


def stored_searches(run_dir: Path) -> dict:
    """The records of a run's searches, by cell."""
    records = [json.loads(path.read_text()) for path in (run_dir / "searches").glob("*.json")]
    return {record["cell"]: record for record in records}
