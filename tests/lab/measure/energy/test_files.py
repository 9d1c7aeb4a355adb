"""The powercap zones, on trees of ordinary files."""

import itertools
import json
import os
import shutil

import pytest

from streamlab.lab.measure.energy.counter_files import (
    FileCounters,
    Powercap,
    find_zones,
    read_text,
)
from streamlab.lab.measure.energy.provider import Unusable
from streamlab.lab.measure.energy.recorder import EnergyRecorder
from tests.lab.measure.energy.powercap_tree import RANGE_UJ, PowercapTree, socket_tree
from tests.processes import run_python


def names(counters):
    assert not isinstance(counters, Unusable), counters
    return [domain.name for domain in counters.domains]


def test_all_zones_of_a_socket_are_found_once_with_their_range(tmp_path):
    socket_tree(tmp_path)
    counters = Powercap(root=tmp_path).open()
    assert names(counters) == ["package-0", "core-0", "uncore-0", "dram-0", "psys"]
    assert [domain.range_uj for domain in counters.domains][3:] == [65_532_610_987, RANGE_UJ]
    (reading,) = counters.read()
    assert reading.counters_uj["dram-0"] == 200_000
    assert reading.failed == {}


def test_two_sockets_and_two_dies_keep_their_children_apart(tmp_path):
    tree = PowercapTree(tmp_path)
    tree.zone("0", "package-1", 1).zone("0:0", "dram", 2)
    tree.zone("1", "package-0", 3).zone("1:0", "dram", 4)
    tree.zone("2", "package-2-die-1", 5).zone("2:0", "dram", 6)
    (reading,) = Powercap(root=tmp_path).open().read()
    assert reading.counters_uj == {
        "package-1": 1,
        "dram-1": 2,
        "package-0": 3,
        "dram-0": 4,
        "package-2-die-1": 5,
        "dram-2-die-1": 6,
    }


def test_the_memory_mapped_twin_of_a_package_is_not_counted_again(tmp_path):
    socket_tree(tmp_path)
    PowercapTree(tmp_path, "intel-rapl-mmio").zone("0", "package-0", 7)
    counters = Powercap(root=tmp_path).open()
    assert names(counters).count("package-0") == 1
    assert counters.read()[0].counters_uj["package-0"] == 1_000_000


def test_cores_alone_are_no_total(tmp_path):
    PowercapTree(tmp_path).zone("0", "core", 1)
    opened = Powercap(root=tmp_path).open()
    assert isinstance(opened, Unusable)
    assert "no package or psys" in opened.reason


def denied(*zones):
    def read(path):
        if path.name == "energy_uj" and path.parent.name in zones:
            raise PermissionError(13, "Permission denied", str(path))
        return read_text(path)

    return read


def test_a_denied_package_makes_the_provider_unusable_and_names_file_and_remedy(tmp_path):
    socket_tree(tmp_path)
    opened = Powercap(root=tmp_path, read=denied("intel-rapl:0")).open()
    assert isinstance(opened, Unusable)
    assert opened.reason == f"{tmp_path}/intel-rapl:0/energy_uj: permission denied"
    assert "chmod a+r" in opened.remedy


def test_a_denied_second_socket_is_not_left_out_of_the_total(tmp_path):
    PowercapTree(tmp_path).zone("0", "package-0", 1).zone("1", "package-1", 1)
    opened = Powercap(root=tmp_path, read=denied("intel-rapl:1")).open()
    assert isinstance(opened, Unusable)


def test_a_denied_dram_zone_is_a_remark(tmp_path):
    socket_tree(tmp_path)
    counters = Powercap(root=tmp_path, read=denied("intel-rapl:0:2")).open()
    assert "dram-0" not in names(counters)
    assert "intel-rapl:0:2" in counters.remarks[0]


def test_a_file_that_is_closed_to_others_is_denied_for_real(tmp_path):
    """Permission bits do not bind root, so a process without root reads."""
    # A file of root with mode 0400 is closed to other users; a file of another owner needs mode 0.
    socket_tree(tmp_path).path("0").chmod(0o400 if os.geteuid() == 0 else 0)
    script = (
        "import encodings.ascii, os, sys; from pathlib import Path;"
        "from streamlab.lab.measure.energy.counter_files import Powercap;"
        "os.geteuid() or (os.setgroups([]), os.setgid(65534), os.setuid(65534));"
        "print(Powercap(root=Path(sys.argv[1])).open().reason)"
    )
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_mode & 0o005 != 0o005:
            directory.chmod(0o755)
    done = run_python("-c", script, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("intel-rapl:0/energy_uj: permission denied")


def test_garbage_in_a_counter_is_a_failed_reading(tmp_path):
    tree = socket_tree(tmp_path)
    counters = Powercap(root=tmp_path).open()
    tree.path("0").write_text("\n")
    (reading,) = counters.read()
    assert "package-0" not in reading.counters_uj
    assert "intel-rapl:0/energy_uj" in reading.failed["package-0"]


class Stepped:
    """The zones of a tree, read on a clock that goes 0.1 s a reading."""

    name = "powercap"

    def __init__(self, root):
        self.root = root

    def open(self):
        half = itertools.count(0, 50_000_000)
        return FileCounters(find_zones(self.root, read_text), clock=lambda: next(half))


def record(root, steps):
    """Record while the tree changes step by step; every mark is a reading, nothing else is."""
    with EnergyRecorder(Stepped(root), period_s=3600) as recorder:
        for step in steps:
            step()
            recorder.mark()
    times_ns, _ = recorder.series()
    return recorder, int(times_ns[0]), int(times_ns[-1])


def test_a_counter_of_the_tree_that_wraps_four_times_is_followed(tmp_path):
    """20 steps of 400 J round a counter of 2 kJ, and one of DRAM that never wraps."""
    range_uj, step_uj = 2_000_000_000, 400_000_000
    tree = PowercapTree(tmp_path).zone("0", "package-0", 7, range_uj).zone("0:0", "dram", 0)

    def step(i):
        tree.set("0", (7 + i * step_uj) % range_uj)
        tree.set("0:0", i * 1_000_000)

    recorder, start_ns, end_ns = record(tmp_path, [lambda i=i: step(i) for i in range(1, 21)])
    row = recorder.columns(start_ns, end_ns, events=4_010_000)
    assert row["energy_wraps"] == 4
    assert json.loads(row["energy_domains"]) == {"package-0": 8000.0, "dram-0": 20.0}
    assert row["energy_gross_j"] == pytest.approx(8020)
    assert row["energy_j_per_1000"] == pytest.approx(2.0)


def test_a_zone_that_disappears_while_recorded_voids_the_total_with_a_reason(tmp_path):
    tree = socket_tree(tmp_path)
    recorder, start_ns, end_ns = record(
        tmp_path,
        [
            lambda: [tree.set(zone, 9_000_000) for zone in ("0", "0:2", "1")],
            lambda: shutil.rmtree(tree.path("0").parent),
            lambda: tree.set("0:2", 9_100_000),
        ],
    )
    row = recorder.columns(start_ns, end_ns, events=1000)
    assert row["energy_gross_j"] is None and row["power_w"] is None
    assert "package-0" in row["energy_reason"] and "no such file" in row["energy_reason"]
    assert "package-0" not in json.loads(row["energy_domains"])
    assert row["energy_dropped_s"] is not None
