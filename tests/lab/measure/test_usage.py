"""Resources of a timed part: page faults and the kernel's share of its CPU time."""

import mmap
import subprocess
import sys
from dataclasses import asdict

import pytest

from streamlab.lab.measure.tree import descendants
from streamlab.lab.measure.usage import (
    FEW_FAULTS,
    LEAST_SYSTEM_S,
    MAX_SYSTEM_SHARE,
    TICK_S,
    Usage,
    core_warnings,
    kernel_warnings,
    tree_usage,
)
from tests.processes import Popen
from tests.results.records import trial_row

PAGES = 2_000
BURN_AND_TOUCH = (
    "import time\n"
    "while time.process_time() < 0.4: pass\n"
    "import mmap\n"
    "flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS\n"
    f"memory = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE, flags=flags)\n"
    "memory.madvise(mmap.MADV_NOHUGEPAGE)\n"
    f"for page in range({PAGES}):\n"
    "    memory[page * mmap.PAGESIZE] = 1\n"
)


def since(before):
    return tree_usage(descendants()).columns_since(before)


def row(share, system_s=1.0, minor=41):
    cpu_s = system_s / share
    used = {"minor_faults": minor, "major_faults": 0}
    return trial_row({"cpu_s": cpu_s, "system_s": system_s, "user_s": cpu_s - system_s, **used})


@pytest.mark.parametrize(
    ("workers", "cpu_s", "duration_s", "warned"),
    [
        (1, 4.0, 1.0, True),  # four threads at one worker
        (4, 4.0, 1.0, False),
        (1, 1.05, 1.0, False),
        (1, 1.2, 1.0, True),
        (1, 0.024, 0.004, False),  # two ticks of another process
        (1, None, None, False),  # it did not run
    ],
)
def test_a_trial_that_used_more_cores_than_it_has_workers_says_so(
    workers, cpu_s, duration_s, warned
):
    found = core_warnings(trial_row({"workers": workers, "cpu_s": cpu_s, "duration_s": duration_s}))
    assert bool(found) == warned
    assert all("cores with 1 worker:" in text for text in found)


def test_pages_that_are_touched_for_the_first_time_are_counted_once():
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for first in (True, False):
        before = tree_usage([])
        for page in range(PAGES):
            memory[page * mmap.PAGESIZE] = 1
        faults = tree_usage([]).columns_since(before)["minor_faults"]
        assert (faults >= PAGES) == first
    memory.close()


def test_usage_of_a_child_that_has_ended_is_counted():
    before = tree_usage(descendants())
    subprocess.run([sys.executable, "-c", BURN_AND_TOUCH], check=True)
    used = since(before)
    assert used["minor_faults"] >= PAGES
    assert 0.38 < used["cpu_s"] < 1.5


def test_usage_of_a_running_child_is_counted_whatever_it_is_called():
    before = tree_usage(descendants())
    named = "open('/proc/self/comm', 'w').write('a) R (1 2 3')\n"
    code = named + BURN_AND_TOUCH + "print(flush=True)\ninput()"
    with Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as child:
        child.stdout.read(1)
        found = since(before)
        child.communicate(b"\n")
    assert PAGES <= found["minor_faults"] < 100 * PAGES
    assert 0.38 < found["cpu_s"] < 1.5
    assert found["cpu_s"] == pytest.approx(found["user_s"] + found["system_s"])


def test_the_usage_of_an_ended_process_makes_nothing_negative():
    later = Usage(user_s=1.0, system_s=0.5, minor_faults=3, major_faults=0)
    earlier = Usage(user_s=2.0, system_s=0.2, minor_faults=7, major_faults=1)
    found = later.columns_since(earlier)
    assert found["user_s"] == found["minor_faults"] == found["major_faults"] == 0
    assert found["system_s"] == pytest.approx(0.3)
    assert set(asdict(later)) | {"cpu_s"} == set(found)


def test_a_timed_part_that_was_the_kernels_is_doubted_in_words():
    (text,) = kernel_warnings(row(0.62))
    assert text.startswith("the kernel took 62% of its CPU time (1000 ms); above 20%")
    assert "41 page faults" in text


def test_a_short_timed_part_is_doubted_when_it_had_page_faults_as_well():
    assert kernel_warnings(row(0.62, system_s=0.008, minor=77))
    assert not kernel_warnings(row(0.62, system_s=0.008, minor=33))


@pytest.mark.parametrize(
    "harmless",
    [
        row(MAX_SYSTEM_SHARE * 0.99),
        row(0.9, system_s=LEAST_SYSTEM_S * 0.9, minor=FEW_FAULTS),  # a few ticks may be chance
        row(0.9, system_s=TICK_S * 0.9, minor=10**6),
        trial_row({"cpu_s": 0.0, "system_s": 0.0}),
        trial_row({}),  # did not run
    ],
)
def test_claims_of_the_engine_itself_are_not_doubted(harmless):
    assert kernel_warnings(harmless) == []
