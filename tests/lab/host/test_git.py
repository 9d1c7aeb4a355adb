"""Git runs in the named folder, whatever hook started the lab."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from streamlab.lab.host.git import GitError, environment, git, git_bytes
from streamlab.lab.isolate.process import run_isolated
from streamlab.lab.runner.provenance import revision
from tests.lab.gate.user_repository import PERSON

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is absent here")

ROOT = Path(__file__).parents[3]


def repository(folder: Path) -> Path:
    """Return a new repository with a file and a commit."""
    git(folder.parent, "init", "-q", "-b", "main", folder.name)
    (folder / "file").write_text("content\n")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "A file", env=PERSON)
    return folder


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """A repository whose hook has started this process, as git's variables say."""
    other = repository(tmp_path / "other")
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git" / "index",
        "GIT_OBJECT_DIRECTORY": other / ".git" / "objects",
        "GIT_PREFIX": "",
        "GIT_CONFIG_COUNT": 1,
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
    }.items():
        monkeypatch.setenv(name, str(value))
    return other


def test_no_variable_that_git_calls_local_or_that_a_push_sets_is_passed_on(monkeypatch):
    names = {*git(ROOT, "rev-parse", "--local-env-vars").split(), "GIT_QUARANTINE_PATH"}
    assert "GIT_DIR" in names
    for name in names:
        monkeypatch.setenv(name, "set")
    assert not names & environment().keys()


def test_settings_of_the_user_are_passed_on(monkeypatch):
    names = ("GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "GIT_AUTHOR_NAME", "GIT_ASKPASS", "GIT_COMMIT")
    for name in names:
        monkeypatch.setenv(name, "set")
    assert {*names} <= environment().keys()


def test_a_run_that_a_hook_starts_records_the_commit_of_its_own_code(hook):
    found = revision()
    if not (ROOT / ".git").exists():
        assert found.commit is None and "not a git repository" in found.reason
        return
    assert found.commit == git(ROOT, "rev-parse", "HEAD") != git(hook, "rev-parse", "HEAD")
    assert found.reason is None


def test_a_program_that_the_lab_starts_calls_git_in_its_own_folder(hook, tmp_path):
    own = repository(tmp_path / "own")
    log = tmp_path / "log"
    run_isolated(["git", "-C", str(own), "rev-parse", "--git-dir"], log=log, timeout_s=60)
    assert log.read_text().strip() == ".git"


def test_files_whose_names_are_no_text_keep_their_bytes(tmp_path):
    own = repository(tmp_path / "own")
    (own / os.fsdecode(b"raw\xff")).write_text("")
    names = ("ls-files", "-z", "--others")
    assert os.fsencode(git(own, *names)) == git_bytes(own, *names) == b"raw\xff\0"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("no repository", "not a git repository"),
        ("another owner", "detected dubious ownership in repository at"),
        ("no git", "git is not on PATH; install it"),
        ("an empty object", "is empty fatal: "),
        ("no commit", "fatal: "),
        ("a broken setting", "bad config line 1 in file"),
    ],
)
def test_the_error_has_the_words_of_git(damage, words, tmp_path, monkeypatch):
    own = repository(tmp_path / "own")
    if damage == "no repository":
        shutil.rmtree(own / ".git")
    elif damage == "another owner":
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    elif damage == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    elif damage == "an empty object":
        head = git(own, "rev-parse", "HEAD")
        loose = own / ".git" / "objects" / head[:2] / head[2:]
        loose.chmod(stat.S_IRUSR | stat.S_IWUSR)
        loose.write_bytes(b"")
    elif damage == "no commit":
        (own / ".git" / "refs" / "heads" / "main").unlink()
    else:
        (own / ".git" / "config").write_text("[core\n")
    with pytest.raises(GitError) as error:
        git(own, "log", "-1")
    assert f"git log in {own}: " in str(error.value)
    assert words in str(error.value) and "\n" not in str(error.value)
