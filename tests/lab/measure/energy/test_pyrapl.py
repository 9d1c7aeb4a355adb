"""The real pyRAPL on this machine, which may have no counters, and on a fake /sys/class."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.lab.measure.energy.namespace import bind_class, python
from tests.lab.measure.energy.powercap_tree import RANGE_UJ, PowercapTree, sockets

OPEN = """
import json, logging, sys
from streamlab.lab.measure.energy.provider import Unusable
from streamlab.lab.measure.energy.pyrapl import PyRapl
before = list(logging.getLogger().handlers), logging.getLogger().level, logging.root.manager.disable
opened = PyRapl().open()
after = list(logging.getLogger().handlers), logging.getLogger().level, logging.root.manager.disable
assert before == after, (before, after)
assert "pyRAPL" in sys.modules
assert "pandas" not in sys.modules and "pymongo" not in sys.modules
assert None not in sys.modules.values()
def show(what):
    print(json.dumps(what), flush=True)
"""


def test_opening_it_leaves_logging_modules_and_warnings_as_they_were():
    done = subprocess.run(
        python(OPEN + "show(opened.reason if isinstance(opened, Unusable) else None)"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    reason = json.loads(done.stdout)
    if not Path("/sys/class/powercap").exists():
        assert "PyRAPLCantRecordEnergyConsumption" in reason and "found no counter" in reason


def test_a_package_that_is_loaded_already_stays_loaded():
    script = "import sys, pandas\n" + OPEN.replace('"pandas" not in sys.modules and ', "")
    done = subprocess.run(
        python(script + "assert sys.modules['pandas'] is pandas"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def fake_class(tmp_path, zones):
    """A /sys/class with these zones for every socket of this machine."""
    ids = sockets()
    if not ids:
        pytest.skip("SKIPPED: this machine shows no socket, and pyRAPL needs one")
    tree = PowercapTree(tmp_path / "class" / "powercap")
    for i, socket in enumerate(ids):
        tree.zone(f"{i}", f"package-{socket}", RANGE_UJ - 1_000_000)
        for j, name in enumerate(zones):
            tree.zone(f"{i}:{j}", name, 500_000, 65_532_610_987)
    return tree, ids


def steps(tmp_path, script, *changes):
    """Run a script that prints a line, then one more after each change; return the lines."""
    with bind_class(tmp_path / "class", python(OPEN + script)) as process:
        said = [process.stdout.readline()]
        for change in changes:
            change()
            process.stdin.write("\n")
            process.stdin.flush()
            said.append(process.stdout.readline())
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert errors == ""
    return [json.loads(line) for line in said]


READ = """
from streamlab.lab.measure.energy.joules import track
assert not isinstance(opened, Unusable), opened
readings = list(opened.read())
show({domain.name: domain.range_uj for domain in opened.domains})
for line in sys.stdin:
    readings += opened.read()
    show({
        domain.name: [float(t.joules[-1]), int(t.wrapped.sum()), list(t.reasons)]
        for domain in opened.domains for t in [track(domain, readings)]
    })
opened.close(); opened.close()
"""


def test_its_raw_counters_are_corrected_for_the_wrap_that_it_would_lose(tmp_path):
    tree, ids = fake_class(tmp_path, ["core", "dram"])

    def wrap():
        for i in range(len(ids)):
            tree.set(f"{i}", 2_000_000)
            tree.set(f"{i}:1", 700_000)

    opened, after = steps(tmp_path, READ, wrap)
    for socket in ids:
        assert opened[f"package-{socket}"] == RANGE_UJ
        assert opened[f"dram-{socket}"] == 65_532_610_987
        assert after[f"package-{socket}"] == [pytest.approx(3.0), 1, []]
        assert after[f"dram-{socket}"] == [pytest.approx(0.2), 0, []]
    assert not [name for name in opened if name.startswith("core")]


def test_without_a_range_a_negative_interval_is_dropped_with_a_reason(tmp_path):
    tree, ids = fake_class(tmp_path, [])
    for i in range(len(ids)):
        (tree.path(f"{i}").parent / "max_energy_range_uj").unlink()

    def wrap():
        for i in range(len(ids)):
            tree.set(f"{i}", 2_000_000)

    opened, after = steps(tmp_path, READ, wrap)
    for socket in ids:
        assert opened[f"package-{socket}"] is None
        joules, wraps, reasons = after[f"package-{socket}"]
        assert (joules, wraps) == (0, 0)
        assert "range is unknown" in reasons[0]
    assert not [name for name in opened if name.startswith("dram")]


def test_garbage_while_it_reads_is_a_failed_reading_and_no_exception(tmp_path):
    tree, ids = fake_class(tmp_path, [])
    _, after = steps(tmp_path, READ, lambda: tree.path("0").write_text("?\n"))
    assert "ValueError" in after[f"package-{ids[0]}"][2][0]


@pytest.fixture
def open_folder():
    """A folder that every user may enter; pytest closes the root of `tmp_path` at each start."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_denied_file_is_a_reason_that_names_it_and_the_remedy(open_folder):
    """Root is given up within the namespace, since permission bits do not bind it."""
    tree, _ = fake_class(open_folder, [])
    tree.path("0").chmod(0)
    drop = """
import encodings.ascii, os
opened.close()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
opened = PyRapl().open()
show([opened.reason, opened.remedy])
"""
    if os.geteuid() != 0:
        pytest.skip("SKIPPED: only root can give up root inside a mount namespace")
    # The first opening, as root, finds the counters; the second, as nobody, is denied.
    ((reason, remedy),) = steps(open_folder, drop)
    assert reason == "/sys/class/powercap/intel-rapl/intel-rapl:0/energy_uj: permission denied"
    assert "chmod a+r" in remedy
