import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.too_long import LIMIT_S, limit_s

ROOT = Path(__file__).parents[1]
# Whatever a test takes is above a limit of 0, so nothing here depends on time.
CONFTEST = """
import limited
from limited import pytest_runtest_makereport, pytest_terminal_summary

limited.LIMIT_S = {limit}
limited.MAX_LOAD = 10_000
"""
TESTS = """
import pytest

def test_ordinary():
    pass

@pytest.mark.full
def test_left_to_the_night():
    pass

def test_that_fails_by_itself():
    assert False, "for a reason of its own"
"""


@pytest.mark.parametrize(
    ("load", "factor"), [(0.1, 1.5), (2.0, 1.5), (3.0, 1.5), (6.0, 3), (8.0, 4), (9.0, math.inf)]
)
def test_the_limit_grows_with_the_load_of_each_core_and_never_shrinks(load, factor):
    assert limit_s(load, cores=2) == LIMIT_S * factor


@pytest.mark.parametrize("limit", [0.0, 3600.0])
def test_a_test_above_the_limit_is_listed_with_the_remedy_and_passes(tmp_path, limit):
    (tmp_path / "conftest.py").write_text(CONFTEST.format(limit=limit))
    shutil.copy(ROOT / "tests" / "too_long.py", tmp_path / "limited.py")
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-c", os.devnull, "--rootdir", str(tmp_path), "--import-mode=importlib"]
    done = subprocess.run(
        [*command, "-W", "ignore", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "for a reason of its own" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    listed = [
        line for line in done.stdout.splitlines() if " s, limit 0.0 s (0 s, at a load" in line
    ]
    assert [line.split("::")[1].split(":")[0] for line in listed] == (
        [] if limit else ["test_ordinary"]
    )
    assert ("leave them to `make test-all`" in done.stdout) == (limit == 0)
