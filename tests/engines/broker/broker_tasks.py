"""Tasks whose input is on a broker, and the topics that they leave."""

from importlib import import_module

import pytest

from streamlab.engines import environment
from streamlab.engines.broker.broker import ENVIRONMENT, NAME
from streamlab.engines.broker.topics import client
from streamlab.engines.conformance import ordinary_input
from streamlab.lab.judge.verdict import early_outputs
from streamlab.workloads.registry import workload
from tests.engines.tasks import check_task, task_of

_LACKING = environment.unusable_reason(NAME, ENVIRONMENT)
NEEDS_BROKER = pytest.mark.skipif(
    _LACKING is not None, reason=f"THE BROKER IS NOT TESTED: {_LACKING}"
)


def broker_task(broker, tmp_path, chosen="event_window", data=None, **more):
    """A task of the multicore engine whose input is on the broker."""
    variant = more.pop("variant", "dgs")
    subject = workload(chosen) if isinstance(chosen, str) else chosen
    data = ordinary_input(subject) if data is None else data
    options = {"broker": broker, **more.pop("options", {})}
    return task_of(subject, data, tmp_path, variant, options=options, batch=256, **more)


def needs(engine):
    """Skip a test, loudly, where an engine's environment is not made."""
    if engine.name == "multicore":
        return
    lacking = environment.unusable_reason(engine.name, engine.environment)
    if lacking is not None:
        pytest.skip(f"{engine.name.upper()} IS NOT TESTED FROM A BROKER: {lacking}")


def check_load(engine, broker, task):
    """Offer events through the broker, and check answer and measurements."""
    measured, answer = check_task(engine, task)
    check_measured(measured, task, len(answer["ts"]))
    early = early_outputs(
        *(measured.progress, task.load, task.dataset),
        *(answer["ts"], task.workload.output.delay),
    )
    assert early is None
    assert topics_at(broker) == []


def check_measured(measured, task, outputs):
    """Check that each event and output was counted and has its time."""
    assert measured.sent.lag.counts.sum() == task.dataset.events
    assert measured.progress.emitted.sum() == task.dataset.events
    assert measured.progress.consumed.sum() == task.dataset.events
    assert measured.latency.counts.sum() + measured.warm_up_latency.counts.sum() == outputs
    assert measured.latency.counts.sum() > 0
    assert measured.latency.values_ns.min() > 0


def topics_at(broker, prefix="lab.trial."):
    """The names of the topics that begin with a prefix: those of trials."""
    client()
    admin = import_module("confluent_kafka.admin").AdminClient({"bootstrap.servers": broker})
    return [name for name in admin.list_topics().topics if name.startswith(prefix)]
