"""Limits of control groups in fake trees of /proc and /sys, and in a real group of this machine."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from streamlab.lab.host.machine import Machine
from streamlab.workloads import control_group

V1 = "/sys/fs/cgroup/cpu"
OF_V1 = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
JOINT = "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
MEMORY = "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
UNIFIED = "33 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
OF_V2 = "34 25 0:30 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


def reading(root, mounts, groups, files):
    """Return a reader of a fake machine."""
    tree = {"/proc/self/cgroup": groups, **files}
    if mounts is not None:
        tree["/proc/self/mountinfo"] = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts
    for name, text in tree.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return Machine(root=root).text


def v1(folder, quota, period=100_000):
    return {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": period}


LAYOUTS = {
    "version 1": (OF_V1, "3:cpu:/job", v1(f"{V1}/job", 50_000), 0.5),
    "version 1, limited above": (
        OF_V1,
        "3:cpu:/job/part",
        {**v1(f"{V1}/job", 50_000), **v1(f"{V1}/job/part", 150_000)},
        0.5,
    ),
    "version 1, limited below": (
        OF_V1,
        "3:cpu:/job/part",
        {**v1(f"{V1}/job", 150_000), **v1(f"{V1}/job/part", 50_000)},
        0.5,
    ),
    "version 1, no limit": (OF_V1, "3:cpu:/job", v1(f"{V1}/job", -1), None),
    "co-mounted without a link": (
        JOINT,
        "3:cpu,cpuacct:/job",
        v1("/sys/fs/cgroup/cpu,cpuacct/job", 50_000),
        0.5,
    ),
    "co-mounted, mounts unreadable": (
        None,
        "3:cpu,cpuacct:/job",
        v1("/sys/fs/cgroup/cpu,cpuacct/job", 50_000),
        0.5,
    ),
    "another controller's group": (
        OF_V1 + MEMORY,
        "3:cpu:/\n4:memory:/job",
        v1(f"{V1}/job", 50_000),
        None,
    ),
    "version 1 elsewhere": (
        "30 25 0:26 / /dev/cg\\040roups rw - cgroup none rw,cpu\n",
        "3:cpu:/job",
        v1("/dev/cg roups/job", 50_000),
        0.5,
    ),
    "a container of version 1": (
        "30 25 0:26 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
        "3:cpu:/docker/abc",
        v1(V1, 50_000),
        0.5,
    ),
    "a group within a container of version 1": (
        "30 25 0:26 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
        "3:cpu:/docker/abc/job",
        {**v1(V1, 150_000), **v1(f"{V1}/job", 50_000)},
        0.5,
    ),
    "hybrid": (
        OF_V1 + UNIFIED,
        "3:cpu:/job\n0::/job",
        v1(f"{V1}/job", 50_000),
        0.5,
    ),
    "hybrid with the controller in version 2": (
        MEMORY + UNIFIED,
        "4:memory:/\n0::/job",
        {"/sys/fs/cgroup/unified/job/cpu.max": "50000 100000"},
        0.5,
    ),
    "version 2": (OF_V2, "0::/job", {"/sys/fs/cgroup/job/cpu.max": "50000 100000"}, 0.5),
    "version 2, limited above": (
        OF_V2,
        "0::/a.slice/b.scope",
        {
            "/sys/fs/cgroup/a.slice/cpu.max": "50000 100000",
            "/sys/fs/cgroup/a.slice/b.scope/cpu.max": "max 100000",
        },
        0.5,
    ),
    "version 2, no limit": (OF_V2, "0::/job", {"/sys/fs/cgroup/job/cpu.max": "max 100000"}, None),
    "a namespace of version 2": (OF_V2, "0::/", {"/sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5),
    "a namespace without mounts": (
        None,
        "0::/",
        {"/sys/fs/cgroup/cpu.max": "50000 100000"},
        0.5,
    ),
    "outside of the namespace": (
        OF_V2,
        "0::/../other",
        {"/sys/fs/cgroup/cpu.max": "50000 100000"},
        0.5,
    ),
    "a tiny period": (OF_V2, "0::/", {"/sys/fs/cgroup/cpu.max": "1500 1000"}, 1.5),
    "a period of 0": (OF_V1, "3:cpu:/", v1(V1, 50_000, period=0), None),
    "half a file": (OF_V2, "0::/", {"/sys/fs/cgroup/cpu.max": "50000"}, None),
    "nothing mounted": ("", "0::/", {}, None),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_tightest_quota_of_all_visible_groups_counts(tmp_path, layout):
    mounts, groups, files, cores = LAYOUTS[layout]
    assert control_group.cpu_quota(reading(tmp_path, mounts, groups, files)) == cores


@pytest.mark.parametrize(
    ("mounts", "groups", "files", "limit"),
    [
        (MEMORY, "4:memory:/job", {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes": 1000}, 1000),
        (
            MEMORY,
            "4:memory:/",
            {"/sys/fs/cgroup/memory/memory.limit_in_bytes": 9223372036854771712},
            None,
        ),
        (OF_V2, "0::/job", {"/sys/fs/cgroup/job/memory.max": "max"}, None),
        (
            OF_V2,
            "0::/a/b",
            {"/sys/fs/cgroup/a/memory.max": 1000, "/sys/fs/cgroup/a/b/memory.max": 2000},
            1000,
        ),
        (
            OF_V2,
            "0::/a",
            {"/sys/fs/cgroup/a/memory.max": 2000, "/sys/fs/cgroup/a/memory.high": 1000},
            1000,
        ),
    ],
)
def test_the_tightest_memory_limit_of_all_visible_groups_counts(
    tmp_path, mounts, groups, files, limit
):
    assert control_group.memory_bytes(reading(tmp_path, mounts, groups, files)) == limit


@pytest.mark.parametrize(("quota", "cores"), [("50000", 0.5), ("300000", 2), ("max", 2)])
def test_cores_that_are_usable_are_held_to_the_quota(tmp_path, quota, cores):
    files = {"/sys/fs/cgroup/cpu.max": f"{quota} 100000"}
    assert control_group.usable_cores(reading(tmp_path, OF_V2, "0::/", files), 2) == cores


@contextmanager
def half_a_core():
    """Yield the file of a real group with half a core to which processes are added, or skip."""
    v2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = Path("/sys/fs/cgroup" if v2 else V1) / f"lab-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        try:
            if v2:
                (group / "cpu.max").write_text("50000 100000")
            else:
                (group / "cpu.cfs_quota_us").write_text("50000")
        except OSError as error:
            pytest.skip(f"no quota can be set here: {error}")
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def test_a_real_quota_of_this_machine_is_read():
    code = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()));"
        "from streamlab.workloads import control_group as c; print(c.cpu_quota(c.read_text))"
    )
    with half_a_core() as processes:
        command = [sys.executable, "-c", code, str(processes)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "0.5"
