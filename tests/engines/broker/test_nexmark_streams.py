"""Nexmark's queries on Kafka Streams give the oracle's answer, and leave no topics."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from streamlab.engines.conformance import ties
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.kafka_streams.adapter import QUERIES, QUERY, KafkaStreamsEngine
from streamlab.workloads.registry import workload
from tests.engines.broker.broker_tasks import NEEDS_BROKER, broker_task, needs, topics_at
from tests.engines.separate_environment import bound
from tests.engines.tasks import check_task
from tests.examples import examples
from tests.workloads.suite.nexmark_inputs import nexmark_inputs
from tests.workloads.suite.streams import generated

pytestmark = NEEDS_BROKER


def nexmark_task(broker, tmp_path, found, data, workers=2):
    """A task of Kafka Streams on one of Nexmark's queries."""
    options = {"warm_up_rounds": 0, "heap_mb": 256}
    return broker_task(
        broker, tmp_path, found, data, variant=QUERY, options=options, workers=workers
    )


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        ("nexmark_q9", 1),
        ("nexmark_q16", 2),
        *(
            pytest.param(name, workers, marks=pytest.mark.full)
            for name in sorted(QUERIES)
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
    assert topics_at(broker, "lab-") == [], "the repartition topics are gone"


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(QUERIES))
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
