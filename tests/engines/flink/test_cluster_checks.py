"""A cluster of Flink that cannot run a task is refused with what it lacks, before anything starts."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from streamlab.engines.clusters import ClusterPlan
from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineError
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.cluster import check, lacking
from streamlab.engines.flink.session import daemons, host_of, state, worker_processes
from streamlab.engines.options import OptionError, check_options
from streamlab.workloads.registry import workload
from tests.engines.clock import load_at_once
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import task_of

ENGINE = FlinkEngine()
VARIANTS = {variant.name: variant for variant in ENGINE.variants()}


@contextmanager
def service(content: object) -> Iterator[str]:
    """Answer every request with a JSON document, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def plan(folder: Path, port: int, memory_mb: int = 1024) -> ClusterPlan:
    return ClusterPlan(
        folder=folder,
        host="127.0.0.1",
        ports=(port, port),
        worker_hosts=("127.0.0.2", "127.0.0.3"),
        cores=1,
        memory_mb=memory_mb,
    )


@pytest.mark.parametrize(
    ("free", "workers", "words"),
    [
        (4, 4, None),
        (4, 5, "has 4 slots on 2 task managers, and the task needs 5"),
        (1, 2, "has 1 of 4 slots free, and the task needs 2: the rest belong to other; wait"),
    ],
)
def test_slots_are_compared_with_free_memory(free, workers, words):
    lack = lacking(4, free, 2, workers, ["other"])
    assert lack is None if words is None else words in lack


@pytest.mark.parametrize("address", ["head", ":8081", "head:", "http://head"])
def test_an_address_without_host_or_port_is_refused(address):
    with pytest.raises(OptionError, match="it must be HOST:PORT"):
        check_options(ENGINE, VARIANTS["automatic"], {"jobmanager": address})


@pytest.mark.parametrize("option", [{"heap_mb": 512}, {"managed_memory_mb": 512}])
def test_memory_that_the_cluster_sets_is_refused(option):
    with pytest.raises(OptionError, match="set when its task managers start"):
        check_options(ENGINE, VARIANTS["automatic"], {"jobmanager": "head:8081", **option})


@pytest.mark.parametrize("option", [{"jobmanager": "head:8081"}, {"checkpoint_ms": 100}])
def test_plans_by_hand_have_neither_cluster_nor_checkpoints(option):
    with pytest.raises(OptionError, match="no checkpoint includes"):
        check_options(ENGINE, VARIANTS["manual"], option)


def test_an_offered_load_is_refused(tmp_path):
    data = ordinary_input(workload("event_window"))
    options = {"jobmanager": "head:8081"}
    task = task_of("event_window", data, tmp_path, "automatic", options=options)
    loaded = replace(task, load=load_at_once([len(stream) for stream in data.streams]))
    assert "takes no load on a cluster" in ENGINE.refused(loaded)


def test_a_job_manager_that_does_not_listen_is_named(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin = time.monotonic()
    with pytest.raises(EngineError, match=f"no Flink job manager answers at 127.0.0.1:{port} "):
        check(f"127.0.0.1:{port}", 1)
    assert time.monotonic() - begin < 20
    assert state(plan(tmp_path, port)) is None


def test_a_service_that_never_answers_is_named():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(EngineError, match="no Flink job manager answers"):
            check(address, 1)
    assert time.monotonic() - begin < 20


def test_another_version_is_named():
    with service({"flink-version": "1.20.1"}) as address, pytest.raises(EngineError) as raised:
        check(address, 1)
    assert f"the Flink cluster at {address} has version 1.20.1, and the lab runs" in str(
        raised.value
    )


@pytest.mark.parametrize("content", [["something"], {}])
def test_another_service_is_no_job_manager(content):
    with service(content) as address, pytest.raises(EngineError, match="is no Flink job manager"):
        check(address, 1)


@requires_environment(FlinkEngine)
def test_daemons_have_their_hosts_and_their_memory(tmp_path):
    manager, first, second = daemons(plan(tmp_path, 8081))
    assert (manager.host, first.host, second.host) == ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    assert "taskmanager.bind-host=127.0.0.3" in second.command
    assert "-Xmx448m" in first.command
    with pytest.raises(EngineError, match="at least 768 MB, got 512"):
        daemons(plan(tmp_path, 8081, memory_mb=512))


def test_the_host_of_a_task_manager_is_read_from_its_address():
    path = "pekko.tcp://flink@10.213.0.2:37781/user/rpc/taskmanager_0"
    assert host_of({"path": path, "id": "one"}) == "10.213.0.2"


def test_a_task_manager_of_another_machine_is_not_found_here():
    assert worker_processes({"worker-1-elsewhere"}) == ()
