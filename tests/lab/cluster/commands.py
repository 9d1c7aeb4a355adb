"""Runs commands of the lab with folders of their own."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

LAB = Path(sysconfig.get_path("scripts")) / "lab"
ROOT_ONLY = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2"
)


def run_command(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `lab` with folders below `place`."""
    folders = {f"LAB_{name.upper()}": str(place / name) for name in ("clusters", "runs", "data")}
    return subprocess.run(
        [LAB, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | folders,
        check=False,
    )
