"""The gate on real trees; `make test-all` builds one from a throw-away clone as the gate does."""

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.errors import GateError
from streamlab.lab.gate.arm import site_arm
from streamlab.lab.gate.build import build_arm, toolchain
from streamlab.lab.gate.comparison import gate_arms
from streamlab.lab.gate.decision import GateCriteria
from streamlab.lab.gate.metrics import METRICS
from streamlab.lab.gate.outcome import Verdict
from streamlab.lab.gate.source import commit_working_tree, resolve
from streamlab.lab.gate.trials import Bench, make_works
from streamlab.lab.host.git import git
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.results.schema import VERIFIED
from streamlab.results.stats.decision import Rule
from streamlab.workloads.registry import workload

ROOT = Path(__file__).parents[3]
MATRIX = """
[run]
timeout_s = 600
[[workload]]
name = "event_window"
[[engine]]
name = "{engine}"
"""
# The fewest processes of which a test can call anything.
RULE = Rule(n=4)


def show_progress(words):
    """Print the progress of the gate, which pytest shows when a test fails."""
    print(words)


@pytest.fixture(scope="module")
def built(clone):
    """HEAD, built from the clone as the gate does it: a minute of both cores."""
    if None in toolchain()["tools"].values():
        pytest.skip(f"no tools to build with: {toolchain()['tools']}; `make setup` installs them")
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        # Unoptimised code is built in a fraction of the time.
        context.setenv("SKBUILD_CMAKE_BUILD_TYPE", "Debug")
        yield build_arm(clone, resolve(clone, "HEAD"), "old", show_progress)


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """The installed packages and the built core, in the folders of an arm."""
    site = tmp_path_factory.mktemp("arm") / "site"
    shutil.copytree(
        ROOT / "streamlab",
        site / "streamlab",
        ignore=shutil.ignore_patterns("__pycache__", "*.cc", "runs"),
    )
    for module in ("_core", "_bench"):
        found = find_spec(f"streamlab.engines.multicore.{module}")
        assert found is not None and found.origin is not None
        shutil.copy(found.origin, site / "streamlab" / "engines" / "multicore")
    return site_arm(name="old", revision="installed", folder=site, tree=ROOT)


def cells_of(engine):
    matrix = parse_matrix(MATRIX.format(engine=engine), "a test's matrix")
    return expand(matrix)


@pytest.fixture
def small(tmp_path):
    data = ordinary_input(workload("event_window"))
    return write_dataset(data, "event_window", tmp_path / "data")


@pytest.fixture
def bench(small, tmp_path):
    (tmp_path / "logs").mkdir()
    return Bench(
        works=make_works(cells_of("multicore"), {"event_window": small}), logs=tmp_path / "logs"
    )


def gate_report(bench, old, new):
    criteria = GateCriteria(metrics=[METRICS["cpu"]], advisory=frozenset(), rule=RULE)
    return gate_arms(bench, old, new, criteria, show_progress)


@pytest.mark.full
def test_a_build_is_made_once_and_again_when_the_tools_change(clone, built, monkeypatch):
    monkeypatch.setenv("SKBUILD_CMAKE_BUILD_TYPE", "Debug")
    words = []
    again = build_arm(clone, resolve(clone, "HEAD"), "new", words.append)
    assert words == [] and again.path == built.path
    # Another build type would be built again; the stamp shows what it is compared by.
    before = toolchain()
    monkeypatch.setenv("SKBUILD_CMAKE_BUILD_TYPE", "Release")
    assert toolchain() != before


@pytest.mark.full
def test_trials_of_a_built_revision_are_verified(built, bench):
    result = bench.run(built, next(iter(bench.works)))
    assert result.status in VERIFIED, result


# test_repository.py has a commit that fails, and below is a plant that reaches its trial.
@pytest.mark.full
def test_a_revision_against_itself_with_work_planted_fails(arm, bench, small):
    new = replace(arm, name="new")
    # The reference engine: a trial of it starts in a fifth of the time.
    bench = replace(bench, works=make_works(cells_of("reference"), {"event_window": small}))
    # The input is so small that noise could hide less than twenty times the work.
    report = gate_report(replace(bench, planted={"new": {"planted_slowdown": 20.0}}), arm, new)
    (line,) = report.lines
    assert line.word is Verdict.REGRESSION and report.failed
    assert line.ratio > 2 and line.first_ratio > 2


def test_a_revision_whose_answer_is_wrong_fails_and_is_not_timed(arm, bench, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(arm.path[0], site)
    adapter = site / "streamlab" / "engines" / "multicore" / "run" / "core_run.py"
    text = adapter.read_text()
    damaged = text.replace(
        "        return columns\n", "        return {n: c[:-1] for n, c in columns.items()}\n"
    )
    assert damaged != text
    adapter.write_text(damaged)
    new = site_arm(name="new", revision="damaged", folder=site, tree=arm.tree)
    report = gate_report(bench, arm, new)
    (line,) = report.lines
    assert line.word is Verdict.BROKEN and report.failed
    assert "wrong_output" in line.note and "missing" in line.note
    assert (line.ratio, line.n) == (None, None)


def test_an_arm_that_lacks_its_own_build_is_refused(arm, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(arm.path[0], site, ignore=shutil.ignore_patterns("_core*.so"))
    with pytest.raises(GateError, match="does not import"):
        site_arm(name="new", revision="no core", folder=site, tree=arm.tree)


def test_a_field_that_a_revision_does_not_know_is_a_crash_that_names_it(arm, bench, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(arm.path[0], site)
    spec = site / "streamlab" / "lab" / "trial" / "spec.py"
    spec.write_text(spec.read_text().replace("planted_slowdown", "planted_delay"))
    old = site_arm(name="old", revision="older", folder=site, tree=arm.tree)
    bench = replace(bench, planted={"old": {"planted_slowdown": 0.5}})
    result = bench.run(old, next(iter(bench.works)))
    assert result.status == "crash"
    assert "has no field planted_slowdown" in result.reason


def test_a_working_tree_with_changes_is_a_commit_of_its_own_that_no_branch_has(clone):
    head = git(clone, "rev-parse", "HEAD")
    assert commit_working_tree(clone).commit == head
    try:
        (clone / "README.md").write_text("changed\n")
        (clone / "lab" / "new_file.py").write_text("NEW = 1\n")
        first, second = commit_working_tree(clone), commit_working_tree(clone)
        assert first == second and first.commit != head
        assert "with changes" in first.label
        assert git(clone, "show", f"{first.commit}:lab/new_file.py") == "NEW = 1"
        assert git(clone, "rev-parse", "HEAD") == head
        assert git(clone, "diff", "--cached", "--name-only") == ""
        assert git(clone, "branch", "--contains", first.commit) == ""
    finally:
        git(clone, "checkout", "--", "README.md")
        (clone / "lab" / "new_file.py").unlink()
    assert commit_working_tree(clone).commit == head
