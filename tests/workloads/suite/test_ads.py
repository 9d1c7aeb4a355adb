"""Queries on ads: oracles against loops, both forms of the programs against oracles."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.model import Dataflow, Input, Workload
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.ads_queries import FORMS, SMALL
from tests.workloads.suite.streams import agreed, generated, rows

IDS = st.integers(-1, 6)
"""Of ads, users and types: most are in the tables."""


def small(name: str, form: str = "typed", **more: object) -> Workload:
    return workload(name).bound({**SMALL[name][0], "form": form, **more})


@st.composite
def few_events(draw: st.DrawFn, found: Workload) -> Input:
    data = draw(inputs(found.program, values=IDS, max_events=20))
    if not draw(st.booleans()):
        return replace(data, until_ts=None)
    last = max((int(stream.ts[-1]) for stream in data.streams if len(stream)), default=0)
    return replace(data, until_ts=last + draw(st.integers(1, 9)))


@pytest.mark.some(3)
@pytest.mark.parametrize("name", SMALL)
@settings(deadline=None, max_examples=examples(200))
@given(data=st.data())
def test_the_oracle_gives_what_a_loop_over_events_and_markers_gives(name: str, data):
    found = small(name)
    drawn = data.draw(few_events(found))
    assert sorted(rows(found, found.oracle(drawn))) == sorted(SMALL[name][1](drawn))


@pytest.mark.some(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SMALL)
@settings(deadline=None, max_examples=examples(150))
@given(data=st.data())
def test_both_forms_give_what_the_oracle_says(name: str, form: str, data):
    found = small(name, form)
    agreed(found, data.draw(few_events(found)))


@pytest.mark.some(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SMALL)
def test_both_forms_and_the_oracle_agree_on_generated_input(name: str, form: str):
    subject = workload(name).bound({"form": form})
    data = generated(subject, {"rate": 200, "streams": 3}, 5000, seed=5)
    assert len(agreed(subject, data)) >= 100


@pytest.mark.parametrize("name", SMALL)
def test_the_typed_form_is_the_one_by_default(name: str):
    assert isinstance(workload(name).program, Dataflow)
    assert not isinstance(small(name, "handcrafted").program, Dataflow)


def test_a_campaign_that_comes_late_has_a_window_that_ends_with_the_others():
    """Table 3: what a key begins with has had as many empty blocks as the others had."""
    subject = workload("campaign_views").bound(
        {"ads": 2, "campaigns": 2, "markers_ms": 1, "window_ms": 3}
    )
    data = generated(subject, {"ads": 2, "campaigns": 2, "streams": 1, "rate": 1000}, 8, seed=1)
    (stream,) = data.streams
    ad = np.array([0, 0, 0, 0, 1, 0, 0, 0], dtype=np.int32)
    view = np.zeros(8, dtype=np.int8)
    late = replace(stream, payload={**stream.payload, "ad": ad, "type": view})
    data = replace(data, streams=(late,))
    of_late = [row for row in rows(subject, answer_of(subject.program, data)) if row[1] == 1]
    assert of_late == [(5, 1, 1), (6, 1, 1), (7, 1, 1)]
