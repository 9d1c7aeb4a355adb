"""Random runs of the core give the reference's answer, and what fails is found and shrunk."""

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.random_runs.campaign import Campaign
from tests.random_runs.drawing import drawn, smallest
from tests.random_runs.families import FAMILIES
from tests.random_runs.process import CRASHED, HUNG, WRONG

PLANTED = "tests.random_runs.planted:FAMILIES"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def together():
    """Runs of all families in one process after the other: what they share is compiled once."""
    with Campaign() as campaign:
        yield campaign


def check(campaign, families, runs_each):
    """Do random runs of families in turn; the first seed is another every time."""
    first = secrets.randbelow(10**9)
    for seed in range(first, first + runs_each):
        for name in families:
            campaign.run(
                name, seed, shrink=not any(one.family == name for one in campaign.findings)
            )
    print(campaign.summary(families))
    found = [one.text() for one in campaign.findings if one.family in families]
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_runs_of_a_family_give_the_answer_of_the_reference(family, together):
    check(together, [family], runs_each=4)


@pytest.mark.full
def test_many_random_runs_of_all_families_give_the_answer_of_the_reference(together):
    check(together, list(FAMILIES), runs_each=400)


def first_finding(campaign, name, *, shrink):
    return next(found for seed in range(100) if (found := campaign.run(name, seed, shrink=shrink)))


@pytest.mark.parametrize("name", ["wrong", pytest.param("now and then", marks=pytest.mark.full)])
def test_a_wrong_answer_is_found_and_shrunk(name):
    with Campaign(PLANTED) as campaign:
        found = first_finding(campaign, name, shrink=True)
    assert found.outcome.kind == WRONG
    smaller = found.smaller
    # The fault is in windows of one key with two tuples, in whatever way they are run.
    assert smaller.data.events <= 4
    assert smaller.how["workers"] == smaller.how["batch"] == smaller.how["repetitions"] == 1
    assert "rows wanted" in found.shrunk.text
    again = f"python -m tests.random_runs --family {found.family} --seed {found.seed}"
    assert again in found.text()


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("crash", CRASHED, "SIGSEGV"),
        ("hang", HUNG, "in _hang"),
    ],
)
def test_a_run_that_brings_down_its_process_is_named_and_the_next_goes_on(name, kind, message):
    # Long enough for a run on any machine: the others answer at once.
    with Campaign(PLANTED, bound_s=2.0) as campaign:
        found = first_finding(campaign, name, shrink=False)
        assert found.outcome.kind == kind
        assert message in found.outcome.text
        assert len(found.case.data.streams) == 2
        one = next(
            seed
            for seed in range(100)
            if len(drawn(campaign.families[name], seed).data.streams) == 1
        )
        assert campaign.run(name, one) is None


@pytest.mark.full
def test_a_crash_is_shrunk_as_well():
    # Each try is a process of its own: on a busy machine the usual two minutes are few.
    with Campaign(PLANTED, shrink_s=900) as campaign:
        found = first_finding(campaign, "crash", shrink=True)
    assert found.shrunk.kind == CRASHED
    assert [len(stream) for stream in found.smaller.data.streams] == [0, 0]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_is_always_the_same_run(name):
    family = FAMILIES[name]
    texts = [drawn(family, seed).text() for seed in (1, 2, 1)]
    assert texts[0] == texts[2] != texts[1]


def test_a_seed_whose_first_draw_is_too_large_has_the_next():
    family, seed = FAMILIES["dgs"], 25110063
    first = [drawn(family, seed).text() for _ in range(2)]
    assert first[0] == first[1]


def test_the_search_for_a_smaller_case_ends_in_time():
    family = FAMILIES["joins"]
    tried = []
    found = smallest(
        family, 1, lambda case: tried.append(case) or True, within_s=5, clock=lambda: len(tried)
    )
    assert len(tried) <= 6
    assert found is tried[-1]


@pytest.mark.full
def test_the_command_runs_a_seed_again_and_ends_with_code_1_when_it_fails():
    with Campaign(PLANTED) as campaign:
        seed = first_finding(campaign, "wrong", shrink=False).seed
    command = [sys.executable, "-m", "tests.random_runs", "--families", PLANTED]
    done = subprocess.run(
        [*command, "--family", "wrong", "--seed", str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"wrong answer: wrong, seed {seed}" in done.stdout
    assert "shrunk to:" in done.stdout
    assert "1 runs, 1 findings" in done.stdout


def test_the_command_refuses_what_makes_no_sense():
    for wrong, message in (
        (["--runs", "0"], "argument --runs: '0' is not a number of runs; expected at least 1"),
        (["--family", "none"], "--family none: there is none; there are dgs, oplus, ordered,"),
    ):
        command = [sys.executable, "-m", "tests.random_runs", *wrong]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert message in done.stderr
