"""Examples that tests copy to a folder of their own, or install there."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.processes import run_python

EXAMPLES = Path(__file__).parents[1] / "examples"


def sensors(folder: Path, rows: int = 3000) -> Path:
    """Copy the example of a workload from CSV, with its data recorded; return the workload."""
    source = EXAMPLES / "workload_from_csv"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "sensors.py", folder)
    recorded = subprocess.run(
        [sys.executable, str(source / "record.py"), str(rows)], capture_output=True, check=True
    )
    (folder / "sensors.csv").write_bytes(recorded.stdout)
    return folder / "sensors.py"


def install(package: Path, site: Path) -> None:
    """Install a package into a folder, as a user would, without the network."""
    run_python(
        *("-m", "pip", "--disable-pip-version-check", "install", "--quiet"),
        *("--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)),
        str(package),
        check=True,
    )
