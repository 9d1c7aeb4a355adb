"""What one revision sends to another: fields come and go, and so do the types that have them."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from engines.conformance import ordinary_input
from engines.small_dataset import write_dataset
from lab.gate.arm import BOOTSTRAP
from lab.gate.bootstrap import _dataset
from lab.judge.judgement import judge
from lab.load.spec import LoadSpec
from lab.trial.evidence import Evidence, read_evidence
from lab.trial.spec import EngineTrial, OracleJob, fields_of
from workloads.datasets.integrity import verified
from workloads.registry import workload

ROOT = Path(__file__).parents[3]
OLDER = {
    "lab/__init__.py": "",
    # A trial as it was told until an oracle's job had a type of its own.
    "lab/trial/spec.py": """
import json
from dataclasses import asdict, dataclass, field

@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    engine: str
    variant: str
    workers: int
    batch: int
    options: dict
    dataset: object
    spawned_ns: int
    workload: str | None = None
    query: dict = field(default_factory=dict)
    runs_oracle_only: bool = False
    load: object = None

def write_spec(spec, path):
    path.write_text(json.dumps(asdict(spec), default=str))
""",
    "lab/trial/process.py": """
import shutil

def main(arguments):
    shutil.copy(*arguments)
""",
    "lab/matrix/load/spec.py": """
from dataclasses import dataclass

@dataclass
class LoadSpec:
    rate_eps: float
    warm_up_s: float
    window_s: float
""",
}


@pytest.fixture
def dataset(tmp_path):
    data = ordinary_input(workload("event_window"))
    return verified(write_dataset(data, "event_window", tmp_path / "data"))


@pytest.fixture
def arm(tmp_path):
    """Runs a job as an arm does, in the revision whose `lab` has these files, or in this one."""

    def run(job, files=None):
        for name, text in (files or {}).items():
            path = tmp_path / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        request, spec, result = (tmp_path / f"{name}.json" for name in ("request", "spec", "out"))
        request.write_text(json.dumps({"spawned_ns": 7, **fields_of(job)}))
        packages = {sysconfig.get_path(key) for key in ("purelib", "platlib")}
        path = os.pathsep.join([str(tmp_path / "site"), str(ROOT), *packages])
        done = subprocess.run(
            # Not the environment's: an editable install would be found before any path.
            [getattr(sys, "_base_executable", sys.executable), BOOTSTRAP, request, spec, result],
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        return json.loads(result.read_text()) if result.exists() else done.stderr

    return run


def job_of(dataset, **more):
    given = {"engine": "fake", "variant": "correct", "workers": 1, "batch": 1, "options": {}}
    return EngineTrial(**given, dataset=dataset, **more)


def test_an_arm_does_without_what_its_revision_does_not_know_of_a_stream(dataset):
    sent = fields_of(OracleJob(dataset=dataset))["dataset"]
    for stream in sent["streams"]:
        stream["of_a_later_revision"] = 5
    found = _dataset(json.loads(json.dumps(sent)))
    assert found == dataset
    assert all(stream.stamp is not None for stream in found.streams)


def test_a_trial_and_its_oracle_leave_evidence_in_the_present_revision(arm, dataset, tmp_path):
    arm(OracleJob(dataset=dataset))
    assert read_evidence(tmp_path) == Evidence()
    arm(job_of(dataset, expected_outputs=3))
    assert judge(job_of(dataset), tmp_path, None)["status"] == "ok"


def test_the_size_of_the_answer_is_not_sent_to_a_revision_that_looks_it_up(arm, dataset):
    assert "expected_outputs" not in arm(job_of(dataset, expected_outputs=3), OLDER)


def test_a_trial_and_its_oracle_run_in_a_revision_that_has_one_type_for_both(arm, dataset):
    told = arm(OracleJob(dataset=dataset, query={"q": 1}), OLDER)
    assert told["runs_oracle_only"] and told["query"] == {"q": 1} and told["workers"] == 1
    load = LoadSpec(rate_eps=5.0, warm_up_s=1.0, window_s=2.0)
    told = arm(job_of(dataset, load=load), OLDER)
    assert not told["runs_oracle_only"] and told["spawned_ns"] == 7
    assert told["load"] == {"rate_eps": 5.0, "warm_up_s": 1.0, "window_s": 2.0}
    assert told["dataset"]["streams"][0]["path"] == str(dataset.streams[0].path)


def test_a_trial_that_a_revision_does_not_know_a_field_of_is_refused(arm, dataset):
    assert "does not know planted_slowdown of a trial" in arm(
        job_of(dataset, planted_slowdown=0.5), OLDER
    )
