"""Prints the requirements in `pyproject.toml`, one per line: build, core and every extra.

The set-up installs these requirements, pinned by `constraints.txt`, before the project, so that the
project's build needs no network. This script needs only the standard library, because nothing is installed yet.
"""

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: Path) -> list[str]:
    """Return the requirements in `pyproject`, sorted and without duplicates."""
    with pyproject.open("rb") as file:
        content = tomllib.load(file)
    project = content["project"]
    lines = set(content["build-system"]["requires"]) | set(project.get("dependencies", ()))
    for extra in project.get("optional-dependencies", {}).values():
        # Extra `all` names the project itself, which the set-up builds and does not download.
        lines |= {line for line in extra if not line.startswith(f"{project['name']}[")}
    return sorted(lines, key=str.lower)


if __name__ == "__main__":
    default = Path(__file__).resolve().parent.parent / "pyproject.toml"
    print("\n".join(requirements(Path(sys.argv[1]) if len(sys.argv) > 1 else default)))
