"""`.ci/run` around a `make` that is a script: which stages run, in which order, and how it ends."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci" / "run"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="CI runs in bash; absent here")


# What CI would otherwise install.
PROGRAMS = (
    *("chromium", "dot", "valgrind", "podman", "runc", "debootstrap", "busybox"),
    *("javac", "cargo", "mvn"),
)


# What the script itself calls. Its PATH has nothing else, so that it finds no apt-get.
TOOLS = ("bash", "cat", "cut", "dirname", "env", "grep", "id", "sh", "sort")


def run(
    folder: Path, fails: str = "nothing", lacks: str = "nothing", cargo: str = "1.86.0"
) -> subprocess.CompletedProcess[str]:
    (folder / ".ci").mkdir()
    shutil.copy(CI, folder / ".ci" / "run")
    tools = folder / "bin"
    tools.mkdir()
    scripts = {
        "make": 'echo "$1" >> calls\n'
        '[ "$1" != test ] || echo "== 9 passed =="\n'
        f'if [ "$1" = {fails} ]; then echo "make: *** [$1] Error 1" >&2; exit 2; fi',
        **dict.fromkeys(PROGRAMS, "exit 0"),
        "cargo": f"echo cargo {cargo}",
    }
    scripts.pop(lacks, None)
    for name in TOOLS:
        (tools / name).symlink_to(shutil.which(name))
    for name, body in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    return subprocess.run(
        [str(folder / ".ci" / "run")],
        env={**os.environ, "PATH": str(tools), "CARGO_HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_every_stage_runs_once_and_the_test_summary_is_last(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout
    calls = (tmp_path / "calls").read_text().split()
    stages = (
        "setup engine engine engine engine engine engine engine engine lint docs cpp-test wheel instructions "
        "stress perturbed test"
    )
    assert calls == stages.split()
    assert done.stdout.splitlines()[-1] == "== 9 passed =="


@pytest.mark.parametrize(
    "stage", ["lint", "cpp-test", "wheel", "instructions", "stress", "perturbed", "test"]
)
def test_a_failed_stage_fails_the_run_but_stops_no_other_stage(tmp_path, stage):
    done = run(tmp_path, fails=stage)
    assert done.returncode == 1
    assert (tmp_path / "calls").read_text().split()[-1] == "test"
    assert done.stdout.splitlines()[-1] == "== 9 passed =="
    if stage != "test":
        assert f"=== {stage}: FAILED" in done.stdout
        assert f"failed so far: {stage}" in done.stdout


def test_an_engine_that_cannot_be_built_fails_the_run_and_stops_no_other_stage(tmp_path):
    done = run(tmp_path, fails="engine")
    assert done.returncode == 1
    assert (tmp_path / "calls").read_text().split()[-1] == "test"
    names = ("polars", "duckdb", "flink", "csp", "timely", "storm", "kafka", "kafka-streams")
    engines = " ".join(f"engine-{name}" for name in names)
    assert f"failed so far: {engines}" in done.stdout


def test_without_maven_storm_is_not_made_and_the_reason_is_printed(tmp_path):
    done = run(tmp_path, lacks="mvn")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "calls").read_text().split().count("engine") == 5
    assert (
        "!!! ENGINES STORM AND KAFKA-STREAMS AND THE BROKER ARE NOT TESTED: mvn is missing"
        in done.stdout
    )


def test_without_valgrind_no_instructions_are_counted_and_the_output_says_so(tmp_path):
    done = run(tmp_path, lacks="valgrind")
    assert done.returncode == 0, done.stdout
    assert "instructions" not in (tmp_path / "calls").read_text().split()
    assert "!!! WHAT NEEDS THESE IS SKIPPED: valgrind" in done.stdout
    assert "!!! INSTRUCTION COUNTS ARE NOT GATED: valgrind is missing" in done.stdout


@pytest.mark.parametrize("without", [{"lacks": "cargo"}, {"cargo": "1.85.1"}])
def test_without_a_new_enough_rust_the_tests_of_timely_are_skipped_loudly(tmp_path, without):
    done = run(tmp_path, **without)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "calls").read_text().split().count("engine") == 7
    assert "!!! ENGINE TIMELY IS NOT TESTED: cargo" in done.stdout
