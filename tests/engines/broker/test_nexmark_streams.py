"""Nexmark's queries on Kafka Streams give the oracle's answer, and leave no topics."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from streamlab.engines.conformance import ties
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
