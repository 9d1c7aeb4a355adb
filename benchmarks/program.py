"""The core's benchmark programs: built by this environment, whatever cmake the machine has."""

import os
import subprocess
import sys
from pathlib import Path

from streamlab.lab.gate.build import build_path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/release/engines/multicore/core/bench"


def build_program(program: Path) -> None:
    """Build one of the core's benchmark programs; what is built already takes a moment.

    Args:
        program: in FOLDER. Another one is somebody's own, and is not built.

    Raises:
        SystemExit: it is not there and cannot be built; what is wrong has been printed.
    """
    if program.parent != FOLDER:
        if not program.exists():
            sys.exit(f"no program {program}; remedy: leave out --program, and it is built")
        return
    for step in (["--preset"], ["--build", "--target", program.name, "--preset"]):
        # The environment's own cmake: CMakeLists.txt asks for a newer one than Debian 12's.
        try:
            subprocess.run(
                ["cmake", *step, "release"],
                check=True,
                cwd=ROOT,
                env={**os.environ, "PATH": build_path()},
                stdout=sys.stderr,
            )
        except FileNotFoundError:
            sys.exit(f"no cmake beside {sys.executable} or on PATH; remedy: make dependencies")
        except subprocess.CalledProcessError as error:
            sys.exit(f"{program.name} does not build: {error}")
