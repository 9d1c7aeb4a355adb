"""The folder of examples, copied to where a test may write."""

import shutil
import subprocess
import sys
from pathlib import Path

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
