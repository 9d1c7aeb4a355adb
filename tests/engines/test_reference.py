"""The reference engine equals every workload's oracle, and behaves as an engine must."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.errors import EngineCrashError, UnsupportedError
from engines.protocol import Task
from engines.reference.adapter import PreparedReference, ReferenceEngine
from workloads.datasets.dataset import Dataset
from workloads.event_window.program import PROGRAM as EVENT_WINDOW
from workloads.model import Alphabet, Input, Stream
from workloads.model.strategies import inputs
from workloads.model.trace import compare
from workloads.registry import NAMES, workload

WIDE = st.integers(-3, 3) | st.integers(-(10**9), 10**9)


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_engine_equals_the_oracle(name):
    found = workload(name)

    @settings(deadline=None, max_examples=150)
    @given(inputs(found.program, max_events=20, values=WIDE))
    def holds(data: Input) -> None:
        prepared = PreparedReference(found.program, data)
        measured = prepared.run()
        difference = compare(found.oracle(data), prepared.answer(), found.output)
        assert difference.equal, difference.render()
        assert measured.events == data.events

    holds()


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_engine_equals_the_oracle_on_generated_input(name):
    found = workload(name)
    params = found.params({})
    specs = found.streams(params, 3_000)
    streams = []
    for index, spec in enumerate(specs):
        columns = found.generate(params, 7, specs, index, 0, spec.events)
        payload = {field: values for field, values in columns.items() if field not in ("ts", "tag")}
        kinds = tuple(sorted(found.program.kind_indices(spec.kinds)))
        streams.append(
            Stream(
                name=spec.name,
                kinds=kinds,
                ts=columns["ts"],
                tag=columns.get("tag"),
                payload=payload,
            )
        )
    alphabet = Alphabet(kinds=found.program.kinds, keys=found.keys(params))
    data = Input(alphabet=alphabet, streams=tuple(streams))
    prepared = PreparedReference(found.program, data)
    prepared.run()
    difference = compare(found.oracle(data), prepared.answer(), found.output)
    assert difference.equal, difference.render()


def window(**payload: object) -> Input:
    return Input(
        alphabet=Alphabet(kinds=EVENT_WINDOW.kinds),
        streams=(
            Stream(name="barrier", kinds=(1,), ts=np.array([5], dtype=np.int64)),
            Stream(name="value", kinds=(0,), ts=np.array([5], dtype=np.int64), payload=payload),
        ),
    )


def test_ties_in_time_go_by_the_order_of_streams():
    data = window(value=np.array([7], dtype=np.int64))
    first = PreparedReference(EVENT_WINDOW, data)
    first.run()
    assert first.answer()["sum"].tolist() == [0]
    swapped = Input(alphabet=data.alphabet, streams=data.streams[::-1])
    second = PreparedReference(EVENT_WINDOW, swapped)
    second.run()
    assert second.answer()["sum"].tolist() == [7]


def test_answers_have_the_output_types_even_without_rows():
    empty = Stream(name="value", kinds=(0,), ts=np.empty(0, dtype=np.int64))
    data = Input(alphabet=Alphabet(kinds=EVENT_WINDOW.kinds), streams=(empty,))
    prepared = PreparedReference(EVENT_WINDOW, data)
    assert prepared.run().events == 0
    assert {name: column.dtype for name, column in prepared.answer().items()} == {
        "ts": np.dtype(np.int64),
        "sum": np.dtype(np.int64),
    }
    prepared.close()
    prepared.close()


def test_a_failing_program_is_a_crash_that_names_program_and_cause():
    def update(state, event, out):
        state.nothing += 1

    broken = replace(EVENT_WINDOW, states=(replace(EVENT_WINDOW.states[0], update=update),))
    prepared = PreparedReference(broken, window())
    with pytest.raises(EngineCrashError, match="event_window raised AttributeError") as caught:
        prepared.run()
    assert isinstance(caught.value.__cause__, AttributeError)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"workers": 2}, "sequential: 1 worker, not 2"),
        ({"variant": "fast"}, "no variant 'fast'"),
        ({"options": {"pin": True}}, "no options, got pin"),
    ],
)
def test_what_it_cannot_do_is_unsupported_with_a_reason(tmp_path, changes, reason):
    found = workload("event_window")
    dataset = Dataset(
        id="0" * 64,
        workload=found.name,
        alphabet=Alphabet(kinds=EVENT_WINDOW.kinds),
        streams=(),
        origin={},
        source="none",
        licence="none",
    )
    fields = {"variant": "sequential", "workers": 1, "batch": 1, **changes}
    task = Task(workload=found, dataset=dataset, scratch=tmp_path, **fields)
    engine = ReferenceEngine()
    assert reason in (engine.unsupported(task) or "")
    with pytest.raises(UnsupportedError, match=reason):
        engine.prepare(task)
