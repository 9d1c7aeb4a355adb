"""Nexmark's queries on Kafka Streams give the oracle's answer, also under a load, and leave no topics."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from streamlab.engines.conformance import Setting, ties
from streamlab.engines.conformance_load import LOAD_CASES, MS, run_load_case
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.kafka_streams.adapter import QUERIES, QUERY, KafkaStreamsEngine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.judge.invariants import Arrivals
from streamlab.lab.judge.verify import verify_arrivals
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.registry import workload
from tests.engines.broker.broker_tasks import (
    NEEDS_BROKER,
    broker_task,
    check_load,
    check_measured,
    needs,
    topics_at,
)
from tests.engines.separate_environment import bound
from tests.engines.tasks import check_task, run_task
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.streams import generated

pytestmark = NEEDS_BROKER

ARRIVALS = "nexmark_q12"
"""Its windows are of arrival time."""
AT_FULL_SPEED = sorted(QUERIES - {ARRIVALS})


def nexmark_task(broker, tmp_path, found, data, workers=2, load=None):
    """A task of Kafka Streams on one of Nexmark's queries."""
    options = {"warm_up_rounds": 0, "heap_mb": 256}
    return broker_task(
        broker, tmp_path, found, data, variant=QUERY, options=options, workers=workers, load=load
    )


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        ("nexmark_q9", 1),
        ("nexmark_q16", 2),
        *(
            pytest.param(name, workers, marks=pytest.mark.full)
            for name in AT_FULL_SPEED
            for workers in (1, 2)
        ),
    ],
)
def test_kafka_streams_gives_the_oracles_answer_of_nexmarks_queries(
    name, workers, broker, tmp_path
):
    engine, found = KafkaStreamsEngine(), workload(name)
    needs(engine)
    data = ties(generated(found, dict(found.small), 4000, seed=1))
    _, answer = check_task(engine, nexmark_task(broker, tmp_path, found, data, workers))
    assert len(answer["ts"])
    assert topics_at(broker) == [], "the repartition topics are gone"


@pytest.mark.full
@pytest.mark.parametrize("name", AT_FULL_SPEED)
def test_kafka_streams_is_right_on_random_events_of_few_persons_and_auctions(
    name, broker, tmp_path
):
    engine = KafkaStreamsEngine()
    needs(engine)
    numbers = iter(range(1000))

    @settings(
        database=None,
        deadline=None,
        derandomize=True,
        max_examples=examples(2),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(nexmark_inputs(), bound(workload(name)))
    def check(data, found):
        folder = tmp_path / str(next(numbers))
        check_task(engine, nexmark_task(broker, folder, found, replace(data, until_ts=None)))

    check()


@pytest.mark.parametrize(
    ("column", "text"), [("ts", "ts has numbers below 1"), ("person", "below 0")]
)
def test_negative_ids_and_times_are_refused(broker, tmp_path, column, text):
    needs(KafkaStreamsEngine())
    subject = workload("nexmark_q18")
    data = generated(subject, dict(subject.small), 200, seed=1)
    stream = data.streams[0]
    if column == "ts":
        other = replace(stream, ts=stream.ts - stream.ts.max() - 1)
    else:
        other = replace(stream, payload={**stream.payload, column: -1 - stream.payload[column]})
    task = nexmark_task(
        broker, tmp_path, subject, replace(data, streams=(other, *data.streams[1:]))
    )
    with pytest.raises(UnsupportedError, match=text):
        KafkaStreamsEngine().start(task)


@pytest.mark.full
def test_a_window_with_more_rows_than_a_record_of_kafka_holds_is_right(broker, tmp_path):
    engine, found = KafkaStreamsEngine(), workload("nexmark_q5")
    needs(engine)
    data = generated(found, {"rate": 100_000}, 1_000_000, seed=1)
    options = {"warm_up_rounds": 0}
    task = broker_task(broker, tmp_path, found, data, variant=QUERY, options=options, workers=2)
    check_task(engine, task)


def offered_task(broker, tmp_path, found, spec):
    """A task whose load passes the broker."""
    dataset = write_dataset(
        generated(found, dict(found.small), 12_000, seed=1), found.name, tmp_path
    )
    offered = offer(spec, dataset, grid=found.output.grid, program=found.program)
    return nexmark_task(broker, tmp_path, found, offered.dataset, load=offered.load)


@pytest.mark.parametrize(
    "name",
    [
        "nexmark_q5",
        "nexmark_q11",
        *(pytest.param(name, marks=pytest.mark.full) for name in AT_FULL_SPEED),
    ],
)
def test_kafka_streams_is_right_under_a_load(name, broker, tmp_path):
    needs(KafkaStreamsEngine())
    spec = LoadSpec(rate_eps=20_000, warm_up_s=0.1, window_s=0.4)
    check_load(KafkaStreamsEngine(), broker, offered_task(broker, tmp_path, workload(name), spec))


@pytest.mark.full
@pytest.mark.parametrize("name", ["nexmark_q0", "nexmark_q3", "nexmark_q4", "nexmark_q11"])
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
def test_kafka_streams_conforms_under(case, name, broker, tmp_path):
    needs(KafkaStreamsEngine())
    options = {"broker": broker, "warm_up_rounds": 0, "heap_mb": 256}
    setting = Setting(variant=QUERY, options=options)
    found = run_load_case(KafkaStreamsEngine(), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


def test_bids_count_once_in_the_window_of_their_arrival(broker, tmp_path):
    needs(KafkaStreamsEngine())
    found = workload(ARRIVALS).bound({"size_ms": 20})
    spec = LoadSpec(rate_eps=20_000, warm_up_s=0.1, window_s=0.4)
    task = offered_task(broker, tmp_path, found, spec)
    measured, answer = run_task(KafkaStreamsEngine(), task)
    check_measured(measured, task, len(answer["ts"]))
    arrivals = Arrivals(
        due_ns=np.sort(np.concatenate(task.load.due_ns)), end_ns=60_000 * MS, tick_ns=MS
    )
    totals = found.oracle(task.dataset.load())
    assert verify_arrivals(found, answer, totals, arrivals).difference is None
    assert len(np.unique(answer["ts"])) > 1
    assert topics_at(broker) == []


def test_windows_of_arrival_time_need_a_load(broker, tmp_path):
    needs(KafkaStreamsEngine())
    found = workload(ARRIVALS)
    data = generated(found, dict(found.small), 200, seed=1)
    task = nexmark_task(broker, tmp_path, found, data)
    assert "offer a load" in KafkaStreamsEngine().unsupported(task)
