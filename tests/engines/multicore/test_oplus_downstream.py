"""Downstream readers of TB_out, and elastic chains: the oracle's answer, latencies of all of it."""

import numpy as np
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.oplus.options import OplusOptions, check_downstream
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.small_load import small_load
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.operators.reference import answer
from streamlab.workloads.registry import workload
from tests.engines.multicore.test_oplus_chains import QUERIES, readings, rows

MS = 1_000_000
SPAN_NS = 300 * MS
SCRIPT = {"kind": "script", "period_ms": 10.0, "steps": [[0.05, 4], [0.12, 1], [0.2, 3]]}
FORMS = {
    "wordcount vsn": ("wordcount", {}),
    "wordcount sn": ("wordcount", {"shared_nothing": True}),
    "forward vsn": ("forward", {}),
    "forward sn": ("forward", {"shared_nothing": True}),
    "scale_join fused": ("scale_join", {}),
    "scale_join operator10": ("scale_join", {"join_form": "operator10"}),
    "scale_join sn": ("scale_join", {"join_form": "operator10", "shared_nothing": True}),
}


def loaded(times):
    events = sum(map(len, times))
    due = (SPAN_NS * (1 + np.arange(events)) // events).astype("int64")
    return small_load(times, due, warm_up_ns=0)


def run_of(query, data, settings, **options):
    run = OplusRun(query, data, settings, OplusOptions(**options))
    try:
        measured = run.run()
        assert measured.events == data.events
        return measured, run.answer()
    finally:
        run.close()


@pytest.mark.pairwise
@pytest.mark.parametrize("batch", [1, 64, 4096])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("log", ["order", "scalegate"])
@pytest.mark.parametrize("form", FORMS)
def test_readers_take_the_oracles_answer(form, log, workers, batch):
    name, options = FORMS[form]
    found = workload(name)
    data = ordinary_input(found)
    for readers in (1, 2):
        _, got = run_of(
            found.program,
            data,
            RunSettings(workers=workers, batch=batch, ring_blocks=16),
            downstream=readers,
            tuple_buffer=log,
            link_rows=64,
            **options,
        )
        assert compare(found.oracle(data), got, found.output).equal
        assert (np.diff(got["ts"]) >= 0).all()


@pytest.mark.some(2)
@pytest.mark.parametrize("form", FORMS)
def test_changes_lose_nothing_on_its_way_to_the_readers(form):
    name, options = FORMS[form]
    found = workload(name)
    data = ordinary_input(found)
    load = loaded(tuple(stream.ts for stream in data.streams))
    measured, got = run_of(
        found.program,
        data,
        RunSettings(workers=2, batch=16, ring_blocks=1 << 14, load=load),
        max_instances=4,
        controller=SCRIPT,
        downstream=1,
        **options,
    )
    assert compare(found.oracle(data), got, found.output).equal
    assert [change.after for change in measured.elasticity.reconfigurations] == [4, 1, 3]
    assert measured.elasticity.load_cov.shape == measured.elasticity.instances.shape
    for counted in (measured.latency, measured.service_latency):
        assert counted.counts.sum() == len(got["ts"])
    assert measured.progress.outputs.sum() == len(got["ts"])


@pytest.mark.parametrize("readers", [0, 1])
@pytest.mark.parametrize("name", ["aggregate thrice", "emit twice then aggregate"])
def test_all_operators_of_a_chain_change(name, readers):
    query, data = QUERIES[name], readings(400, 2, 3)
    load = loaded(tuple(stream.ts for stream in data.streams))
    settings = RunSettings(workers=2, batch=4, ring_blocks=1 << 14, load=load)
    options = OplusOptions(max_instances=4, controller=SCRIPT, downstream=readers)
    run = OplusRun(query, data, settings, options)
    try:
        measured = run.run()
        switches = [run.switches(op) for op in range(len(query.operators))]
        got = run.answer()
    finally:
        run.close()
    assert rows(got) == rows(answer(query, data))
    assert [change.after for change in measured.elasticity.reconfigurations] == [4, 1, 3]
    for of_one in switches:
        assert [(before, after) for _, _, before, after, _, _ in of_one] == [(2, 4), (4, 1), (1, 3)]
    counted = measured.latency.counts.sum() + measured.warm_up_latency.counts.sum()
    assert counted == len(got["ts"])


def test_a_wrong_number_of_readers_is_refused():
    assert check_downstream(0) is check_downstream(64) is None
    assert "between 0 and 64, got 65" in check_downstream(65)
    found = workload("wordcount")
    with pytest.raises(EngineError, match="downstream must be between 0 and 64"):
        run_of(found.program, ordinary_input(found), RunSettings(), downstream=-1)
