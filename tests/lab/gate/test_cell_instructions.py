"""Instructions of a repository's cells; valgrind counts them."""

import platform
import shutil

import pytest

from streamlab.lab.cli import EXIT_GATE, EXIT_USER_ERROR, call
from streamlab.lab.errors import GateError
from streamlab.lab.gate.cell_instructions import check_catch_up, check_valgrind
from streamlab.lab.gate.counted_run import MACHINE, Valgrind
from streamlab.lab.gate.instructions import count_line
from streamlab.lab.gate.outcome import Verdict
from streamlab.lab.gate.trials import Work
from streamlab.lab.load.spec import LoadSpec
from tests.lab.engine_trial import engine_trial
from tests.lab.gate.user_repository import UserRepository

ROUNDS = 40_000


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ([1000, 1001], [1050, 1051], Verdict.REGRESSION),
        ([1000, 1100], [1050, 1150], Verdict.UNSTABLE),
        ([1000, 1001], [1000, 1002], Verdict.UNCHANGED),
        ([1000, 1001], [950, 951], Verdict.IMPROVED),
        ([1000, 1030], [1000, 1030], Verdict.UNCHANGED),
        ([1000], [1050], Verdict.REGRESSION),
    ],
)
def test_a_change_must_exceed_the_difference_of_repeated_counts(old, new, word):
    assert count_line("a cell", old, new).word is word


def test_a_cell_under_a_load_is_refused_with_the_remedy():
    job = engine_trial(load=LoadSpec(rate_eps=1000, warm_up_s=0, window_s=1))
    with pytest.raises(GateError, match="gate this cell with --metric p99"):
        check_catch_up({"a/cell": Work(key="a", slug="a-cell", timeout_s=60, job=job)})


def test_a_missing_valgrind_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(platform, "machine", lambda: MACHINE)
    with pytest.raises(GateError, match="apt-get install -y valgrind"):
        check_valgrind()


@pytest.mark.skipif(platform.machine() != MACHINE, reason="machine code of x86-64")
def test_a_request_outside_of_valgrind_does_nothing():
    assert [Valgrind().request(number) for number in (0x1001, 0x43540004)] == [0, 0]


@pytest.mark.full
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is absent here")
@pytest.mark.skipif(platform.machine() != MACHINE, reason="counts on x86-64 alone")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is absent here")
def test_five_percent_more_work_in_a_repository_is_seen_by_its_instructions(
    tmp_path, dataset, monkeypatch, capsys
):
    (tmp_path / "crunch").mkdir()
    repo = UserRepository(tmp_path / "crunch", dataset[:12])
    for rounds in (ROUNDS, ROUNDS + ROUNDS // 20):
        repo.works(rounds)
        repo.commit(f"{rounds} rounds")
    monkeypatch.chdir(repo.folder)
    words = ["--repo", ".", "--against", "main~1", str(repo.matrix), "--metric", "instructions"]
    code = call(["gate", *words])
    printed = capsys.readouterr()
    assert code == EXIT_GATE, printed.out
    assert "REGRESSION" in printed.out and "crunch/sequential" in printed.out
    assert call(["gate", *words, "--metric", "cpu"]) == EXIT_USER_ERROR
    assert "give --metric instructions alone" in capsys.readouterr().err
