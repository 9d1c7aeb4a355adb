"""Tests of engines in an environment of their own run in other processes.

`python separate_environment.py ENGINE VARIANT EXAMPLES WORKLOAD...` runs an engine on random input. It ends with code 1
and the smallest input that has another answer than the oracle's. Many ties, empty streams, negative times and values,
and streams of several kinds, which an engine may refuse.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines import environment
from streamlab.engines.environment import activate
from streamlab.engines.protocol import Engine
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.conform.suite import State, conform, find_variants
from streamlab.workloads.model import Input, Workload
from streamlab.workloads.registry import workload
from tests.engines.tasks import check_task, task_of
from tests.examples import examples
from tests.processes import run_python
from tests.workloads.suite.small_inputs import small_inputs

ROOT = Path(__file__).parents[2]
"""From where `tests` is imported."""


def requires_environment(engine: type[Engine]):
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
    expected = examples(150)
    done = run_python(
        __file__, *(engine, variant, str(expected), *workloads), environ={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [[int(word) for word in line.split()[1:]] for line in done.stdout.splitlines()]
    assert len(counts) == len(workloads)
    assert min(answered for answered, _ in counts) >= expected, done.stdout
    assert sum(with_outputs for _, with_outputs in counts) > len(workloads) * expected / 4


SMALL = {
    "wa_ms": st.integers(1, 7),
    "ws_ms": st.integers(7, 20),
    "distance": st.integers(0, 3),
    "counting": st.sampled_from(["set", "bag"]),
    "gap_ms": st.integers(0, 10),
    "item": st.integers(0, 3),
    "views": st.integers(1, 3),
    "within_ms": st.integers(0, 20),
    "top": st.integers(1, 3),
    "hour_ms": st.integers(1, 10),
    "most_items": st.integers(2, 3),
    "open_tickets": st.integers(1, 3),
    "more_than": st.integers(0, 1),
    "stores": st.sampled_from(["all", "9,10"]),
    "categories": st.sampled_from(["all", "1,2"]),
    "first_day": st.sampled_from(["1970-01-01", "1970-01-03"]),
    "days": st.integers(2, 20),
    "lower": st.sampled_from([-3.0, -1.05, 0.0]),
    "upper": st.sampled_from([0.0, 2.0, 1e30]),
    "copies": st.integers(1, 3),
    "day_ms": st.integers(1, 6),
    "size_ms": st.integers(1, 6),
    "slide_ms": st.integers(1, 6),
    "slides": st.integers(1, 3),
    "every_ms": st.integers(1, 6),
    "every": st.integers(1, 3),
    "rows": st.integers(1, 3),
}
"""Query parameters at which a dozen events have an answer."""


def bound(found: Workload) -> st.SearchStrategy[Workload]:
    """A workload with small query parameters."""
    least = {name: of.minimum for name, of in found.query.items() if name in SMALL}
    values = {
        name: SMALL[name]
        if low is None
        else SMALL[name].filter(lambda value, low=low: value >= low)
        for name, low in least.items()
    }
    return st.fixed_dictionaries(values).map(found.bound)


def main(engine_name: str, variant: str, examples: str, *names: str) -> None:
    """Try every workload."""
    activate(engine_name)
    engine = find_engine(engine_name)
    for name in names:
        print(name, *tried(engine, variant, workload(name), int(examples)), flush=True)


def tried(engine: Engine, variant: str, found: Workload, examples: int) -> tuple[int, int]:
    """Return how many inputs were answered, all of them right, and how many had any output."""
    outputs: list[int] = []

    @settings(
        deadline=None,
        max_examples=examples,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(bound(found).flatmap(lambda made: st.tuples(small_inputs(made), st.just(made))))
    def holds(drawn: tuple[Input, Workload]) -> None:
        data, chosen = drawn
        data = replace(data, until_ts=None)  # a dataset on disk is whole
        with tempfile.TemporaryDirectory() as folder:
            task = task_of(chosen, data, Path(folder), variant)
            if engine.unsupported(task) is not None:
                return
            _, answer = check_task(engine, task)
        outputs.append(len(answer["ts"]))

    holds()
    return len(outputs), sum(map(bool, outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
