"""The Dockerfile, compose.yaml and the commands in them agree with the lab: engines, nodes, ports, addresses, files."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from streamlab.engines.broker import broker
from streamlab.engines.clusters import ClusterPlan
from streamlab.engines.environment import declared_environment
from streamlab.engines.registry import engine, names
from streamlab.lab.cli import cli
from streamlab.lab.cluster.daemons import cluster_engine
from streamlab.lab.isolate.isolation import IMAGE
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import read_matrix

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
CLUSTERS = {"spark", "flink", "kafka"}
ANSWERS = ROOT / "tools" / "node-answers"
INSTALL_FROM = ROOT / "tools" / "install-from"

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is absent here")


def parse(command: str) -> tuple[str, dict[str, object]]:
    """Return the name and the options of a `lab` command, as the lab itself reads it."""
    program, *words = shlex.split(command)
    assert program == "lab"
    group, path = cli, []
    while hasattr(group, "commands"):
        path.append(words.pop(0))
        group = group.commands[path[-1]]
    return " ".join(path), group.make_context(path[-1], words).params


def nodes() -> dict[str, dict[str, object]]:
    """Return the options of `lab cluster node` of each service that is a node."""
    parsed = {name: parse(service["command"]) for name, service in SERVICES.items()}
    return {name: options for name, (path, options) in parsed.items() if path == "cluster node"}


def plan(options: dict[str, object], folder: Path) -> ClusterPlan:
    host, *workers = options["hosts"].split(",")
    return ClusterPlan(
        folder=folder,
        host=host,
        ports=options["ports"],
        worker_hosts=tuple(workers),
        cores=options["cores"],
        memory_mb=options["memory_mb"],
    )


def default_engines(text: str, pattern: str) -> list[str]:
    return re.search(pattern, text, re.MULTILINE)[1].split()


def test_the_image_has_by_default_the_engines_that_make_names_and_each_has_an_environment():
    by_default = default_engines(DOCKERFILE, r'^ARG ENGINES="(.*)"$')
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert by_default == default_engines(makefile, r"^ENGINES\s*\?= (.*)$")
    assert [name for name in by_default if declared_environment(engine(name)) is None] == []


def test_engines_that_need_java_get_a_compiler_and_engines_with_jars_get_maven():
    found = re.search(r"case \"\$name\" in \\\n(.*?)esac", DOCKERFILE, re.DOTALL)[1]
    by_line = re.findall(r"^ *([\w|-]+)\) (.*?);; \\$", found, re.MULTILINE)
    lacks = {name: line for alternatives, line in by_line for name in alternatives.split("|")}
    environments = {name: declared_environment(engine(name)) for name in names()}
    environments[broker.NAME] = broker.ENVIRONMENT
    with_jars = {name for name, each in environments.items() if each and each.lock.suffix == ".xml"}
    assert {name for name, line in lacks.items() if " maven" in line} == with_jars
    assert {name for name, line in lacks.items() if " default-jdk" in line} == with_jars | {"flink"}


def test_all_services_run_the_image_that_make_builds():
    assert {service["image"] for service in SERVICES.values()} == {f"${{LAB_IMAGE:-{IMAGE}}}"}


def test_each_host_of_a_cluster_is_a_service_with_the_same_command():
    by_engine: dict[str, dict[str, object]] = {}
    for name, options in nodes().items():
        assert SERVICES[name]["hostname"] == name
        assert options == by_engine.setdefault(options["engine"], options)
    assert by_engine.keys() == CLUSTERS
    hosts = [host for options in by_engine.values() for host in options["hosts"].split(",")]
    assert sorted(hosts) == sorted(nodes())


def test_the_lab_starts_after_all_nodes_and_after_the_checks_of_coordinating_ones():
    conditions = {name: each["condition"] for name, each in SERVICES["lab"]["depends_on"].items()}
    assert conditions == {
        name: "service_healthy" if "healthcheck" in SERVICES[name] else "service_started"
        for name in nodes()
    }
    checked = {name for name in nodes() if "healthcheck" in SERVICES[name]}
    assert checked == {options["hosts"].split(",")[0] for options in nodes().values()}


def test_each_health_check_asks_the_host_at_a_port_of_its_command_for_all_workers():
    for name, options in nodes().items():
        if "healthcheck" not in SERVICES[name]:
            continue
        cmd, program, host, port, *page = SERVICES[name]["healthcheck"]["test"]
        workers = len(options["hosts"].split(",")) - 1
        assert (cmd, ROOT / program, host) == ("CMD", ANSWERS, name)
        assert int(port) == options["ports"][1 if workers else 0]
        assert not workers or page[1][-1] == str(workers)


def test_the_matrix_of_the_lab_addresses_each_cluster_as_its_engine_does(tmp_path):
    path, options = parse(SERVICES["lab"]["command"])
    assert path == "run"
    matrix = read_matrix(ROOT / options["what"])
    used = {
        (option, str(value))
        for cell in expand(matrix)
        for option, value in cell.options.items()
        if option in ("master", "jobmanager", "broker")
    }
    by_engine = {options["engine"]: options for options in nodes().values()}
    expected = set()
    for name, node in by_engine.items():
        of = cluster_engine(name)
        expected.add((of.cluster_option, of.cluster_address(plan(node, tmp_path))))
    assert used == expected
    cores = {name: node["cores"] * node["hosts"].count(",") for name, node in by_engine.items()}
    for entry in matrix.engines:
        if {"master", "jobmanager"} & entry.options.keys():
            assert max(entry.workers) <= cores[entry.name]


def test_every_volume_of_a_service_is_declared_or_a_folder_of_the_lab():
    for service in SERVICES.values():
        assert service["environment"] == {"LAB_SHARED": "/shared"}
        for volume in service["volumes"]:
            source, target = volume.split(":")
            assert source in COMPOSE["volumes"] or target == f"/lab/{source.removeprefix('./')}"


@pytest.fixture
def page():
    """The port of a service whose page has some text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{\n  "aliveworkers" : 2,\n  "page" : "' + self.path.encode() + b'"}')

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def answers(*words: object) -> bool:
    done = subprocess.run(
        [ANSWERS, *map(str, words)], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode == 0


@needs_bash
def test_a_node_answers_if_it_listens_and_its_page_has_the_text(page):
    assert answers("127.0.0.1", page)
    assert answers("127.0.0.1", page, "/json/", "aliveworkers.* 2")
    assert answers("127.0.0.1", page, "/json/", "page.*/json/")
    assert not answers("127.0.0.1", page, "/json/", "aliveworkers.* 3")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert not answers("127.0.0.1", closed.getsockname()[1])


def test_packages_come_from_a_folder_that_has_some_and_else_from_their_registries(tmp_path):
    """The folder's Maven repository may be read-only: Maven writes to a copy of its links."""
    show = """\
import os, pathlib
options = os.environ.get("MAVEN_OPTS", "")
print(os.environ.get("PIP_NO_INDEX"), os.environ.get("PIP_FIND_LINKS"))
for option in options.split():
    repository = pathlib.Path(option.partition("=")[2])
    (repository / "group" / "written").touch()
    print(option.partition("=")[0], (repository / "group" / "a.jar").read_text())
"""
    script = tmp_path / "show.py"
    script.write_text(show, encoding="utf-8")
    empty, full = tmp_path / "empty", tmp_path / "full"
    (full / "wheels").mkdir(parents=True)
    (full / "maven" / "group").mkdir(parents=True)
    (full / "maven" / "group" / "a.jar").write_text("jar", encoding="utf-8")
    empty.mkdir()
    outputs = []
    for folder in (empty, full):
        done = subprocess.run(
            [INSTALL_FROM, folder, sys.executable, script],
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.split())
    assert outputs[0] == ["None", "None"]
    assert outputs[1] == ["1", f"{full}/wheels", "-Dmaven.repo.local", "jar"]
    assert [path.name for path in (full / "maven" / "group").iterdir()] == ["a.jar"]
    failing = subprocess.run([INSTALL_FROM, full, "sh", "-c", "exit 3"], check=False)
    assert failing.returncode == 3
