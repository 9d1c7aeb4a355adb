"""`lab gate --instructions`: counts of instructions against stored ones."""

import json

import pytest

from streamlab.lab.cli import EXIT_GATE, EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.errors import GateError
from streamlab.lab.gate.instructions import Counts, compare_counts, read_counts
from streamlab.lab.gate.outcome import Verdict


def counts(compiler="gcc 12", **numbers):
    return Counts(compiler=compiler, flags="-O2", valgrind="3.19", counts=numbers)


def words(old, new):
    return {line.cell: line.word for line in compare_counts(old, new)}


def test_changes_beyond_the_floor_are_called_without_any_test():
    old = counts(slower=1000, faster=1000, same=1000, little=1000)
    new = counts(slower=1011, faster=980, same=1000, little=1009)
    assert words(old, new) == {
        "slower": Verdict.REGRESSION,
        "faster": Verdict.IMPROVED,
        "same": Verdict.UNCHANGED,
        "little": Verdict.UNCHANGED,
    }


def test_a_missing_benchmark_fails_and_a_new_one_does_not():
    lines = compare_counts(counts(gone=1, kept=1), counts(kept=1, new=1))
    assert {line.cell: line.word for line in lines} == {
        "gone": Verdict.BROKEN,
        "kept": Verdict.UNCHANGED,
        "new": Verdict.ADDED,
    }
    assert [line.cell for line in lines if line.fails] == ["gone"]


def test_counts_of_another_compiler_are_refused_with_both_names():
    with pytest.raises(GateError, match="compiler was 'gcc 12', is 'gcc 13'"):
        compare_counts(counts(a=1), counts("gcc 13", a=1))


@pytest.mark.parametrize("text", ["", "[]", '{"counts": {}}', '{"counts": 3}'])
def test_a_damaged_file_is_an_error_with_the_remedy(tmp_path, text):
    path = tmp_path / "counts.json"
    path.write_text(text)
    with pytest.raises(GateError, match=r"benchmarks\.instructions") as caught:
        read_counts(path)
    assert "--out" not in str(caught.value)


def test_only_a_missing_file_gets_the_advice_to_write_it(tmp_path):
    path = tmp_path / "counts.json"
    with pytest.raises(GateError, match="is missing") as caught:
        read_counts(path)
    assert f"--out {path}" in str(caught.value)
    path.write_text(
        json.dumps({"compiler": "c", "flags": "f", "valgrind": "v", "counts": {"a": 0}})
    )
    with pytest.raises(GateError, match="a counts 0") as caught:
        read_counts(path)
    assert "--out" not in str(caught.value)


@pytest.fixture
def file_of(tmp_path):
    def write(name, **numbers):
        path = tmp_path / name
        content = {"compiler": "c", "flags": "f", "valgrind": "v", "counts": numbers}
        path.write_text(json.dumps(content))
        return str(path)

    return write


def test_the_command_fails_on_a_regression_and_writes_the_requested_files(
    file_of, tmp_path, capsys
):
    old, new = file_of("old.json", push=1_000_000), file_of("new.json", push=1_050_000)
    files = ["--junit", str(tmp_path / "j.xml"), "--markdown", str(tmp_path / "m.md")]
    assert call(["gate", "--instructions", new, "--baseline", old, *files]) == EXIT_GATE
    output = capsys.readouterr().out
    assert "1.050" in output and "1,000,000 -> 1,050,000" in output
    assert "<failure" in (tmp_path / "j.xml").read_text()
    assert "Gate FAILED" in (tmp_path / "m.md").read_text()
    assert call(["gate", "--instructions", old, "--baseline", old]) == EXIT_OK


def test_the_command_prints_each_acceptance_that_it_uses(file_of, tmp_path, capsys):
    old, new = file_of("old.json", push=100), file_of("new.json", push=105)
    accepted = tmp_path / "accepted.toml"
    accepted.write_text(
        '[[accept]]\ncell = "push"\nmetric = "instructions"\nuntil_ratio = 1.06\nreason = "why"\n'
    )
    arguments = ["gate", "--instructions", new, "--baseline", old, "--accept", str(accepted)]
    assert call(arguments) == EXIT_OK
    assert "accepted up to 1.06: push instructions: 1.050" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --against"),
        (["--against", "HEAD", "--instructions", "x"], "different gates"),
        (["--against", "HEAD", "--baseline", "x"], "measures both sides"),
        (["--pytest-benchmark", "none*.json", "--baseline", "none"], "no file matches"),
        (["--instructions", "none.json"], "the file of instruction counts is missing"),
        (["--against", "HEAD", "--metric", "instructions", "--metric", "cpu"], "alone"),
        (["--against", "HEAD", "m.toml", "--repetitions", "3"], "use 4 or more per arm"),
        (["--against", "HEAD", "m.toml", "--build", "make"], "--build requires --repo"),
    ],
)
def test_an_impossible_gate_is_a_user_error(arguments, message, capsys):
    assert call(["gate", *arguments]) == EXIT_USER_ERROR
    assert message in capsys.readouterr().err
