"""What the tests of engines with an environment of their own share: they run in other processes."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from streamlab.engines import environment
from streamlab.engines.protocol import Engine
from streamlab.lab.conform.suite import State, conform, find_variants
from tests.examples import examples

ROOT = Path(__file__).parents[2]
"""From where `tests` is imported."""


def made(engine: type[Engine]):
    """Skip a module's tests, loudly, where the engine's environment is not made."""
    lacking = environment.unusable_reason(engine.name, environment.declared_environment(engine))
    return pytest.mark.skipif(
        lacking is not None, reason=f"{engine.name.upper()} IS NOT TESTED: {lacking}"
    )


def check_conformance(engine: str, variant: str, workload: str, refused: set[str]) -> None:
    """Check that every case of the suite is right, but for those that are refused."""
    (chosen,) = find_variants(engine, (variant,))
    found = conform(engine, chosen, workload)
    assert found.failures == ()
    assert {seen.case for seen in found.with_state(State.REFUSED)} == refused


def check_random_inputs(engine: str, variant: str, workloads: Sequence[str]) -> None:
    """Check random inputs, which are all supported, and of which a quarter has an answer."""
    wanted = examples(150)
    done = subprocess.run(
        [
            *(sys.executable, str(Path(__file__).with_name("random_inputs.py"))),
            *(engine, variant, str(wanted), *workloads),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [[int(word) for word in line.split()[1:]] for line in done.stdout.splitlines()]
    assert len(counts) == len(workloads)
    assert min(answered for answered, _ in counts) >= wanted, done.stdout
    assert sum(with_outputs for _, with_outputs in counts) > len(workloads) * wanted / 4
