"""Builds two revisions of another repository as arms, with the user's build command.

    <scratch>/old/source/   the files, in a separate repository
    <scratch>/old/site/     the command's output; for pure Python, the entry points
    <scratch>/old/cache/    code that the trials compile
    <scratch>/new/...       the same

Each gate builds both arms with the same command, so that their tools are equal.
Both arms use the installed lab.
"""

import os
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import LAB_MODULES, Arm, find_module_files
from streamlab.lab.gate.build import BUILD_TIMEOUT_S, Say, run_build
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.source import Revision, check_out
from streamlab.lab.host.git import GitError, git
from streamlab.lab.host.installation import IMPORT_ROOT, SOURCE, is_installed

SITE, FOLDER = "{site}", "{source}"
"""Placeholders in a build command."""
_SHOWN_LINES = 20
"""Last lines of a build's output that an error shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to build a revision.

    Attributes:
        command: command for /bin/sh, run in the source folder; `{site}` is the first folder on the
            trials' path, `{source}` the source folder. None: pure Python, no build.
    """

    command: str | None = None
    timeout_s: float = BUILD_TIMEOUT_S


def find_repository(folder: Path) -> Path:
    """Return the root of the repository that contains a folder; refuse the lab's own."""
    try:
        root = Path(git(folder, "rev-parse", "--show-toplevel"))
    except GitError as error:
        raise GateError(f"--repo {folder} has no revisions to build: {error}") from error
    if (root / "lab" / "gate" / Path(__file__).name).is_file():
        raise GateError(
            f"--repo {folder} is the lab's own source: omit --repo and --build; `lab gate --against "
            "REV MATRIX` builds both revisions of the lab"
        )
    return root


@contextmanager
def build_arms(
    root: Path, revisions: tuple[Revision, Revision], recipe: Recipe, *, logs: Path, say: Say
) -> Iterator[tuple[Arm, Arm]]:
    """Build both revisions as arms, and remove them after the block."""
    with tempfile.TemporaryDirectory(prefix="lab-gate-", ignore_cleanup_errors=True) as name:
        scratch = Path(name).resolve()
        old, new = (
            _build_arm(root, revision, recipe, scratch / side, logs / f"build-{side}.log", say)
            for revision, side in zip(revisions, ("old", "new"), strict=True)
        )
        yield old, new


def _build_arm(
    root: Path, revision: Revision, recipe: Recipe, folder: Path, log: Path, say: Say
) -> Arm:
    source, site = folder / "source", folder / "site"
    site.mkdir(parents=True)
    check_out(root, revision.commit, source)
    if recipe.command is not None:
        say(f"building {revision.label}: {recipe.command}")
        _run_command(root, revision, recipe, source=source, site=site, log=log)
    if recipe.command is None or SITE not in recipe.command:
        write_entry_points(source, site)
    # A lab that is not installed must be on the path of the arm's processes.
    lab = [] if is_installed() else [IMPORT_ROOT]
    user_paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    arm = Arm(
        name=folder.name,
        revision=revision.label,
        python=Path(sys.executable),
        path=(site, source / "src", source, *lab, *map(Path, user_paths)),
        tree=source,
        cache=folder / "cache",
        checkout=root,
    )
    check_lab(arm)
    return arm


def _run_command(
    root: Path, revision: Revision, recipe: Recipe, *, source: Path, site: Path, log: Path
) -> None:
    """Run the build command of a recipe; raise a GateError with the end of its output if it fails."""
    assert recipe.command is not None
    command = recipe.command.replace(SITE, shlex.quote(str(site)))
    command = command.replace(FOLDER, shlex.quote(str(source)))
    log.write_bytes(os.fsencode(f"# {command}\n"))
    shell = ["/bin/sh", "-c", f"cd {shlex.quote(str(source))} && {{ {command}\n}}"]
    outcome = run_build(shell, log=log, timeout_s=recipe.timeout_s)
    if outcome.timed_out:
        failure = f"did not build in {recipe.timeout_s:g} s (--build-timeout)"
    elif outcome.returncode != 0:
        failure = f"does not build (code {outcome.returncode})"
    else:
        return
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    output = "\n  ".join(["", *lines[-_SHOWN_LINES:]]) if lines else " (no output)"
    gaps = "".join(f"\n{gap}" for gap in find_gaps(source, root))
    raise GateError(f"{revision.label} {failure}: {recipe.command}{output}{gaps}\nfull log: {log}")


def check_lab(arm: Arm) -> None:
    """Refuse an arm whose modules hide modules of the lab."""
    modules = ("streamlab.engines.registry", *LAB_MODULES)
    for name, file in zip(modules, find_module_files(arm, modules), strict=True):
        if file.is_relative_to(arm.tree.parent):
            raise GateError(
                f"{arm.revision}: its {name} ({file.relative_to(arm.tree.parent)}) hides the "
                f"lab's ({SOURCE}); build without dependencies (pip install --no-deps), or rename "
                "that package"
            )


def write_entry_points(source: Path, site: Path) -> None:
    """Register the entry points of a source folder without installing it.

    Python reads entry points only from the metadata of installed distributions. This function
    writes such metadata from pyproject.toml, unless the file is missing or has no entry points.

    Raises:
        GateError: the file is not TOML, or its project table does not follow the standard.
    """
    file = source / "pyproject.toml"
    if not file.is_file():
        return
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("project", {})
        groups = {
            group: dict(points.items()) for group, points in project.get("entry-points", {}).items()
        }
        name = str(project["name"]) if groups else ""
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise GateError(f"{file}: wrong entry points: {type(error).__name__}: {error}") from error
    if not groups:
        return
    version = project.get("version", "0")
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    points = ConfigParser(delimiters=("=",), interpolation=None)
    points.optionxform = str  # type: ignore[assignment]  # names keep their case
    points.read_dict(groups)
    with (folder / "entry_points.txt").open("w", encoding="utf-8") as text:
        points.write(text)
