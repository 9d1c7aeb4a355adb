"""Gates on files of pytest-benchmark, which are imported."""

import json
import math
from pathlib import Path

import pytest

from streamlab.lab.cli import EXIT_GATE, EXIT_INCONCLUSIVE, EXIT_USER_ERROR, call


def bench_file(tmp_path, name, *, cpu="A fast one", **medians):
    content = {
        "machine_info": {"node": name, "cpu": {"brand_raw": cpu, "count": 2}},
        "benchmarks": [
            {"fullname": bench, "stats": {"median": median}} for bench, median in medians.items()
        ],
    }
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def gate(new, old):
    return call(["gate", "--pytest-benchmark", str(new), "--baseline", str(old)])


@pytest.fixture
def refused(tmp_path, capsys):
    """Return a function that gates a file against a sound one, and returns the error."""

    def error(new):
        assert gate(new, bench_file(tmp_path, "old", push=1.0)) == EXIT_USER_ERROR
        return capsys.readouterr().err

    return error


def test_one_file_a_side_is_shown_and_is_inconclusive(tmp_path, capsys):
    old, new = bench_file(tmp_path, "old", push=1.0), bench_file(tmp_path, "new", push=2.0)
    assert gate(new, old) == EXIT_INCONCLUSIVE
    output = capsys.readouterr().out
    assert "2.000" in output and "INCONCLUSIVE: 1 of 1" in output and "one file each" in output


def test_several_files_a_side_gate(tmp_path, capsys):
    for k in range(6):
        bench_file(tmp_path, f"old{k}", push=1.0 + k / 1000, pop=1.0 + k / 1000)
        bench_file(tmp_path, f"new{k}", push=1.1 + k / 1000, pop=1.0 + k / 999)
    sides = ["--pytest-benchmark", str(tmp_path / "new*"), "--baseline", str(tmp_path / "old*")]
    assert call(["gate", *sides]) == EXIT_GATE
    output = capsys.readouterr().out
    assert output.count("REGRESSION") == 1 and "Gate FAILED: 1 of 2" in output


def test_a_benchmark_missing_from_the_new_files_fails(tmp_path, capsys):
    old, new = bench_file(tmp_path, "o", a=1.0, b=1.0), bench_file(tmp_path, "n", a=1.0)
    assert gate(new, old) == EXIT_GATE
    assert "new: no trial" in capsys.readouterr().out


def test_benchmark_files_of_two_machines_are_refused(tmp_path, refused):
    error = refused(bench_file(tmp_path, "n", cpu="Another", push=1.0))
    assert "host.cpu_model is 'A fast one' in A, 'Another' in B" in error


def edited(tmp_path, change, name="edited"):
    """Write a sound file of pytest-benchmark after a change to its content."""
    path = Path(bench_file(tmp_path, name, push=1.0))
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


NUMBERS = (math.inf, -math.inf, math.nan, 1e300, 10**400, 5e-324, 0, -1.0, True, "0.5", None, [1.0])


@pytest.mark.parametrize("median", NUMBERS, ids=lambda number: repr(number)[:8])
def test_a_median_that_is_no_time_is_refused_by_name(tmp_path, refused, median):
    def change(content):
        content["benchmarks"][0]["stats"]["median"] = median

    error = refused(edited(tmp_path, change))
    assert "edited.json: push has a median of" in error and "expected a number from" in error


def test_a_name_that_a_file_has_twice_is_refused(tmp_path, refused):
    new = edited(tmp_path, lambda content: content["benchmarks"].append(content["benchmarks"][0]))
    assert "edited.json: push occurs twice" in refused(new)


@pytest.mark.parametrize(
    "cpu",
    [
        {"arch": "ARM_8", "bits": 64, "count": 4, "arch_string_raw": "aarch64"},
        {"brand": "An old one", "count": 4},
        {"hardware_raw": "BCM2711"},
        {},
    ],
)
def test_machines_whose_processors_have_no_brand_are_gated(tmp_path, cpu):
    def change(content):
        content["machine_info"] = {"machine": "aarch64", "cpu": cpu}

    files = [edited(tmp_path, change, name) for name in ("old", "new")]
    assert gate(files[1], files[0]) == EXIT_INCONCLUSIVE  # one file a side
    other = bench_file(tmp_path, "another", push=1.0)
    assert gate(other, files[0]) == EXIT_USER_ERROR


def test_a_file_that_names_no_processor_is_refused(tmp_path, refused):
    file = edited(tmp_path, lambda content: content.update(machine_info={"user": "me"}))
    assert "the processor, which identifies the machine, is missing" in refused(file)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_skipped(tmp_path, encoding):
    old, new = bench_file(tmp_path, "old", push=1.0), bench_file(tmp_path, "new", push=1.0)
    Path(new).write_text(Path(old).read_text(encoding="utf-8"), encoding=encoding)
    assert gate(new, old) == EXIT_INCONCLUSIVE


OTHER_TOOLS = {
    "google-benchmark": {
        "context": {},
        "benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1}],
    },
    "hyperfine": {"results": [{"command": "sleep 1", "mean": 1.0, "median": 1.0}]},
    "pyperf": {"benchmarks": [{"runs": [{"values": [0.1]}]}], "metadata": {}, "version": "1.0"},
    "asv": {"commit_hash": "1", "result_columns": [], "results": {}},
    "other JSON": {"benchmarks": 7},
}


@pytest.mark.parametrize("tool", OTHER_TOOLS)
def test_other_tools_files_are_named_as_such(tmp_path, refused, tool):
    file = tmp_path / "other.json"
    file.write_text(json.dumps(OTHER_TOOLS[tool]), encoding="utf-8")
    error = refused(file)
    assert f"other.json: {tool}" in error.replace("output of ", "")
    assert "pytest" in error


@pytest.mark.parametrize("content", [b"", b"goos: linux", b"\xff\xfe\x00", b"[" * 100_000, b"\x80"])
def test_a_file_that_is_no_json_is_refused_by_name(tmp_path, refused, content):
    file = tmp_path / "odd.json"
    file.write_bytes(content)
    assert "odd.json: cannot be read as JSON" in refused(file)


def test_a_file_on_both_sides_is_refused(tmp_path, capsys):
    file = bench_file(tmp_path, "both", push=1.0)
    (tmp_path / "link.json").symlink_to(file)
    assert gate(file, tmp_path / "link.json") == EXIT_USER_ERROR
    assert "on both sides" in capsys.readouterr().err


def test_a_name_with_half_a_surrogate_pair_is_shown_escaped(tmp_path, capsys):
    def change(content):
        content["benchmarks"][0]["fullname"] = "bench_\ud800"

    files = [edited(tmp_path, change, name) for name in ("old", "new")]
    sides = ["--pytest-benchmark", files[1], "--baseline", files[0]]
    for form in ("json", "markdown", "junit"):
        written = tmp_path / form
        assert call(["gate", *sides, f"--{form}", str(written)]) == EXIT_INCONCLUSIVE
        assert r"bench_\ud800" in written.read_text(encoding="utf-8").replace("\\\\", "\\")
