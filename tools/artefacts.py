"""Downloads the packages of an image into a folder, from which `make image ARTEFACTS=FOLDER` needs no registry.

Usage: tools/artefacts.py FOLDER REQUIREMENTS CONSTRAINTS ENGINE...

The wheels suit the Python that runs this script, so the base image needs the same version.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from streamlab.engines.broker import broker
from streamlab.engines.environment import declared_environment
from streamlab.engines.registry import engine


def locks(name: str) -> tuple[Path, ...]:
    """Return the lock files of an engine's environment, or of the broker's environment."""
    environment = broker.ENVIRONMENT if name == broker.NAME else declared_environment(engine(name))
    if environment is None:
        return ()
    if not environment.installs:
        sys.exit(f"engine {name} takes no packages from a folder: leave it out of ENGINES")
    return (environment.lock, *environment.further)


def download(folder: Path, requirements: Path, constraints: Path, engines: list[str]) -> None:
    """Download wheels of the lab and of engines, and fill a Maven repository with the engines' jars."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", folder / "wheels"]
    pinned_options = ["--constraint", constraints, "--requirement", requirements]
    subprocess.run([*pip, "--use-pep517", *pinned_options], check=True)
    for lock in (lock for name in engines for lock in locks(name)):
        if lock.suffix == ".xml":
            maven = ["mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={folder / 'maven'}"]
            with TemporaryDirectory() as jars:
                goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
                subprocess.run([*maven, "--file", lock, *goal], check=True)
        else:
            subprocess.run([*pip, "--no-deps", "--requirement", lock], check=True)


if __name__ == "__main__":
    folder, requirements, constraints, *engines = sys.argv[1:]
    download(Path(folder).absolute(), Path(requirements), Path(constraints), engines)
