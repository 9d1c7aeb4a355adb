"""An engine with an environment of its own on random input, in a process of its own.

`python random_inputs.py ENGINE VARIANT EXAMPLES WORKLOAD...` ends with code 1 and the
smallest input that has another answer than the oracle's. Many ties, empty streams, negative times
and values, and streams of several kinds, which an engine may refuse.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.environment import activate
from streamlab.engines.protocol import Engine
from streamlab.engines.registry import engine as find_engine
from streamlab.workloads.model import Input, Workload
from streamlab.workloads.registry import workload
from tests.engines.tasks import check_task, task_of
from tests.workloads.suite.small_inputs import small_inputs

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
}
"""Query parameters at which a dozen events have an answer."""


def bound(found: Workload) -> st.SearchStrategy[Workload]:
    """A workload with small query parameters."""
    names = [name for name in found.query if name in SMALL]
    return st.fixed_dictionaries({name: SMALL[name] for name in names}).map(found.bound)


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
