"""Lines of perf, from a fake perf that prints them, and from the real perf where it is installed."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streamlab.lab.measure.energy.joules import track
from streamlab.lab.measure.energy.perf import EVENTS_BELOW, PARANOID, Perf, parse
from streamlab.lab.measure.energy.provider import Unusable
from streamlab.lab.measure.energy.recorder import EnergyRecorder

# As perf 6.1 prints them with --per-socket -I 100 -x ';'.
PATIENCE_S = 600
PKG = "     0.100121637;S0;1;1.87;Joules;power/energy-pkg/;100120943;100.00;;"
RAM = "     0.100121637;S1;1;0.25;Joules;power/energy-ram/;100120943;100.00;;"


def test_a_line_gives_time_socket_domain_and_microjoules():
    found = parse(PKG)
    assert (found.time_ns, found.domain, found.uj) == (100_121_637, "package-0", 1_870_000)
    assert parse(RAM).domain == "dram-1"


@pytest.mark.parametrize(
    ("event", "domain"),
    [
        ("S0;1;1.00;Joules;power/energy-cores/", "core-0"),
        ("S0;1;1.00;Joules;power/energy-gpu/", "uncore-0"),
        ("S0;1;1.00;Joules;power/energy-psys/", "psys"),
        ("S0-D1;1;1.00;Joules;power/energy-pkg/", "package-0-die-1"),
        ("S1;1;1.00;Joules;energy-pkg", "package-1"),
    ],
)
def test_every_event_has_the_name_of_its_powercap_zone(event, domain):
    assert parse(f" 1.5;{event};1;100.00;;").domain == domain


@pytest.mark.parametrize("missing", ["<not counted>;Joules", "<not supported>;"])
def test_a_missing_count_is_not_zero(missing):
    line = f"0.1;S0;0;{missing};power/energy-pkg/;0;0.00;;"
    assert parse(line).uj == missing.partition(";")[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# started on Mon Jan  1 00:00:00 2024",
        "     0.100121637;S0;2;200.39;msec;task-clock;200388998;100.00;2.004;CPUs utilized",
        "0.1;S0;1;1.87;Watts;power/energy-pkg/;1;100.00;;",
        "0.1;S0;1;much;Joules;power/energy-pkg/;1;100.00;;",
        "0.1;S0;1;1.87;Joules;power/energy-moon/;1;100.00;;",
    ],
)
def test_other_lines_are_passed_over(text):
    assert parse(text) is None


def fake_root(tmp_path, events=("energy-pkg", "energy-ram"), paranoid="2"):
    directory = tmp_path / "root" / EVENTS_BELOW
    directory.mkdir(parents=True)
    for event in events:
        (directory / event).write_text("event=0x02\n")
        (directory / f"{event}.unit").write_text("Joules\n")
        (directory / f"{event}.scale").write_text("2.3e-10\n")
    (tmp_path / "root" / PARANOID).parent.mkdir(parents=True)
    (tmp_path / "root" / PARANOID).write_text(paranoid + "\n")
    return tmp_path / "root"


def fake_perf(tmp_path, body):
    """A program perf that notes its arguments and then does what the body says."""
    program = tmp_path / "bin" / "perf"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, signal, sys, time\n"
        f"open({str(tmp_path / 'arguments')!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        "def line(t, value, unit, event):\n"
        "    print(f'     {t:.9f};S0;1;{value};{unit};power/{event}/;1;100.00;;', flush=True)\n"
        + body
    )
    program.chmod(0o755)
    return str(program)


# Counts 2 J a package and 0.5 J of DRAM in each 100 ms; on SIGINT a last line, as perf does. Like
# perf it never stops between the lines of one interval.
COUNTING = """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
start = time.monotonic()
t, stopped = 0.0, None
while not stopped:
    t = round(t + 0.1, 9)
    stopped = signal.sigtimedwait({signal.SIGINT}, max(0, start + t - time.monotonic()))
    share = 0.5 if stopped else 1.0
    t = round(t - 0.05, 9) if stopped else t
    line(t, 2.0 * share, 'Joules', 'energy-pkg')
    line(t, 0.5 * share, 'Joules', 'energy-ram')
"""


def opened(tmp_path, body, **fields):
    program = fake_perf(tmp_path, body)
    return Perf(root=fake_root(tmp_path, **fields), which=lambda name: program).open()


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_its_intervals_are_summed_and_the_last_shorter_one_is_not_lost(tmp_path):
    counters = opened(tmp_path, COUNTING)
    assert not isinstance(counters, Unusable), counters
    try:
        assert [domain.name for domain in counters.domains] == ["package-0", "dram-0"]
        readings = list(counters.read())
        deadline = time.monotonic() + PATIENCE_S
        while len(readings) < 5 and time.monotonic() < deadline:
            readings += counters.read()
            time.sleep(0.02)
    finally:
        readings += counters.close()
    assert counters.close() == ()
    assert gone(counters.pid)
    intervals = len(readings) - 2  # without the zero at the start and the short one at the end
    tracks = {domain.name: track(domain, readings) for domain in counters.domains}
    assert tracks["package-0"].joules[-1] == pytest.approx(2.0 * intervals + 1.0)
    assert tracks["dram-0"].joules[-1] == pytest.approx(0.5 * intervals + 0.25)
    times = [reading.time_ns for reading in readings]
    assert times == sorted(set(times))
    assert times[-1] <= time.monotonic_ns()
    said = (tmp_path / "arguments").read_text()
    assert said == (
        "stat -a --per-socket -I 100 -x ; --log-fd 1 -e power/energy-pkg/,power/energy-ram/"
    )


def test_a_domain_that_is_not_supported_is_left_out_with_a_remark(tmp_path):
    body = """
line(0.1, 2.0, 'Joules', 'energy-pkg'); line(0.1, '<not supported>', '', 'energy-ram')
line(0.2, 2.0, 'Joules', 'energy-pkg'); line(0.2, '<not supported>', '', 'energy-ram')
time.sleep(60)
"""
    counters = opened(tmp_path, body)
    assert [domain.name for domain in counters.domains] == ["package-0"]
    assert counters.remarks == ("dram-0: <not supported>",)
    counters.close()


def test_an_interval_that_was_not_counted_is_a_gap(tmp_path):
    body = """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
for i in range(1, 6):
    time.sleep(0.1)
    value = '<not counted>' if i == 3 else 2.0
    line(i / 10, value, 'Joules', 'energy-pkg')
signal.sigwait({signal.SIGINT})
"""
    counters = opened(tmp_path, body, events=("energy-pkg",))
    readings = [*counters.read(), *counters.close()]
    found = track(counters.domains[0], readings)
    assert found.joules[-1] == pytest.approx(8.0)
    assert list(found.lost) == [False, False, True, False, False]
    assert found.reasons == ("the counter did not run all the time",)


def test_no_package_that_counts_makes_it_unusable(tmp_path):
    body = """
for t in (0.1, 0.2): line(t, '<not counted>', 'Joules', 'energy-pkg')
time.sleep(60)
"""
    found = opened(tmp_path, body, events=("energy-pkg",))
    assert isinstance(found, Unusable)
    assert found.reason == "perf: package-0: <not counted>"


def test_the_reason_is_the_complaint_of_perf_with_the_setting_that_helps(tmp_path):
    body = """
print('Error:\\nAccess to performance monitoring and observability operations is limited.\\n'
      'Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open', file=sys.stderr)
sys.exit(255)
"""
    found = opened(tmp_path, body)
    assert found.reason == (
        "perf: Access to performance monitoring and observability operations is limited."
    )
    assert found.remedy == "sudo sysctl kernel.perf_event_paranoid=0"


def test_a_silent_perf_is_ended_after_a_time_limit(tmp_path):
    """It would say nothing for an hour."""
    program = fake_perf(tmp_path, "time.sleep(3600)")
    found = Perf(root=fake_root(tmp_path), which=lambda name: program, start_timeout_s=0.2).open()
    assert found.reason == "perf: no line within 0.2 s"


def test_a_perf_that_dies_meanwhile_loses_the_rest_with_a_reason(tmp_path):
    body = """
for i in range(1, 4):
    time.sleep(0.1)
    line(i / 10, 2.0, 'Joules', 'energy-pkg')
sys.exit(7)
"""
    program = fake_perf(tmp_path, body)
    provider = Perf(root=fake_root(tmp_path, events=("energy-pkg",)), which=lambda name: program)
    with EnergyRecorder(provider, period_s=0.01) as recorder:
        deadline = time.monotonic() + PATIENCE_S
        while recorder.series()[0].size < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        start_ns = int(recorder.series()[0][0])
        recorder.mark()
    row = recorder.columns(start_ns, start_ns + 10**10, events=1)
    assert row["energy_gross_j"] is None
    assert row["energy_dropped_s"] == pytest.approx(9.7, abs=0.1)
    assert "s of 10 s lost (perf ended with code 7)" in row["energy_reason"]


def test_a_perf_that_is_still_ending_when_it_is_closed_says_its_code(tmp_path, monkeypatch):
    """Its lines have ended, and the kernel has not its exit code yet."""
    said = tmp_path / "said"
    body = f"""
for i in range(1, 4): line(i / 10, 2.0, 'Joules', 'energy-pkg')
os.close(1)
open({str(said)!r}, "w").close()
time.sleep(0.3)
os._exit(7)
"""
    counters = opened(tmp_path, body, events=("energy-pkg",))
    deadline = time.monotonic() + PATIENCE_S
    readings = []
    # Two intervals have ended when the third line was read: a line read later would cover the moment of closing.
    while (not said.exists() or len(readings) < 2) and time.monotonic() < deadline:
        readings += counters.read()
        time.sleep(0.01)
    # On a busy machine the end of its output may be read later than after three periods.
    monkeypatch.setattr("streamlab.lab.measure.energy.perf.PERIOD_MS", 1000 * PATIENCE_S)
    readings += [*counters.read(), *counters.close()]
    assert readings[-1].failed == {"package-0": "perf ended with code 7"}


def test_absent_events_an_absent_program_and_a_broken_one_are_reasons(tmp_path):
    assert "PMU `power` is absent" in Perf(root=tmp_path).open().reason
    root = fake_root(tmp_path)
    absent = Perf(root=root, which=lambda name: None).open()
    assert absent.reason == "the machine has energy-pkg, energy-ram, but perf is not installed"
    broken = Perf(root=root, which=lambda name: str(tmp_path)).open()
    assert "denied" in broken.reason


@pytest.mark.skipif(shutil.which("perf") is None, reason="SKIPPED: perf is not installed")
def test_the_real_perf_without_a_power_unit_is_unusable_in_its_own_words(tmp_path):
    """The fake tree promises events that the kernel does not have."""
    if (Path("/") / EVENTS_BELOW).exists():
        pytest.skip("SKIPPED: this machine has the power unit; test_real.py reads it")
    found = Perf(root=fake_root(tmp_path)).open()
    assert isinstance(found, Unusable)
    assert "power" in found.reason and "PMU" in found.reason


@pytest.mark.skipif(shutil.which("perf") is None, reason="SKIPPED: perf is not installed")
def test_the_real_perf_prints_lines_of_the_expected_shape_with_these_options():
    """A software event stands in for energy, which virtual machines lack."""
    command = "perf stat -a --per-socket -I 100 -x ; --log-fd 1 -e task-clock --interval-count 1"
    done = subprocess.run(
        command.split(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "LC_ALL": "C"},
    )
    first = done.stdout.partition("\n")[0]
    if not first:
        pytest.skip(f"SKIPPED: perf may not count here: {done.stderr.strip()}")
    as_energy = first.replace(";msec;task-clock;", ";Joules;power/energy-pkg/;")
    found = parse(as_energy)
    assert found is not None and found.domain == "package-0", first
    assert found.time_ns > 50_000_000
