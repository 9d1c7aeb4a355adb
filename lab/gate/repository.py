"""Arms of a repository that is not this lab's: each revision built by its owner's command.

    <scratch>/old/source/   its files, in a repository that no command of the build leads out of
    <scratch>/old/site/     what the command has put there; of pure Python, what it announces
    <scratch>/old/cache/    what its trials compile
    <scratch>/new/...       the same

Both are made anew for every gate, one after the other with one command, so that no build of
another day or with other tools can be compared. The lab is the installed one, the same for both.
"""

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.gate.arm import Arm, imported
from streamlab.lab.gate.build import BUILD_TIMEOUT_S, Say, build_path
from streamlab.lab.gate.entry_points import announce
from streamlab.lab.gate.errors import GateError
from streamlab.lab.gate.missing_files import find_gaps
from streamlab.lab.gate.source import Revision, check_out
from streamlab.lab.host.git import GitError, git
from streamlab.lab.host.installation import IMPORT_ROOT, SOURCE
from streamlab.lab.isolate.process import run_isolated

SITE, FOLDER = "{site}", "{source}"
_LAST_LINES = 20
_OF_THE_LAB = (
    "streamlab.engines.registry",
    "streamlab",
    "streamlab.lab.trial",
    "streamlab.results.schema",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a revision is built.

    Attributes:
        command: for /bin/sh, in the source's folder; `{site}` stands for the folder that is first
            on the path of trials, `{source}` for the source's. None: of pure Python, nothing to do.
        timeout_s: it is ended after so long.
    """

    command: str | None = None
    timeout_s: float = BUILD_TIMEOUT_S


def repository(place: Path) -> Path:
    """Return the root of the repository that a folder lies in.

    Raises:
        GateError: it lies in none, or in this lab's own.
    """
    try:
        root = Path(git(place, "rev-parse", "--show-toplevel"))
    except GitError as error:
        raise GateError(f"--repo {place} has no revisions that could be built: {error}") from error
    if (root / "lab" / "gate" / Path(__file__).name).is_file():
        raise GateError(
            f"--repo {place} is the lab's own source: leave out --repo and --build, and "
            "`lab gate --against REV MATRIX` builds the lab in both revisions"
        )
    return root


@contextmanager
def built(
    root: Path, revisions: tuple[Revision, Revision], recipe: Recipe, *, logs: Path, say: Say
) -> Iterator[tuple[Arm, Arm]]:
    """Have both revisions built in the block, and gone after it.

    Args:
        root: of the repository.
        revisions: old and new.
        recipe: how they are built.
        logs: where the output of the builds is kept.
        say: is told what takes long.

    Raises:
        GateError: one does not build, or hides modules of the lab.
    """
    with tempfile.TemporaryDirectory(prefix="lab-gate-", ignore_cleanup_errors=True) as name:
        scratch = Path(name).resolve()
        old, new = (
            _arm(root, revision, recipe, scratch / side, logs / f"build-{side}.log", say)
            for revision, side in zip(revisions, ("old", "new"), strict=True)
        )
        yield old, new


def _arm(root: Path, revision: Revision, recipe: Recipe, folder: Path, log: Path, say: Say) -> Arm:
    source, site = folder / "source", folder / "site"
    site.mkdir(parents=True)
    check_out(root, revision.commit, source)
    if recipe.command is not None:
        say(f"building {revision.shown}: {recipe.command}")
        _build(root, revision, recipe, source=source, site=site, log=log)
    if recipe.command is None or SITE not in recipe.command:
        announce(source, site)
    # A lab that runs from its source without being installed is found by nothing else.
    lab = [IMPORT_ROOT] if (SOURCE / "pyproject.toml").is_file() else []
    known = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    arm = Arm(
        name=folder.name,
        revision=revision.shown,
        python=Path(sys.executable),
        path=(site, source / "src", source, *lab, *map(Path, known)),
        tree=source,
        cache=folder / "cache",
        checkout=root,
    )
    check_lab(arm)
    return arm


def _build(
    root: Path, revision: Revision, recipe: Recipe, *, source: Path, site: Path, log: Path
) -> None:
    assert recipe.command is not None
    command = recipe.command.replace(SITE, shlex.quote(str(site)))
    command = command.replace(FOLDER, shlex.quote(str(source)))
    log.write_bytes(os.fsencode(f"# {command}\n"))
    # Its compilers are started by others, which do not pass an interrupt on: all of it is one tree.
    outcome = run_isolated(
        ["/bin/sh", "-c", f"cd {shlex.quote(str(source))} && {{ {command}\n}}"],
        log=log,
        timeout_s=recipe.timeout_s,
        env={"PATH": build_path(), "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    if outcome.timed_out:
        wrong = f"did not build in {recipe.timeout_s:g} s (--build-timeout)"
    elif outcome.returncode != 0:
        wrong = f"does not build (code {outcome.returncode})"
    else:
        return
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    said = "\n  ".join(["", *lines[-_LAST_LINES:]]) if lines else " it said nothing"
    lacks = "".join(f"\n{gap}" for gap in find_gaps(source, root))
    raise GateError(
        f"{revision.shown} {wrong}: {recipe.command}{said}{lacks}\nall that it said: {log}"
    )


def check_lab(arm: Arm) -> None:
    """Check that an arm's processes import the lab that runs here.

    Raises:
        GateError: the arm's own modules come in the way.
    """
    for name, file in zip(_OF_THE_LAB, imported(arm, _OF_THE_LAB), strict=True):
        if file.is_relative_to(arm.tree.parent):
            raise GateError(
                f"{arm.revision}: its {name} ({file.relative_to(arm.tree.parent)}) would be "
                f"imported instead of the lab's, which both arms share ({SOURCE}); build without "
                "dependencies (pip install --no-deps), or rename that package"
            )
