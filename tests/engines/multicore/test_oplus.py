"""Operators O+ on the multicore engine: the conformance suite, random windows, and determinism."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.refusal import check_query
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.registry import engine
from streamlab.workloads.model import Alphabet, Input, Operator, Query, Stream, Window
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.operators.reference import answer
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import names, workload
from tests.engines.multicore.operator_queries import (
    FIRST,
    OUTPUT,
    RANDOM,
    STATE,
    STORED,
    ids_of,
    layouts_of,
)
from tests.examples import examples
from tests.workloads.suite.streams import generated

QUERIES = [name for name in names() if isinstance(workload(name).program, Query)]
VSN = Setting(variant="vsn", workers=2, batch=64)
SCALEGATE = Setting(variant="vsn", workers=3, batch=1, options={"tuple_buffer": "scalegate"})
SN = Setting(variant="sn", workers=3, batch=7)
BY_KEY = {"join_form": "operator10"}
JOINS = ["scale_join", "nyse_hedge"]
SEVERAL = "carries several inputs; give each input separate streams"


@pytest.mark.pairwise
@pytest.mark.parametrize("setting", [VSN, SCALEGATE], ids=["order", "scalegate"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", QUERIES)
def test_queries_conform(name, case, setting, tmp_path):
    found = run_case(engine("multicore"), workload(name), case, setting, tmp_path)
    assert found.problems == ()
    if found.unsupported is not None:
        # Joins read one stream for each input, so that all of them in one stream is refused.
        assert case.name == "a single stream" and SEVERAL in found.unsupported


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", QUERIES)
def test_shared_nothing_conforms(name, case, tmp_path):
    found = run_case(engine("multicore"), workload(name), case, SN, tmp_path)
    assert found.problems == ()
    if found.unsupported is not None:
        program = workload(name).program
        assert isinstance(program, Query)
        several = case.name == "a single stream" and SEVERAL in found.unsupported
        assert several or program.operators[0].join is not None


@pytest.mark.some(5)
@pytest.mark.parametrize("variant", ["vsn", "sn"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", JOINS)
def test_joins_by_operator_10_conform(name, case, workers, variant, tmp_path):
    batch = {1: 1, 2: 64, 4: 4096}[workers]
    setting = Setting(variant=variant, workers=workers, batch=batch, options=BY_KEY)
    found = run_case(engine("multicore"), workload(name), case, setting, tmp_path)
    assert found.problems == ()
    assert found.unsupported is None or SEVERAL in found.unsupported


@pytest.mark.some(2)
@pytest.mark.parametrize("variant", ["vsn", "sn"])
@pytest.mark.parametrize("case", LOAD_CASES[:3], ids=lambda case: case.name)
@pytest.mark.parametrize("name", JOINS)
def test_joins_by_operator_10_conform_under(name, case, variant, tmp_path):
    setting = Setting(variant=variant, workers=2, batch=64, options=BY_KEY)
    found = run_load_case(engine("multicore"), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.parametrize("case", LOAD_CASES[:3], ids=lambda case: case.name)
@pytest.mark.parametrize("name", ["wordcount", "forward"])
def test_shared_nothing_conforms_under(name, case, tmp_path):
    found = run_load_case(engine("multicore"), workload(name), case, SN, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", QUERIES)
def test_queries_conform_under(name, case, tmp_path):
    found = run_load_case(engine("multicore"), workload(name), case, VSN, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


def columns(query, data, *, instances=1, batch=1, **options):
    run = OplusRun(
        query,
        data,
        RunSettings(workers=instances, batch=batch, ring_blocks=16, pin=False),
        OplusOptions(**options),
    )
    try:
        assert run.run().events == data.events
        return run.answer()
    finally:
        run.close()


def rows(answered):
    return sorted(zip(*(answered[name].tolist() for name in answered), strict=True))


@pytest.mark.some(3)
@pytest.mark.parametrize("name", RANDOM | STORED)
def test_random_inputs_are_answered_as_by_the_interpreter(name):
    asked = (RANDOM | STORED)[name]
    drawn = layouts_of(asked)
    shares = [False, True] if name in STORED else [False]

    @settings(
        max_examples=examples(15),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(data=st.data())
    def check(data):
        given_input = data.draw(inputs(asked, layouts=[data.draw(drawn)]))
        wanted = rows(answer(asked, given_input))
        instances = data.draw(st.sampled_from([1, 2, 5]))
        buffer = data.draw(st.sampled_from(["order", "scalegate"]))
        batch = data.draw(st.sampled_from([1, 64]))
        alone = data.draw(st.sampled_from(shares))
        got = columns(
            asked,
            given_input,
            instances=instances,
            batch=batch,
            tuple_buffer=buffer,
            shared_nothing=alone,
        )
        assert (np.diff(got["ts"]) >= 0).all()
        assert rows(got) == wanted

    check()


@pytest.mark.pairwise(strength=1)
@pytest.mark.parametrize("instances", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ["wordcount", "scale_join"])
def test_one_number_of_instances_gives_one_sequence(name, instances):
    found = workload(name)
    data = ordinary_input(found)
    seen = set()
    for tuple_buffer in ("order", "scalegate"):
        for batch in (1, 64):
            for _ in range(2):
                got = columns(
                    found.program,
                    data,
                    instances=instances,
                    batch=batch,
                    tuple_buffer=tuple_buffer,
                )
                seen.add(b"".join(column.tobytes() for column in got.values()))
    assert len(seen) == 1


def thrice(w, t, out):
    for _ in range(3):
        w[0].tuples.append(t)


def drop(w, t, out):
    w[0].tuples.popleft()


@pytest.mark.full
@pytest.mark.parametrize(
    ("update", "said"), [(thrice, "appends more than one tuple"), (drop, "pop from an empty deque")]
)
def test_a_misused_deque_ends_the_run_with_its_name(update, said):
    (operator,) = STORED["kept"].operators
    asked = Query(name="kept", operators=(replace(operator, update=update),))
    stream = Stream(
        name="s",
        kinds=(0,),
        ts=np.arange(20),
        payload={"x": np.arange(20), "y": np.zeros(20, np.float32)},
    )
    data = Input(alphabet=Alphabet(kinds=asked.kinds), streams=(stream,))
    with pytest.raises(EngineCrashError, match=said):
        columns(asked, data)


def test_joins_by_key_read_any_number_of_streams_of_each_side():
    found = workload("scale_join").bound({"ws_ms": 200, "shares": 7})
    data = generated(found, {"highest": 300, "streams": 3, "right_eps": 500}, 1_500, 2)
    wanted = found.oracle(data)
    assert len(wanted["ts"]) > 100
    for shared_nothing in (False, True):
        got = columns(
            found.program,
            data,
            instances=3,
            batch=64,
            join_form="operator10",
            shared_nothing=shared_nothing,
        )
        assert compare(wanted, got, found.output).equal
    reason = check_query(found.program, data, fused=True)
    assert reason is not None and 'join_form = "operator10", which reads any' in reason


def test_what_the_core_cannot_run_is_refused_with_a_reason():
    stored = Query(
        name="stored",
        operators=(
            Operator(
                name="stored",
                inputs=(FIRST,),
                window=Window(advance=1, size=2, type=SINGLE),
                output=OUTPUT,
                state=STATE,
                keys=ids_of,
                stores=True,
            ),
        ),
    )
    reason = check_query(stored, _nothing(stored), fused=False)
    assert reason is not None and "stores tuples with the lists ['ids']" in reason


def _nothing(query):
    return Input(alphabet=Alphabet(kinds=query.kinds), streams=())
