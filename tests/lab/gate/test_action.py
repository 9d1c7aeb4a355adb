"""The GitHub action gates a small repository: its steps run in a shell, with a script in place of `gh`."""

import os
import shutil
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

from streamlab.lab.cli import EXIT_GATE, EXIT_OK, EXIT_USER_ERROR
from tests.lab.gate.action_runner import run_action
from tests.lab.gate.user_repository import git

pytestmark = pytest.mark.skipif(
    None in map(shutil.which, ("bash", "git")), reason="the steps need bash and git; absent here"
)

ACTION = Path(__file__).parents[3] / "action.yml"
ROUNDS = 40_000
PIP = "python -m pip install --no-deps --no-build-isolation --no-index --target {site} ."

# A stand-in for `gh`: lists the comments in a folder, replaces one, or adds one.
GH = """#!/bin/sh
set -eu
cd "$(dirname "$0")/../../comments"
case "$*" in
    "api --paginate repos/o/crunch/issues/7/comments --jq "*) ls ;;
    "api --silent --method PATCH repos/o/crunch/issues/comments/"*) cp "${7#body=@}" "${5##*/}" ;;
    "api --silent repos/o/crunch/issues/7/comments -F "*) cp "${5#body=@}" 1 ;;
    *) exit 1 ;;
esac
"""

PULL_REQUEST = {"event_name": "pull_request", "base_ref": "main", "event": {"number": 7}}


class Forge:
    """Runs the action on a pull request, in an environment that has the lab and can install packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False)
        (site,) = (folder / "venv").glob("lib/python*/site-packages")
        lab = sysconfig.get_path("purelib")
        (site / "lab.pth").write_text(f"import site; site.addsitedir({lab!r})\n")
        (folder / "comments").mkdir()
        gh = folder / "venv" / "bin" / "gh"
        gh.write_text(GH)
        gh.chmod(0o755)

    def run(self, repo, github=PULL_REQUEST, **inputs):
        options = yaml.safe_load(ACTION.read_text())["inputs"]["options"]["default"]
        defaults = {"matrix": repo.matrix.name, "lab": "stream-lab", "install": ""}
        return run_action(
            ACTION,
            {**defaults, "options": f"{options} --repetitions 4", **inputs},
            github=github,
            folder=self.folder,
            env={
                "PATH": f"{self.folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
                "GITHUB_REPOSITORY": "o/crunch",
                # Tests have no network.
                "PIP_NO_INDEX": "1",
                "PIP_NO_BUILD_ISOLATION": "0",
            },
        )

    def comments(self):
        return {path.name: path.read_text() for path in (self.folder / "comments").iterdir()}


@pytest.fixture
def forge(tmp_path, repo):
    git(repo.folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    return Forge(tmp_path)


@pytest.mark.full
def test_a_planted_slow_down_fails_with_summary_comment_and_artifact(repo, forge):
    repo.works(10 * ROUNDS)
    repo.commit("Ten times the work")
    done = forge.run(repo, comment="true")
    assert done.code == EXIT_GATE, done.log
    assert done.outputs == {"exit-code": str(EXIT_GATE)}
    assert done.summary.startswith("### Gate FAILED: 1 of 2\n") and "REGRESSION" in done.summary
    assert forge.comments() == {"1": f"<!-- stream-lab gate -->\n{done.summary}"}
    assert [file.name for file in done.uploaded["lab-gate"]] == [
        *("comment.md", "gate.json", "gate.md", "gate.xml")
    ]


@pytest.mark.full
def test_a_clean_change_that_pip_builds_passes_and_replaces_the_comment(repo, forge):
    (repo.folder / "README.md").write_text("An engine.\n")
    repo.commit("Say what it is")
    (forge.folder / "comments" / "5").write_text("FAILED")
    done = forge.run(repo, build=PIP, install=".", against="main~1", comment="true")
    assert done.code == EXIT_OK, done.log
    assert "REGRESSION" not in done.summary and "| cpu " in done.summary
    assert git(repo.folder, "status", "--porcelain", "--ignored") == ""
    assert forge.comments() == {"5": f"<!-- stream-lab gate -->\n{done.summary}"}


def test_a_gate_that_cannot_run_says_so_in_the_summary_and_fails(repo, forge):
    repo.commit("Nothing")
    (forge.folder / "comments").rmdir()
    done = forge.run(repo, matrix="none.toml", comment="true", artifact="other")
    assert done.code == EXIT_USER_ERROR, done.log
    assert done.summary == "### Gate: no verdict (exit code 2); the log of the job says why\n"
    assert "none.toml" in done.log and "::warning::no comment on the pull request" in done.log
    assert [file.name for file in done.uploaded["other"]] == ["comment.md", "gate.md"]


def test_without_a_pull_request_the_older_revision_is_the_parent(repo, forge):
    parent = repo.commit("Nothing")
    repo.works(2 * ROUNDS)
    repo.commit("Twice the work")
    done = forge.run(repo, {"event_name": "push"}, build="exit 3", comment="true")
    assert done.code == EXIT_USER_ERROR
    assert f"{parent[:12]} does not build (code 3)" in done.log, done.log
    assert forge.comments() == {}
