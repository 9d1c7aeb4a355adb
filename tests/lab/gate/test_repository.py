"""`lab gate --repo` on a small repository with an engine of its own, built by its own command."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path

import psutil
import pytest

from streamlab.lab.cli import EXIT_GATE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.errors import GateError
from streamlab.lab.gate.comparison import revision_notes
from streamlab.lab.gate.repository import check_lab, find_repository
from streamlab.lab.gate.source import check_out, commit_working_tree, resolve
from tests.lab.gate.user_repository import PERSON, git
from tests.processes import Popen

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is absent here")

ROOT = Path(__file__).parents[3]
PATIENCE_S = 600
ROUNDS = 40_000
PIP = "pip install --no-deps --no-build-isolation --no-index --target {site} ."


def gate(repo, *arguments, against="main", repetitions=4):
    words = ("gate", "--repo", ".", "--against", against, str(repo.matrix), "--metric", "cpu")
    return call([*words, "--repetitions", str(repetitions), *arguments])


def test_a_commit_with_ten_times_the_work_fails(repo, capsys):
    """No load of a machine hides as much; twice the work may come out as inconclusive."""
    repo.works(10 * ROUNDS)
    repo.commit("Ten times the work")
    code = gate(repo, against="main~1")
    printed = capsys.readouterr()
    assert code == EXIT_GATE, printed
    assert "REGRESSION" in printed.out and "crunch/sequential" in printed.out
    assert git(repo.folder, "worktree", "list").count("\n") == 0
    assert git(repo.folder, "status", "--porcelain") == ""


@pytest.mark.full
def test_a_revision_that_pip_builds_passes_against_itself(repo, capsys):
    # On a busy machine the cell may be unstable; a difference it must not have.
    code = gate(repo, "--build", PIP, "--allow-inconclusive")
    printed = capsys.readouterr()
    assert code == EXIT_OK, printed
    assert printed.err.count(f"building main ({git(repo.folder, 'rev-parse', 'HEAD')[:12]}") == 1
    assert "| cpu " in printed.out and "REGRESSION" not in printed.out


@pytest.mark.full
def test_a_build_folder_that_is_committed_has_no_verdict(repo, capsys):
    shutil.copytree(repo.folder / "crunch", repo.folder / "build" / "lib" / "crunch")
    repo.commit("By mistake")
    repo.works(2 * ROUNDS)
    repo.commit("Twice the work")
    # Files that are no older than their sources are not copied again by setuptools.
    build = f"find build -type f -exec touch {{}} +; {PIP}"
    assert gate(repo, "--build", build, against="main~1") == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert (
        "crunch/engine.py is not its source crunch/engine.py but the committed file build/lib/crunch"
        in err
    )
    assert "no verdict" in err and "git rm -r --cached build" in err


@pytest.mark.full
def test_the_documented_commands_pass(repo, monkeypatch):
    text = (ROOT / "docs" / "gates.md").read_text()
    section = text.split("## Your own repository\n")[1].split("\n## ")[0]
    commands = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert ["--build" in command for command in commands] == [True, False]
    # Tests have no network.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "lab"
        assert call(words) in (EXIT_OK, EXIT_INCONCLUSIVE), command


def test_a_failed_build_shows_the_end_of_its_output(repo, capsys):
    build = "read line || echo 'no input'; echo 'widget.h: no such file' >&2; exit 3"
    assert gate(repo, "--build", build) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert "does not build (code 3)" in err
    assert "\n  no input\n  widget.h: no such file\n" in err
    log = Path(err.split("full log: ")[1].strip())
    assert "widget.h" in log.read_text()


def test_a_build_that_does_not_end_is_ended(repo, capsys):
    build = "echo begun; sleep 600"
    assert gate(repo, "--build", build, "--build-timeout", "1") == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert "did not build in 1 s (--build-timeout)" in err and "\n  begun\n" in err


def test_an_interrupted_build_is_ended_with_all_that_it_started(repo, tmp_path):
    up = tmp_path / "up"
    build = f"sleep 600 & touch {up}; wait"
    words = ["gate", "--repo", ".", "--against", "main", str(repo.matrix), "--build", build]
    with Popen(
        [sys.executable, "-m", "streamlab", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
        stderr=subprocess.PIPE,
    ) as process:
        while not up.exists():
            with suppress(subprocess.TimeoutExpired):
                raise AssertionError(process.wait(0.02), process.stderr.read())
        # The shell and what it started: a child of the shell, whether it is `sleep` yet or not.
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert len(below) >= 2
    assert [child for child in below if child.is_running()] == []
    assert git(repo.folder, "worktree", "list").count("\n") == 0


def test_uncommitted_changes_are_measured_as_a_commit_and_reported(repo, tmp_path):
    repo.works(3 * ROUNDS)
    revisions = (resolve(repo.folder, "main"), commit_working_tree(repo.folder))
    with repo.arms(tmp_path) as arms:
        texts = [(arm.tree / "crunch" / "engine.py").read_text() for arm in arms]
    assert f"ROUNDS = {ROUNDS}\n" in texts[0] and f"ROUNDS = {3 * ROUNDS}\n" in texts[1]
    note = revision_notes(repo.folder, revisions, plant=0, logs=tmp_path)[0]
    assert "the gate measures commits" in note and revisions[1].commit[:12] in note
    same = revision_notes(repo.folder, (revisions[0],) * 2, plant=0, logs=tmp_path)
    assert "both revisions have the same files" in same[0] and "commits" not in " ".join(same)


def test_a_build_in_its_own_folder_is_announced_by_its_pyproject(repo, tmp_path):
    command = "echo ${HOME:+there} > in-place; test -d {source}"
    with repo.arms(tmp_path, command) as (old, _):
        assert (old.tree / "in-place").read_text() == "there\n"
        (found,) = distributions(path=[str(old.path[0])])
        assert (found.name, found.version) == ("crunch-engine", "1.0")
        assert {(point.group, point.value) for point in found.entry_points} == {
            ("lab.engines", "crunch.engine:Crunch"),
            ("lab.workloads", "crunch.workload:WORKLOAD"),
        }


def test_arms_share_no_cache_of_compiled_code(repo, tmp_path):
    with repo.arms(tmp_path) as arms:
        for name in ("LAB_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            folders = [Path(arm.environment()[name]) for arm in arms]
            assert folders[0] != folders[1]
            assert all(
                folder.is_relative_to(arm.tree.parent)
                for folder, arm in zip(folders, arms, strict=True)
            )


def test_an_engine_installed_outside_the_repository_is_refused(repo, tmp_path, capsys, monkeypatch):
    installed = tmp_path / "installed"
    facts = installed / "elsewhere-1.0.dist-info"
    facts.mkdir(parents=True)
    shutil.copy(repo.folder / "crunch" / "engine.py", installed / "elsewhere.py")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[lab.engines]\nelsewhere = elsewhere:Crunch\n")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    repo.takes("event_window", "elsewhere")
    assert gate(repo) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert f"the new arm imports engine 'elsewhere' from {installed / 'elsewhere.py'}" in err
    assert "not from its build in /" in err and "{site}" in err


@pytest.mark.full
def test_a_module_of_the_checkout_in_an_arm_is_refused(repo, tmp_path, capsys, monkeypatch):
    native = repo.folder / "native"
    native.mkdir()
    (native / "crunch_native.py").write_text("")
    (repo.folder / ".gitignore").write_text("native\n")
    with (repo.folder / "crunch" / "engine.py").open("a") as text:
        text.write("import crunch_native\n")
    repo.commit("A part that is not built")
    monkeypatch.setenv("PYTHONPATH", str(native))
    assert gate(repo) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert f"imports module 'crunch_native' from {native / 'crunch_native.py'}" in err


@pytest.mark.full
@pytest.mark.some(1)
@pytest.mark.parametrize(
    "evidence",
    [
        "pyproject.toml",
        "direct_url.json",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("setup.cfg", "setup.py")),
    ],
)
def test_another_package_of_the_repository_that_is_installed_is_refused(
    repo, tmp_path, capsys, monkeypatch, evidence
):
    source, installed = repo.folder / "part", tmp_path / "site-packages"
    facts = installed / "crunch_part-1.0.dist-info"
    for folder in (source, facts):
        folder.mkdir(parents=True)
    for folder in (source, installed):
        (folder / "crunch_part.py").write_text("")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: Crunch.Part\nVersion: 1.0\n")
    (facts / "RECORD").write_text("crunch_part.py,,\n")
    written = {
        "pyproject.toml": '[project]\nname = "crunch-part"\n',
        "setup.cfg": "[metadata]\nname = crunch_part\n",
        "setup.py": 'from setuptools import setup\nsetup(name="crunch-part")\n',
        "direct_url.json": f'{{"url": "{source.as_uri()}", "dir_info": {{}}}}',
    }
    where = facts if evidence == "direct_url.json" else source
    (where / evidence).write_text(written[evidence])
    with (repo.folder / "crunch" / "engine.py").open("a") as text:
        text.write("import crunch_part\n")
    repo.commit("A part that is installed for itself")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    assert gate(repo) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert f"imports module 'crunch_part' from {installed / 'crunch_part.py'}" in err
    assert "let --build install it into {site}" in err


def test_a_package_that_hides_one_of_the_lab_is_refused(repo, tmp_path):
    for name in ("__init__.py", "engines/registry.py", "lab/trial.py", "results/schema.py"):
        file = repo.folder / "streamlab" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    repo.commit("A package called like the lab's")
    # An editable install of the lab comes before all paths; this interpreter has none.
    packages = Path(sysconfig.get_path("purelib"))
    with (
        repo.arms(tmp_path) as (arm, _),
        pytest.raises(GateError, match=r"\(source/streamlab/engines/registry\.py\) hides"),
    ):
        base = Path(sys._base_executable)
        check_lab(replace(arm, python=base, path=(*arm.path, ROOT, packages)))


def test_a_cell_of_nothing_but_the_lab_is_refused(repo, capsys):
    repo.takes("event_window", "reference")
    assert gate(repo) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert "engine and workload are the lab's, and the same" in err and "--only" in err


WRONG = """
from streamlab.workloads.suite.event_window import WORKLOAD as BASE
import dataclasses

def oracle(data):
    return {name: column[:-1] for name, column in BASE.oracle(data).items()}

WORKLOAD = dataclasses.replace(BASE, name="mine", input="event_window", oracle=oracle)
"""


# Each builds two revisions and runs eight processes; the name's two forms differ in the registry.
@pytest.mark.full
@pytest.mark.parametrize(
    "reference",
    [
        "mine.py",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("crunched", "crunch.workload:WORKLOAD")
        ),
    ],
)
def test_a_workload_is_that_of_each_arm(repo, reference, capsys):
    file = "mine.py" if reference == "mine.py" else "crunch/workload.py"
    repo.has_workload("mine.py", "mine")
    repo.commit("A workload")
    wrong = WRONG if file == "mine.py" else WRONG.replace('"mine"', '"crunched"')
    (repo.folder / file).write_text(wrong)
    repo.commit("One output is expected no more")
    repo.takes(reference, "reference")
    # The input is there under the name of event_window, which both take.
    assert gate(repo, against="main~1") == EXIT_GATE
    out = capsys.readouterr().out
    assert "BROKEN" in out and "new: wrong_output" in out


@pytest.mark.full
def test_a_workload_outside_the_repository_is_refused(repo, tmp_path, capsys):
    shutil.copy(repo.folder / "crunch" / "workload.py", tmp_path / "far.py")
    repo.takes("../far.py", "crunch")
    assert gate(repo) == EXIT_USER_ERROR
    assert f"far.py' from {tmp_path / 'far.py'}" in capsys.readouterr().err


@pytest.mark.full
def test_a_cell_of_only_the_new_revision_is_reported_and_compares_nothing(repo, capsys):
    git(repo.folder, "checkout", "-q", "--orphan", "bare")
    git(repo.folder, "rm", "-rqf", "--cached", ".")
    git(repo.folder, "commit", "-q", "--allow-empty", "-m", "Nothing yet")
    git(repo.folder, "checkout", "-qf", "main")
    assert gate(repo, against="bare") == EXIT_INCONCLUSIVE
    out = capsys.readouterr().out
    assert "INCONCLUSIVE: nothing was compared" in out
    assert "old: no engine 'crunch'" in out and "added" in out


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "reference",
    [
        "fresh.mine:WORKLOAD",
        "mine.py",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("mine:WORKLOAD", "crunch.mine:WORKLOAD")
        ),
    ],
)
def test_a_reference_of_only_the_new_revision_is_reported_as_added(repo, reference, capsys):
    path = reference if reference.endswith(".py") else reference.split(":")[0].replace(".", "/")
    (repo.folder / "fresh").mkdir()
    repo.has_workload(f"{path.removesuffix('.py')}.py", "mine")
    repo.commit("A workload")
    repo.takes(reference, "crunch")
    assert gate(repo, against="main~1") == EXIT_INCONCLUSIVE
    out = capsys.readouterr().out
    assert "INCONCLUSIVE: nothing was compared" in out and "added" in out
    assert "old: " in out and "mine" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "nowhere"], "--against 'nowhere' is not a revision of"),
        (
            ["--against", "main", "--repo", "/"],
            "in /: fatal: not a git repository",
        ),
        (["--against", "main", "--repo", str(ROOT)], "is the lab's own source: omit --repo"),
        (
            ["--against", "main", "--metric", "instructions", "--plant", "5"],
            "--plant adds time, not instructions",
        ),
        (["--against", "main", "--only", "none/*"], "--only 'none/*' matches no cell"),
        (["--baseline", "old"], "--repo requires --against"),
    ],
)
def test_an_impossible_gate_is_one_sentence(repo, arguments, message, capsys):
    assert call(["gate", "--repo", ".", str(repo.matrix), *arguments]) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err


def test_a_gate_that_git_calls_from_a_hook_looks_at_its_own_folder(repo, tmp_path, monkeypatch):
    head = git(repo.folder, "rev-parse", "HEAD")
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / ".git" / "index"))
    assert find_repository(repo.folder) == repo.folder
    assert resolve(repo.folder, "main").commit == head
    assert commit_working_tree(repo.folder).commit == head


MISCHIEF = """
git checkout -q -b stolen
git commit -q --allow-empty -m stolen && git tag stolen && git update-ref refs/heads/main HEAD
git config core.bare true; git config user.name stolen
git -c protocol.file.allow=always submodule add -q {other} stolen
git worktree add -q {site}/tree
git init -q; git branch; false
"""


@pytest.mark.parametrize("hook", [True, False])
def test_nothing_that_a_build_does_with_git_reaches_the_repository(
    repo, tmp_path, monkeypatch, hook
):
    def state():
        words = ("for-each-ref", "worktree list", "stash list", "status --porcelain", "config -l")
        files = [name for name in sorted((repo.folder / ".git").rglob("*")) if name.is_file()]
        kept = {file: file.read_bytes() for file in files if "objects" not in file.parts}
        return kept, [git(repo.folder, *word.split()) for word in words]

    git(tmp_path, "init", "-q", "other")
    git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "Other")
    command = MISCHIEF.replace("{other}", str(tmp_path / "other"))
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    before = state()
    if hook:
        monkeypatch.setenv("GIT_DIR", str(repo.folder / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(repo.folder))
    with (
        pytest.raises(GateError, match="does not build"),
        repo.arms(tmp_path, command),
    ):
        pass
    assert "* stolen" in (tmp_path / "build-old.log").read_text()
    assert state() == before


def test_a_checkout_has_the_tags_and_remotes_of_its_repository_for_builds_that_ask(repo, tmp_path):
    git(repo.folder, "tag", "-a", "v1.2", "-m", "A version")
    git(repo.folder, "remote", "add", "origin", "https://localhost/crunch.git")
    git(repo.folder, "config", "submodule.part.url", "https://localhost/part.git")
    repo.works(3 * ROUNDS)
    check_out(repo.folder, commit_working_tree(repo.folder).commit, folder := tmp_path / "new")
    assert git(folder, "describe").startswith("v1.2-1-g")
    assert git(folder, "remote", "get-url", "origin") == "https://localhost/crunch.git"
    assert git(folder, "config", "submodule.part.url") == "https://localhost/part.git"
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("kind", ["shallow", "partial", "worktree", "sparse", "submodule"])
def test_a_commit_is_checked_out_whole_whatever_its_repository_lacks(repo, tmp_path, kind):
    other = tmp_path / "other"
    clone = {
        "shallow": ["clone", "-q", "--depth=1", repo.folder.as_uri(), str(other)],
        "partial": ["clone", "-q", "--filter=blob:none", repo.folder.as_uri(), str(other)],
        "worktree": ["worktree", "add", "-q", "--detach", str(other)],
        "sparse": ["clone", "-q", "--no-checkout", str(repo.folder), str(other)],
        "submodule": ["init", "-q", str(other)],
    }
    git(repo.folder, "config", "uploadpack.allowFilter", "true")
    git(repo.folder, *clone[kind])
    if kind == "sparse":
        git(other, "sparse-checkout", "set", "docs")
        git(other, "checkout", "-q", "main")
        assert not (other / "crunch").exists()
    elif kind == "submodule":
        words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
        git(other, *words, str(repo.folder), "part")
        other = other / "part"
    (other / "pyproject.toml").write_text("")
    revision = commit_working_tree(other)
    check_out(other, revision.commit, folder := tmp_path / "new")
    assert (folder / "crunch" / "engine.py").is_file()
    assert (folder / "pyproject.toml").read_text() == ""
    assert git(folder, "diff", "--name-only", "HEAD~", "HEAD") == "pyproject.toml"


def test_the_lab_is_not_built_from_another_repository(repo, capsys):
    assert call(["gate", "--against", "main", str(repo.matrix)]) == EXIT_USER_ERROR
    err = capsys.readouterr().err
    assert f"{repo.folder} is not the lab's source" in err and f"--repo {repo.folder}" in err
