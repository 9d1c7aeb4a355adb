"""The judge's server ends with its lab, survives failures, and rejects malformed evidence."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from streamlab.lab.judge.client import Judge
from streamlab.lab.judge.judgement import judge
from streamlab.lab.judge.verdict import early_outputs
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.trial.evidence import EVIDENCE, Evidence, write_evidence
from streamlab.lab.trial.process import gather
from streamlab.lab.trial.report import Reporter
from streamlab.lab.trial.spec import CeilingJob
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.registry import names, workload
from tests.lab.engine_trial import engine_trial

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def server():
    made = Judge(sys.executable, ENVIRONMENT)
    yield made
    made.close()


@pytest.fixture
def ask(server, tmp_path):
    """A function that has a job judged by the server."""

    def judged(job):
        log = tmp_path / "log"
        return server.judge(job, tmp_path, None, log=log, environ=dict(os.environ)).columns

    return judged


CEILING = CeilingJob(engine="fake", variant="correct", batch=1)


def test_a_server_judges_one_trial_after_another(ask, server, tmp_path, small_dataset):
    for variant, status in (("correct", "ok"), ("lose", "wrong_output")):
        job = engine_trial(dataset=small_dataset(), variant=variant)
        write_evidence(gather(job, tmp_path, Reporter()), tmp_path)
        assert ask(job)["status"] == status
    assert psutil.Process(server._server.pid).children() == []


def test_a_server_that_was_killed_is_replaced(ask, server, tmp_path):
    write_evidence(Evidence(columns={"generator_ceiling_eps": 5.0}), tmp_path)
    assert ask(CEILING) == {"generator_ceiling_eps": 5.0}
    server._server.kill()
    server._server.wait()
    assert ask(CEILING) == {"generator_ceiling_eps": 5.0}


def test_a_judgement_that_dies_makes_the_trial_invalid(ask, tmp_path, small_dataset):
    job = engine_trial(dataset=small_dataset())
    write_evidence(gather(job, tmp_path, Reporter()), tmp_path)
    dies = tmp_path / "dies.py"
    dies.write_text("import os; os._exit(3)")
    found = ask(engine_trial(dataset=job.dataset, workload=str(dies)))
    assert found["status"] == "invalid"
    assert found["reason"].startswith("the comparison of the answer ended with code 3; see ")


def test_a_server_ends_with_its_lab(server, ask, tmp_path):
    write_evidence(Evidence(), tmp_path)
    ask(CEILING)
    process = server._server
    process.stdin.close()
    assert process.wait(timeout=600) == 0


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"status": 3}', '{"timed": {"start_ns": "now"}}', '{"columns": 7}'],
)
def test_malformed_evidence_is_invalid(tmp_path, small_dataset, content):
    (tmp_path / EVIDENCE).write_text(content)
    row = judge(engine_trial(dataset=small_dataset()), tmp_path, None).columns
    assert row["status"] == "invalid"
    assert row["reason"].startswith("the evidence cannot be read: ")


def test_evidence_without_a_timed_part_is_invalid(tmp_path, small_dataset):
    write_evidence(Evidence(), tmp_path)
    row = judge(engine_trial(dataset=small_dataset()), tmp_path, None).columns
    assert (row["status"], row["reason"]) == ("invalid", "the evidence has no timed part")


@pytest.mark.parametrize("replace_by", [Path.touch, os.mkfifo, None])
def test_an_answer_that_is_missing_or_no_array_cannot_be_compared(
    tmp_path, small_dataset, replace_by
):
    job = engine_trial(dataset=small_dataset())
    write_evidence(gather(job, tmp_path, Reporter()), tmp_path)
    (tmp_path / "answer" / "0.npy").unlink()
    if replace_by is not None:
        replace_by(tmp_path / "answer" / "0.npy")
    row = judge(job, tmp_path, None).columns
    assert row["status"] == "wrong_output"
    assert row["difference"].startswith("the answer cannot be compared: ")


USUAL = ("event_window", "forward", "linear_road_toll", "nyse_hedge", "scale_join", "wordcount")


@pytest.mark.parametrize(
    "name",
    [name if name in USUAL else pytest.param(name, marks=pytest.mark.full) for name in names()],
)
def test_outputs_when_their_inputs_are_due_are_not_early(tmp_path, small_dataset, name):
    dataset, found = small_dataset(name), workload(name)
    load = LoadSpec(rate_eps=1_000.0, warm_up_s=0.1, window_s=0.9)
    job = engine_trial(dataset=dataset, engine="reference", variant="sequential", load=load)
    evidence = gather(job, tmp_path, Reporter())
    offered = offer(load, dataset, grid=found.output.grid, program=found.program)
    right = expected(found, offered.dataset)["ts"]
    progress = evidence.timed.measured.progress
    delay = found.output.delay
    assert early_outputs(progress, offered.load, offered.dataset, right, delay) is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_evidence_that_is_a_pipe_or_a_folder_is_invalid(tmp_path, small_dataset, make):
    make(tmp_path / EVIDENCE)
    row = judge(engine_trial(dataset=small_dataset()), tmp_path, None).columns
    assert row["status"] == "invalid"
    assert row["reason"] == f"the evidence cannot be read: {EVIDENCE} is not a regular file"


def test_a_server_that_dies_at_every_request_makes_the_trial_invalid(tmp_path):
    dead = Judge("/bin/false", {})
    found = dead.judge(CEILING, tmp_path, None, log=tmp_path / "log", environ={}).columns
    assert found["status"] == "invalid"
    assert found["reason"].startswith("the comparison of the answer lost its process twice")
