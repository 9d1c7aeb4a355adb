"""`lab compare` and `lab gate --baseline` on stored runs: ratios, verdicts and exit codes."""

import json
import re

import pytest
from click.testing import CliRunner

from streamlab.lab.cli import EXIT_GATE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.cli.results import compare
from streamlab.results.store import write_table
from tests.results.records import store_meta, store_trial

CELL = "event_window/multicore/dgs/w2/b4096"
HOST = {
    "cpu_model": "A fast one",
    "cores_usable": 2,
    "governor": None,
    "smt": None,
    "virtualised": True,
    "memory_bytes": 8 << 30,
}


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A function that stores a run of one cell and returns its name."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))

    def make(name, rates, *, cpu_model="A fast one", host=(), **columns):
        run_dir = tmp_path / name
        host = {**HOST, "cpu_model": cpu_model, **dict(host)}
        meta = {"name": name, "host": host, "cells": {CELL: {"workers": 2}}, "lab_version": "0"}
        vcs = {"commit": "0123456789abcdef", "dirty_diff_sha256": None}
        store_meta(run_dir, {**meta, "vcs": vcs, "complete": True})
        for number, rate in enumerate(rates):
            row = {
                "cell": CELL,
                "workload": "event_window",
                "engine": "multicore",
                "variant": "dgs",
                "status": "ok",
                "repetition": number + 1,
                "order_index": number,
                "events": 1_000_000,
                "duration_s": 1e6 / rate,
                "throughput_eps": float(rate),
                "cpu_s": 2e6 / rate,
                "dataset": "d1",
                "fingerprint": f"f-{cpu_model}",
            }
            store_trial(run_dir, f"r{number}", row | columns)
        write_table(run_dir)
        return name

    return make


RATES = [1_000_000 + 1000 * k for k in range(6)]
SLOWER = [rate / 1.1 for rate in RATES]


INCLUDED = {"batch": 4096, "unit": "block", "origin": "memory", "also_timed": "nothing"}


def test_compare_states_the_conditions_of_rates(stored, capsys):
    assert (
        call(["compare", stored("old", RATES, **INCLUDED), stored("new", SLOWER, **INCLUDED)])
        == EXIT_OK
    )
    output = capsys.readouterr().out
    assert f"- blocks of 4,096, from memory: {CELL}\n" in output


def test_runs_whose_rates_include_other_things_are_refused(stored, capsys):
    other = INCLUDED | {"also_timed": "reading, decoding"}
    arguments = ["compare", stored("old", RATES, **INCLUDED), stored("new", SLOWER, **other)]
    assert call(arguments) == EXIT_USER_ERROR
    assert "also_timed is 'nothing' in A, 'reading, decoding' in B" in capsys.readouterr().err
    assert call([*arguments, "--force"]) == EXIT_OK
    assert "NOT COMPARABLE" in capsys.readouterr().out


def test_compare_prints_ratios_and_writes_markdown_and_pictures(stored, tmp_path, capsys):
    arguments = ["compare", stored("old", RATES), stored("new", SLOWER)]
    assert call([*arguments, "--out", str(tmp_path / "out")]) == EXIT_OK
    output = capsys.readouterr().out
    assert "0.909" in output and "1.100" in output and output.count("worse") == 2
    written = {path.name for path in (tmp_path / "out").iterdir()}
    names = {
        f"ratios-{metric}.{kind}" for metric in ("throughput", "cpu") for kind in ("svg", "png")
    }
    assert written == names | {"compare.md"}
    assert "0.909" in (tmp_path / "out" / "compare.md").read_text()
    assert CELL in (tmp_path / "out" / "ratios-cpu.svg").read_text()


def test_compare_marks_and_greys_lines_without_a_difference(stored):
    names = [stored("old", RATES), stored("same", RATES)]
    output = CliRunner().invoke(compare, names, color=True).output
    grey = [line for line in output.splitlines() if line.startswith("\x1b[2m")]
    assert len(grey) == 2 and all("| ~ 1.000 " in line for line in grey)
    assert "~: no difference is shown" in output


def test_tiny_ratios_are_written_as_their_inverse(stored, tmp_path):
    names = [stored("old", RATES), stored("new", [rate / 540 for rate in RATES])]
    output = CliRunner().invoke(compare, [*names, "--out", str(tmp_path / "out")]).output
    assert re.search(r"\| 540 \u00d7 slower +\| 5[34]\d - 54\d +\|", output) and "~" not in output
    assert "540 \N{MULTIPLICATION SIGN} slower" in (
        tmp_path / "out" / "ratios-throughput.svg"
    ).read_text(encoding="utf-8")
    back = CliRunner().invoke(compare, names[::-1]).output
    assert "540.000" in back and "540 \N{MULTIPLICATION SIGN} less" in back


def test_compare_refuses_runs_of_other_hosts_and_force_marks_everything(stored, tmp_path, capsys):
    names = [stored("old", RATES), stored("new", RATES, cpu_model="A slow one")]
    assert call(["compare", *names]) == EXIT_USER_ERROR
    assert "host.cpu_model is 'A fast one' in A, 'A slow one' in B" in capsys.readouterr().err
    out = tmp_path / "out"
    assert call(["compare", *names, "--force", "--out", str(out)]) == EXIT_OK
    output = capsys.readouterr().out
    assert output.count("NOT COMPARABLE") == 2 and "host.cpu_model" in output
    assert "NOT COMPARABLE" in (out / "compare.md").read_text()
    assert "NOT COMPARABLE" in (out / "ratios-cpu.svg").read_text()


UPDATED = {"memory_bytes": (8 << 30) - 150_000, "kernel": "6.6"}


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_the_same_machine_after_an_update_is_compared_with_a_note(stored, capsys, command):
    names = [stored("old", RATES, host={"kernel": "6.1"}), stored("new", RATES, host=UPDATED)]
    arguments = {"compare": names, "gate": ["--baseline", names[0], "--run", names[1]]}[command]
    assert call([command, *arguments]) == EXIT_OK
    output = capsys.readouterr().out
    assert "host.kernel is '6.1' in A, '6.6' in B" in output and "host.memory_bytes is" in output


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_half_a_core_is_not_compared_with_a_whole_one(stored, capsys, command):
    limits = [{"cpu_quota_cores": None}, {"cpu_quota_cores": 0.5}]
    names = [stored(name, RATES, host=host) for name, host in zip("ab", limits, strict=True)]
    arguments = {"compare": names, "gate": ["--baseline", names[0], "--run", names[1]]}[command]
    assert call([command, *arguments]) == EXIT_USER_ERROR
    assert "host.cpu_quota_cores is None in A, 0.5 in B" in capsys.readouterr().err


def test_compare_lists_cells_of_other_settings_and_compares_the_rest(stored, tmp_path, capsys):
    for name, dataset in (("old", "d1"), ("new", "d2")):
        columns = {"cell": "other", "dataset": dataset, "fingerprint": dataset}
        stored(name, RATES, **columns)
        (tmp_path / name / "run.json").unlink()
        for number, rate in enumerate(RATES):
            row = {"cell": CELL, "status": "ok", "fingerprint": "f", "throughput_eps": float(rate)}
            more = {"dataset": "d", "repetition": number + 1, "order_index": 10 + number}
            store_trial(tmp_path / name, f"more{number}", row | more)
        stored(name, RATES, **columns)
    assert call(["compare", "old", "new"]) == EXIT_OK
    output = capsys.readouterr().out
    assert "- dataset is 'd1' in A, 'd2' in B (other)" in output
    assert f"| {CELL} | throughput" in output and "| other" not in output
    assert "NOT COMPARABLE" not in output and "only in" not in output


def test_compare_takes_only_the_metrics_that_are_named(stored, capsys):
    names = [stored("old", RATES), stored("new", SLOWER)]
    assert call(["compare", *names, "--metric", "cpu"]) == EXIT_OK
    output = capsys.readouterr().out
    assert "| cpu" in output and "| throughput" not in output


WRONG = {"status": "wrong_output", "reason": "2 missing"}
MEMORY = {"peak_rss_bytes": 106_000_000, "latency_p99_ns": 2_000_000}
LESS_MEMORY = {"peak_rss_bytes": 100_000_000, "latency_p99_ns": 1_000_000}
BY_REFERENCE = f"checked against the reference engine, not an independent oracle: {CELL}"


@pytest.mark.parametrize(
    ("old", "new", "arguments", "code", "words"),
    [
        ({}, {"rates": SLOWER}, "", EXIT_GATE, ["REGRESSION", "one stage"]),
        ({}, {}, "", EXIT_OK, ["Gate passed"]),
        ({}, {"rates": SLOWER}, "--allow-inconclusive", EXIT_GATE, ["REGRESSION"]),
        (LESS_MEMORY, MEMORY, "", EXIT_GATE, ["1.060", "2.000", "REGRESSION"]),
        (LESS_MEMORY, MEMORY, "--metric wall", EXIT_OK, ["Gate passed"]),
        (
            {},
            {"status": "unsustained", "reason": "backlog grows"},
            "",
            EXIT_GATE,
            ["status", "old: 6 ok; new: 6 unsustained (backlog grows)"],
        ),
        ({}, WRONG, "", EXIT_GATE, ["new: wrong_output: 2 missing"]),
        # A wrong answer fails also where processes are too few, and an advisory metric never does.
        ({"rates": RATES[:2]}, {"rates": RATES[:2], **WRONG}, "", EXIT_GATE, ["wrong_output"]),
        (
            {"rates": RATES[:2]},
            {"rates": RATES[:2]},
            "--advisory wall --advisory cpu",
            EXIT_OK,
            ["too few"],
        ),
        ({}, {"checked_by": "reference engine"}, "", EXIT_OK, [BY_REFERENCE]),
    ],
)
def test_a_stored_run_is_gated_against_a_stored_baseline(
    stored, capsys, old, new, arguments, code, words
):
    stored("old", **{"rates": RATES} | old), stored("new", **{"rates": RATES} | new)
    assert call(["gate", "--baseline", "old", "--run", "new", *arguments.split()]) == code
    output = capsys.readouterr().out
    assert all(word in output for word in words), output
    assert (BY_REFERENCE in output) == ("checked_by" in new)


def test_a_gate_of_too_few_processes_is_inconclusive_in_every_form(stored, tmp_path, capsys):
    stored("old", RATES[:4]), stored("new", SLOWER[:4])
    files = {name: tmp_path / name for name in ("json", "junit", "markdown")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    arguments = ["gate", "--baseline", "old", "--run", "new", *options]
    assert call(arguments) == EXIT_INCONCLUSIVE
    for text in (capsys.readouterr().out, files["markdown"].read_text()):
        assert "Gate INCONCLUSIVE: 2 of 2 in doubt" in text and "Gate passed" not in text
        assert (
            "have too few processes to fail" in text
            and "2 comparisons need 5 processes per arm" in text
        )
    found = json.loads(files["json"].read_text())
    assert found["headline"] == "inconclusive"
    assert [line["doubtful"] for line in found["lines"]] == [True, True]
    assert 'name="headline" value="inconclusive"' in files["junit"].read_text()
    assert call([*arguments, "--allow-inconclusive"]) == EXIT_OK
    assert "INCONCLUSIVE" in capsys.readouterr().out
    stored("more-old", RATES[:5]), stored("more-new", RATES[:5])
    assert call(["gate", "--baseline", "more-old", "--run", "more-new", *options]) == EXIT_OK
    assert json.loads(files["json"].read_text())["headline"] == "passed"


def test_a_gate_of_unstable_cells_is_inconclusive_unless_they_are_advisory(stored, capsys):
    scattered = [1_000_000, 1_400_000, 800_000, 1_200_000, 700_000, 1_300_000]
    stored("old", scattered), stored("new", scattered[::-1])
    arguments = ["gate", "--baseline", "old", "--run", "new"]
    assert call(arguments) == EXIT_INCONCLUSIVE
    output = capsys.readouterr().out
    assert (
        "2 of 2 gated comparisons are too noisy to exclude a change of 5 %" in output
        and "quieter machine" in output
    )
    assert call([*arguments, "--advisory", "wall"]) == EXIT_INCONCLUSIVE
    assert call([*arguments, "--advisory", "wall", "--advisory", "cpu"]) == EXIT_OK


MATRIX = """
[run]
timeout_s = 600
[[workload]]
name = "event_window"
[[engine]]
name = "multicore"
"""


def test_a_baseline_of_another_host_is_refused_before_anything_is_measured(
    stored, tmp_path, capsys
):
    stored("old", RATES)
    matrix = tmp_path / "m.toml"
    matrix.write_text(f'{MATRIX}variants = ["dgs"]\nworkers = [2]\nbatch = [4096]\n')
    before = sorted(tmp_path.iterdir())
    assert call(["gate", "--baseline", "old", str(matrix)]) == EXIT_USER_ERROR
    errors = capsys.readouterr().err
    assert "this machine (B) cannot be gated against" in errors and "host.cpu_model is" in errors
    assert sorted(tmp_path.iterdir()) == before


def test_cells_that_the_baseline_lacks_are_named_before_anything_is_measured(
    stored, tmp_path, capsys
):
    stored("old", RATES)
    matrix = tmp_path / "m.toml"
    matrix.write_text(MATRIX)
    before = sorted(tmp_path.iterdir())
    assert call(["gate", "--baseline", "old", str(matrix)]) == EXIT_USER_ERROR
    errors = capsys.readouterr().err
    assert "only in the matrix: event_window/multicore/dgs/w1/b" in errors
    assert f"old has {CELL}" in errors and "--only" in errors
    assert sorted(tmp_path.iterdir()) == before
