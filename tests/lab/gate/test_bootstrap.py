"""What one revision sends to another: fields come and go."""

import json

from engines.conformance import ordinary_input
from engines.small_dataset import write_dataset
from lab.gate.bootstrap import _dataset
from lab.trial.spec import dataset_to_json
from workloads.datasets.integrity import verified
from workloads.registry import workload


def test_an_arm_does_without_what_its_revision_does_not_know_of_a_stream(tmp_path):
    made = write_dataset(ordinary_input(workload("event_window")), "event_window", tmp_path)
    sent = dataset_to_json(verified(made))
    for stream in sent["streams"]:
        stream["of_a_later_revision"] = 5
    found = _dataset(json.loads(json.dumps(sent)))
    assert found == made
    assert all(stream.stamp is not None for stream in found.streams)
