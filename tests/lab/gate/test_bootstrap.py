"""Messages between revisions, whose fields and types may differ."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.gate.arm import BOOTSTRAP
from streamlab.lab.gate.bootstrap import _convert_dataset
from streamlab.lab.judge.judgement import judge
from streamlab.lab.trial.evidence import Evidence, read_evidence
from streamlab.lab.trial.spec import OracleJob, fields_of
from streamlab.workloads.datasets.integrity import verify
from streamlab.workloads.registry import workload
from tests.lab.engine_trial import engine_trial

ROOT = Path(__file__).parents[3]


@pytest.fixture
def dataset(tmp_path):
    data = ordinary_input(workload("event_window"))
    return verify(write_dataset(data, "event_window", tmp_path / "data"))


@pytest.fixture
def arm(tmp_path):
    """Return a function that runs a job as an arm does, and returns the process's standard error."""

    def run(job):
        request, spec = tmp_path / "request.json", tmp_path / "spec.json"
        request.write_text(json.dumps({"spawned_ns": 7, **fields_of(job)}))
        packages = {sysconfig.get_path(key) for key in ("purelib", "platlib")}
        done = subprocess.run(
            # Not the environment's: an editable install would be found before any path.
            [getattr(sys, "_base_executable", sys.executable), BOOTSTRAP, request, spec],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT), *packages]),
                "PYTHONSAFEPATH": "1",
            },
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        return done.stderr

    return run


def test_an_arm_gets_only_the_fields_of_a_stream_that_its_revision_has(dataset):
    sent = fields_of(OracleJob(dataset=dataset))["dataset"]
    for stream in sent["streams"]:
        stream["of_a_later_revision"] = 5
    found = _convert_dataset(json.loads(json.dumps(sent)))
    assert found == dataset
    assert all(stream.stamp is not None for stream in found.streams)


def test_a_trial_and_its_oracle_leave_evidence_in_the_present_revision(arm, dataset, tmp_path):
    arm(OracleJob(dataset=dataset))
    assert read_evidence(tmp_path) == Evidence()
    arm(engine_trial(dataset=dataset, expected_outputs=3))
    assert judge(engine_trial(dataset=dataset), tmp_path, None).columns["status"] == "ok"


def test_the_collector_of_an_arm_skips_the_objects_of_the_lab(arm, dataset, tmp_path):
    # A trial with the collector on from the start paused for 50 ms in each run of two seconds.
    (tmp_path / "sitecustomize.py").write_text("""
import gc, sys
enable = gc.enable
gc.enable = lambda: (print("frozen:", gc.get_freeze_count(), file=sys.stderr), enable())
""")
    frozen = re.search(r"frozen: (\d+)", arm(engine_trial(dataset=dataset, expected_outputs=3)))
    assert frozen is not None and int(frozen[1]) > 10_000
