"""A Kafka broker starts, gives datasets to runs that are verified, fails clearly, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil
import pytest

from streamlab.engines.broker.broker import answers
from streamlab.engines.broker.ceiling import broker_ceiling_eps, prepare_broker
from streamlab.engines.broker.generator import load_at_once
from streamlab.engines.broker.records import (
    PARTITIONS,
    SILENCE_S,
    longest_silence_s,
    partition_of,
    rows_of,
    topic_of,
)
from streamlab.engines.broker.topics import (
    METADATA_S,
    client,
    create_topics,
    delete_topics,
    delete_topics_of,
    write_topics,
)
from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import small_load
from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.kafka_streams.adapter import KafkaStreamsEngine
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.cluster.record import read_record
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import LoadSpec
from streamlab.results.store import read_run
from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.registry import workload
from tests.engines.broker.broker_tasks import (
    NEEDS_BROKER,
    broker_task,
    check_load,
    needs,
    topics_at,
)
from tests.engines.tasks import check_task, run_task, task_of
from tests.lab.cluster.commands import ROOT_ONLY, run_command, run_row

pytestmark = NEEDS_BROKER


def produce(broker, topic, value, partition=0):
    """Write a record to a topic, as another program might."""
    producer = client().Producer({"bootstrap.servers": broker})
    producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def test_a_run_from_the_broker_is_verified_and_its_row_says_so(place, broker):
    words = ("--engine", "multicore", "--option", f"multicore.broker={broker}")
    row = run_row(place, *words)
    assert (row.status, row.reason) == ("ok", None)
    assert (row.origin, row.also_timed) == ("broker", "reading, decoding")
    status = run_command(place, "broker", "status").stdout
    assert status == f"kafka  {broker}  answers\n"
    second = run_command(place, "broker", "up")
    assert second.returncode == 2
    assert "lab broker down" in second.stderr


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("page_view_join", "dgs"),
        ("fraud_detection", "dgs"),
        ("forward", "vsn"),
        ("scale_join", "vsn"),
        ("linear_road_pos_rep", "ordered"),
        ("linear_road_pos_rep", "layers"),
        ("sensor_interpolation", "dataflow"),
        ("nexmark_q5", "vsn"),
        ("nexmark_q15", "ordered"),
        ("nexmark_q20", "vsn"),
    ],
)
def test_programs_of_all_models_are_right_from_the_broker(name, variant, broker, tmp_path):
    task = broker_task(broker, tmp_path, name, variant=variant, workers=2)
    for _ in range(2):  # the second finds the topics complete
        measured, _answer = check_task(MulticoreEngine(), task)
        assert measured.latency is None
        assert measured.counters["broker_records"] > 0


EACH_ENGINE = pytest.mark.parametrize(
    ("engine", "variant", "options"),
    [
        pytest.param(MulticoreEngine(), "dgs", {}, id="multicore"),
        pytest.param(
            *(KafkaStreamsEngine(), "processor", {"warm_up_rounds": 0}),
            id="kafka-streams",
            marks=pytest.mark.full,
        ),
        pytest.param(
            *(FlinkEngine(), "automatic", {"warm_up_rounds": 0}),
            id="flink",
            marks=pytest.mark.full,
        ),
    ],
)
PROGRAMS = ("event_window", "keyed_counter", "page_view_join")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_kafka_streams_is_right(name, workers, broker, tmp_path):
    engine = KafkaStreamsEngine()
    needs(engine)
    options = {"warm_up_rounds": 0, "heap_mb": 256}
    task = broker_task(
        broker, tmp_path, name, variant="processor", options=options, workers=workers
    )
    check_task(engine, task)


@pytest.mark.parametrize("name", PROGRAMS)
def test_flink_is_right_from_the_broker(name, broker, tmp_path):
    engine = FlinkEngine()
    needs(engine)
    options = {"warm_up_rounds": 1}
    task = broker_task(broker, tmp_path, name, variant="automatic", options=options, workers=2)
    check_task(engine, task)


RATES_EPS = [20_000, pytest.param(10_000_000, marks=pytest.mark.full)]
"""The second is too much for every reader: nothing is lost while it falls behind."""


def load_task(broker, tmp_path, variant, rate_eps=20_000, name="keyed_counter", **options):
    """A task whose load, of half a second at 20,000 events/s, passes the broker."""
    subject = workload(name)
    events = 10_000 if rate_eps == 20_000 else 100_000
    params = {"values_per_barrier": 500} if name == "event_window" else {}
    data = generate_input(subject, subject.params(params), events, seed=7)
    dataset = write_dataset(data, subject.name, tmp_path)
    share = events / rate_eps
    spec = LoadSpec(rate_eps=rate_eps, warm_up_s=share / 5, window_s=share * 0.6)
    offered = offer(spec, dataset, program=subject.program)
    return broker_task(
        broker,
        tmp_path,
        subject.name,
        data=offered.dataset,
        load=offered.load,
        variant=variant,
        options=options,
        workers=2,
    )


@pytest.mark.parametrize("rate_eps", RATES_EPS)
def test_a_load_through_the_broker_is_right(rate_eps, broker, tmp_path):
    check_load(MulticoreEngine(), broker, load_task(broker, tmp_path, "dgs", rate_eps))


@pytest.mark.parametrize("rate_eps", RATES_EPS)
def test_a_load_through_the_broker_is_right_on_kafka_streams(rate_eps, broker, tmp_path):
    engine = KafkaStreamsEngine()
    needs(engine)
    check_load(engine, broker, load_task(broker, tmp_path, "processor", rate_eps, heap_mb=256))


@pytest.mark.parametrize(
    ("variant", "name", "rate_eps"),
    [
        ("automatic", "keyed_counter", 20_000),
        pytest.param("automatic", "keyed_counter", 10_000_000, marks=pytest.mark.full),
        pytest.param("automatic", "event_window", 20_000, marks=pytest.mark.full),
        pytest.param("manual", "page_view_join", 20_000, marks=pytest.mark.full),
        pytest.param("sequential", "event_window", 20_000, marks=pytest.mark.full),
    ],
)
def test_a_load_through_the_broker_is_right_on_flink(variant, name, rate_eps, broker, tmp_path):
    engine = FlinkEngine()
    needs(engine)
    check_load(engine, broker, load_task(broker, tmp_path, variant, rate_eps, name))


def end_generators():
    """End the processes of loads that this process has started, as a lack of memory would."""
    here = os.getpid()
    for process in psutil.process_iter(["ppid", "cmdline"]):  # a zombie has no command line
        command = process.info["cmdline"] or ()
        if process.info["ppid"] == here and "streamlab.engines.broker.generator" in command:
            process.kill()
            # Their parent is to see the signal: the exit status stays.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@EACH_ENGINE
def test_a_dead_generator_fails_the_run_and_is_named(engine, variant, options, broker, tmp_path):
    needs(engine)
    with closing(engine.prepare(load_task(broker, tmp_path, variant, **options))) as prepared:
        end_generators()
        with pytest.raises(EngineCrashError, match="generator was ended by signal 9"):
            prepared.run()
    assert topics_at(broker) == []


@pytest.mark.full
@EACH_ENGINE
def test_a_load_may_pause_for_longer_than_a_broker_may_be_silent(
    engine, variant, options, broker, tmp_path
):
    needs(engine)
    data = ordinary_input(workload("event_window"))
    due_ns = np.arange(data.events)
    due_ns[data.events // 2 :] += int((SILENCE_S + 2) * 1e9)
    load = small_load([stream.ts for stream in data.streams], due_ns)
    check_load(engine, broker, broker_task(broker, tmp_path, data=data, load=load, variant=variant))


def test_a_broker_may_be_silent_for_as_long_as_a_load_pauses():
    times = [np.array([0, 1]), np.array([2])]
    load = small_load(times, np.array([0, 5_000_000_000, 6_000_000_000]))
    assert longest_silence_s(None) == SILENCE_S
    assert longest_silence_s(load) == pytest.approx(SILENCE_S + 5, abs=0.01)


def test_the_brokers_ceiling_is_measured_with_rows_of_a_size(broker):
    assert broker_ceiling_eps(broker, 37) > 0
    assert topics_at(broker) == []


def test_a_broker_is_warmed_up_and_nothing_of_it_stays(broker):
    prepare_broker(broker)
    assert topics_at(broker) == []


@pytest.mark.parametrize("prefix", ["", "orders."])
def test_topics_of_others_are_never_deleted(prefix, broker):
    with pytest.raises(ValueError, match=r"expected lab\."):
        delete_topics_of(broker, prefix)


def test_an_address_where_no_kafka_answers_is_named_within_the_limit():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "127.0.0.1:{1}".format(*silent.getsockname())
        begin = time.monotonic()
        with pytest.raises(
            EngineError, match=rf"answers at '{address}' within 10 s.*lab broker up"
        ):
            prepare_broker(address)
        assert time.monotonic() - begin < METADATA_S + 5


WRONG_BROKER = ("--engine", "multicore", "--option", "multicore.broker=127.0.0.1:1")


def test_an_empty_address_ends_a_run_before_its_first_trial(place):
    done = run_command(place, "run", "event_window", "--option", "multicore.broker=")
    assert done.returncode == 2
    assert "option broker is ''; it must be a text that is not empty" in done.stderr


def test_a_wrong_address_ends_a_run_before_its_first_trial(place):
    done = run_command(place, "run", "event_window", *WRONG_BROKER, "--events", "9000")
    assert done.returncode == 2
    assert "no Kafka broker answers at '127.0.0.1:1'" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_addresses_of_all_cells_end_a_run_and_are_named(place):
    matrix = place / "wrong.toml"
    engines = (
        f'[[engine]]\nname = "multicore"\nworkers = [{port}]\n'
        f'options = {{ broker = "127.0.0.1:{port}" }}\n'
        for port in (1, 2)
    )
    matrix.write_text('[[workload]]\nname = "event_window"\nevents = 9000\n' + "".join(engines))
    done = run_command(place, "run", str(matrix))
    assert done.returncode == 2
    for port in (1, 2):
        assert f"no Kafka broker answers at '127.0.0.1:{port}'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.full
def test_a_wrong_address_costs_other_engines_nothing(place):
    words = ("--engine", "reference", "--events", "200000", "--repetitions", "1")
    done = run_command(place, "run", "event_window", *WRONG_BROKER, *words)
    assert done.returncode == 3
    assert "broker 127.0.0.1:1 could not be prepared: no Kafka broker answers" in done.stderr
    rows = read_run(Path(done.stdout.splitlines()[-1])).rows
    assert {(row.engine, row.status) for row in rows} == {
        ("multicore", "crash"),
        ("reference", "ok"),
    }


def test_trials_of_one_dataset_write_its_topics_once(broker, tmp_path):
    subject = workload("event_window")
    dataset = write_dataset(some_input(8), subject.name, tmp_path)
    data = dataset.load()
    begin = threading.Barrier(3)

    def write():
        begin.wait()
        return write_topics(broker, dataset, data)

    with ThreadPoolExecutor(3) as threads:
        written = [done.result() for done in [threads.submit(write) for _ in range(3)]]
    check_task(MulticoreEngine(), broker_task(broker, tmp_path, data=dataset))
    delete_topics(broker, [topic.name for topic in written[0]])


def test_kafka_streams_without_a_broker_names_the_command(tmp_path):
    engine = KafkaStreamsEngine()
    needs(engine)
    task = task_of("event_window", some_input(1), tmp_path, "processor")
    assert "lab broker up" in engine.unsupported(task)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_edges_of_the_contract_are_right_from_the_broker(case, broker, tmp_path):
    setting = Setting(variant="dgs", workers=2, options={"broker": broker})
    found = run_case(MulticoreEngine(), workload("keyed_counter"), case, setting, tmp_path)
    assert found.unsupported is None
    assert found.problems == ()


def test_lists_and_adaptive_plans_are_refused(broker, tmp_path):
    task = broker_task(broker, tmp_path, "wordcount", variant="vsn")
    assert "holds lists" in MulticoreEngine().unsupported(task)
    with pytest.raises(ValueError, match="remove option broker"):
        MulticoreEngine.known_variants[0].options(broker=broker, adapt=True)


def test_an_address_without_a_broker_is_named(tmp_path):
    task = broker_task("127.0.0.1:1", tmp_path)
    with pytest.raises(
        EngineError, match=r"no Kafka broker answers at '127.0.0.1:1'.*lab broker up"
    ):
        MulticoreEngine().prepare(task)


def test_keys_lie_in_the_partitions_that_kafkas_own_clients_choose(broker, tmp_path):
    dataset = write_dataset(ordinary_input(workload("keyed_counter")), "keyed_counter", tmp_path)
    topic = write_topics(broker, dataset, dataset.load())[0]
    producer = client().Producer({"bootstrap.servers": broker, "partitioner": "murmur2"})
    keys = np.arange(-50, 50)
    places = {}
    for key in keys.tolist():
        raw = key.to_bytes(8, "big", signed=True)
        producer.produce(
            topic.name,
            b"",
            key=raw,
            on_delivery=lambda error, message, key=key: places.update({key: message.partition()}),
        )
    assert producer.flush(30) == 0
    assert [places[key] for key in keys.tolist()] == partition_of(keys, PARTITIONS).tolist()
    delete_topics(broker, [topic.name])


def test_a_foreign_record_at_the_end_of_a_topic_is_named(broker, tmp_path):
    task = broker_task(broker, tmp_path, data=some_input(1))
    check_task(MulticoreEngine(), task)
    topic = topic_of(task.dataset, 0)
    produce(broker, topic.name, b"from elsewhere")
    with pytest.raises(EngineError, match=r"not written by the lab.*delete the topic"):
        MulticoreEngine().prepare(task)
    delete_topics(broker, [topic.name])
    check_task(MulticoreEngine(), task)


def test_rows_that_come_twice_fail_the_run_and_are_not_counted(broker, tmp_path):
    task = broker_task(broker, tmp_path, data=some_input(2))
    topic = topic_of(task.dataset, 1)
    write_topics(broker, task.dataset, task.dataset.load())
    delete_topics(broker, [topic.name])
    create_topics(broker, [topic])
    for _ in range(2):
        produce(broker, topic.name, first_rows(topic, task))
    last_records(broker, topic)
    with pytest.raises(EngineCrashError, match=r"has rows 0 to .* after row"):
        run_task(MulticoreEngine(), task)
    delete_topics(broker, [topic.name])


@EACH_ENGINE
def test_a_topic_that_lacks_rows_fails_the_run(engine, variant, options, broker, tmp_path):
    needs(engine)
    task = broker_task(
        broker, tmp_path, data=some_input(3), variant=variant, options=options.copy()
    )
    topic = topic_of(task.dataset, 1)
    write_topics(broker, task.dataset, task.dataset.load())
    delete_topics(broker, [topic.name])
    create_topics(broker, [topic])
    last_records(broker, topic)
    with pytest.raises(EngineCrashError, match=r"ended after 0 of .* rows|of .* rows came"):
        run_task(engine, task)
    delete_topics(broker, [topic.name])


def test_a_log_that_the_broker_has_cut_is_named(broker, tmp_path):
    task = broker_task(broker, tmp_path, data=some_input(4))
    topic = write_topics(broker, task.dataset, task.dataset.load())[0]
    cut(broker, topic)
    with pytest.raises(EngineError, match=r"partition 0 .* begins at record 1"):
        MulticoreEngine().prepare(task)
    delete_topics(broker, [topic.name])


def test_a_log_that_the_broker_cuts_before_it_is_read_fails_the_run(broker, tmp_path):
    task = broker_task(broker, tmp_path, data=some_input(9))
    with closing(MulticoreEngine().prepare(task)) as prepared:
        topic = topic_of(task.dataset, 0)
        cut(broker, topic)
        with pytest.raises(EngineCrashError, match=r"cannot give .* deleted records"):
            prepared.run()
    delete_topics(broker, [topic.name])


@EACH_ENGINE
def test_a_foreign_record_among_those_of_a_topic_fails_the_run_and_is_named(
    engine, variant, options, broker, tmp_path
):
    needs(engine)
    task = broker_task(
        broker, tmp_path, data=some_input(10), variant=variant, options=options.copy()
    )
    topic = topic_of(task.dataset, 1)
    write_topics(broker, task.dataset, task.dataset.load())
    produce(broker, topic.name, b"from elsewhere")
    last_records(broker, topic)
    with pytest.raises(EngineCrashError, match="not written by the lab"):
        run_task(engine, task)
    delete_topics(broker, [topic.name])


def test_a_topic_whose_writer_died_is_written_again(broker, tmp_path):
    task = broker_task(broker, tmp_path, data=some_input(5))
    topic = topic_of(task.dataset, 0)
    client()
    create_topics(broker, [topic])
    produce(broker, topic.name, first_rows(topic, task))
    check_task(MulticoreEngine(), task)


@pytest.mark.full
@pytest.mark.parametrize(
    ("offered", "words"),
    [(False, r"sent nothing for .* of 20,.* rows"), (True, "took no more records")],
    ids=["at once", "under a load"],
)
def test_a_broker_that_dies_before_it_has_sent_all_rows_fails_the_run_and_is_named(
    offered, words, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_CLUSTERS", str(tmp_path / "clusters"))
    up = run_command(tmp_path, "broker", "up", "--memory-mb", "256")
    assert up.returncode == 0, up.stderr
    try:
        address = up.stdout.strip()
        data = some_input(6)
        due_ns = np.arange(data.events) * 50_000
        load = small_load([stream.ts for stream in data.streams], due_ns) if offered else None
        task = broker_task(address, tmp_path, data=data, load=load)
        with closing(MulticoreEngine().prepare(task)) as prepared:
            (daemon,) = read_record("kafka").daemons
            os.kill(daemon.pid, signal.SIGKILL)
            with pytest.raises(EngineCrashError, match=words):
                prepared.run()
        assert not answers(address)
        status = run_command(tmp_path, "broker", "status").stdout
        assert "does not answer" in status
        assert "ended; see" in status
        again = run_command(tmp_path, "broker", "up", "--memory-mb", "256")
        assert again.returncode == 0, again.stderr
        assert answers(again.stdout.strip())
    finally:
        assert run_command(tmp_path, "broker", "down").returncode == 0


@pytest.mark.full
@ROOT_ONLY
@pytest.mark.parametrize(
    ("offered", "words"),
    [(False, "cannot store the dataset"), (True, "took no more records")],
    ids=["at once", "under a load"],
)
def test_a_full_disk_of_the_broker_is_named(offered, words, tmp_path):
    clusters = tmp_path / "clusters"
    clusters.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", clusters], check=True)
    try:
        up = run_command(tmp_path, "broker", "up", "--memory-mb", "256")
        assert up.returncode == 0, up.stderr
        address = up.stdout.strip()
        subject = workload("event_window")
        data = generate_input(subject, subject.params({}), 4_000_000, seed=1)
        load = load_at_once(data.streams) if offered else None
        task = broker_task(address, tmp_path, data=data, load=load)
        with pytest.raises(EngineError, match=words):
            run_task(MulticoreEngine(), task)
        assert run_command(tmp_path, "broker", "down").returncode == 0
    finally:
        subprocess.run(["umount", clusters], check=True)


def some_input(seed):
    """An input of its own for each test, so that its topics are."""
    subject = workload("event_window")
    return generate_input(subject, subject.params({}), 20_000, seed=seed)


def cut(broker, topic):
    """Delete the first record of a topic, as retention would."""
    admin = import_module("confluent_kafka.admin").AdminClient({"bootstrap.servers": broker})
    part = client().TopicPartition(topic.name, 0, 1)
    for done in admin.delete_records([part]).values():
        done.result(30)


def last_records(broker, topic):
    """Write the last record of each partition."""
    for partition in range(topic.partitions):
        produce(broker, topic.name, topic.encode(np.empty(0, dtype=topic.row), end=True), partition)


def first_rows(topic, task):
    """A record with the first ten rows of a topic's stream."""
    stream = task.dataset.load().streams[topic.stream]
    return topic.encode(rows_of(topic, stream, 0, min(10, len(stream))))
