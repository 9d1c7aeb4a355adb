"""The table of families, and what they share in the core."""

import gc
import weakref

import numpy as np
import pytest

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.adapter import FAMILIES, MulticoreEngine
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import Task, default_variant
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.model import Dataflow, DGSProgram, Pipeline, Query
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated

OUTPUT = np.dtype([("ts", "i8"), ("x", "i8")])


def test_every_model_has_a_default_and_every_variant_a_family():
    variants = MulticoreEngine().variants()
    assert [variant.name for variant in variants] == list(FAMILIES)
    models = (DGSProgram, Query, Pipeline, Dataflow)
    defaults = [default_variant(variants, model).name for model in models]
    assert defaults == ["dgs", "vsn", "ordered", "dataflow"]
    assert all(list(family.properties) == ["PIP1", "PIP2", "PIP3"] for family in FAMILIES.values())


@pytest.mark.parametrize("variant", FAMILIES)
def test_options_are_refused_in_the_same_words(variant):
    wrong = MulticoreEngine().wrong_options
    assert wrong(variant, {"pin": True, "measure": False}) is None
    unknown = wrong(variant, {"nosuch": 1})
    assert unknown is not None and unknown.startswith(f"variant {variant} has no option 'nosuch'")
    assert wrong(variant, {"pin": 1}) == "option pin takes bool, got 1"


@pytest.mark.parametrize(
    ("variant", "option", "names"),
    [
        ("vsn", "tuple_buffer", _core.TUPLE_BUFFERS),
        ("dgs", "handover", _core.HANDOVERS),
        ("dgs", "mailbox", _core.MAILBOXES),
        ("ordered", "scheduler", _core.SCHEDULERS),
        ("ordered", "worklist", _core.WORKLISTS),
        ("ordered", "reordering", _core.REORDERINGS),
        ("ordered", "serials", _core.SERIALS),
        ("layers", "determinism", _core.DETERMINISMS),
        ("layers", "channels", _core.CHANNELS),
        ("layers", "merge_unit", _core.MERGE_UNITS),
        ("layers", "dealing", _core.DEALINGS),
    ],
)
def test_names_are_those_of_the_core(variant, option, names):
    wrong = MulticoreEngine().wrong_options
    assert len(names) > 1 and all(wrong(variant, {option: name}) is None for name in names)
    refused = f"{option} is one of {', '.join(names)}, got 'nosuch'"
    assert wrong(variant, {option: "nosuch"}) == refused


def test_settings_out_of_range_are_refused_by_the_core():
    for wrong in ({"workers": 0}, {"workers": _core.MOST_WORKERS + 1}, {"batch": 0}):
        settings = RunSettings(**wrong).for_core(OUTPUT, threads=0)
        with pytest.raises(ValueError, match=rf"{next(iter(wrong))} must be"):
            _core.DgsRun(settings, max_outputs_per_event=1, itemsizes=[8, 8])


def test_a_run_keeps_the_arrays_it_is_given_until_it_goes():
    run = _core.DgsRun(RunSettings().for_core(OUTPUT), max_outputs_per_event=1, itemsizes=[8, 8])
    ts = np.arange(1000, dtype=np.int64)
    kept = weakref.ref(ts)
    run.add_stream(ts, None, [], np.zeros(0, dtype=np.int64), 0)
    del ts
    gc.collect()
    assert kept() is not None
    del run
    gc.collect()
    assert kept() is None


@pytest.mark.some(2)
@pytest.mark.parametrize("variant", ["vsn", "sn", "layers", "ordered"])
def test_as_many_streams_as_a_log_merges_run_and_more_are_unsupported(variant, tmp_path):
    found = workload("parametric" if variant == "ordered" else "forward")
    sides, most = len(found.program.kinds), _core.MOST_STREAMS

    def prepared(streams):
        data = generated(found, {"streams": streams // sides}, 1000, 1)
        assert len(data.streams) == streams
        dataset = write_dataset(data, found.name, tmp_path)
        task = Task(
            workload=found,
            dataset=dataset,
            variant=variant,
            workers=1,
            batch=16,
            scratch=tmp_path,
        )
        return MulticoreEngine().prepare(task), len(found.oracle(data)["ts"])

    run, wanted = prepared(most)
    run.run()
    assert len(run.answer()["ts"]) == wanted > 0
    run.close()
    with pytest.raises(UnsupportedError, match=f"at most {most} streams, got {most + sides}"):
        prepared(most + sides)


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("variant", "name", "parameters"),
    [
        ("dgs", "page_view_join", {}),
        ("vsn", "forward", {}),
        ("vsn", "scale_join", {"streams": 1}),
        ("sn", "forward", {}),
        ("layers", "forward", {}),
        ("adhoc", "scale_join", {"streams": 1}),
        ("1t", "scale_join", {"streams": 1}),
        ("ordered", "parametric", {}),
    ],
)
def test_progress_at_full_speed_counts_every_output(variant, name, parameters, tmp_path):
    found = workload(name)
    dataset = write_dataset(generated(found, parameters, 3000, 1), found.name, tmp_path)
    task = Task(
        workload=found,
        dataset=dataset,
        variant=variant,
        workers=1,
        batch=16,
        scratch=tmp_path,
    )
    run = MulticoreEngine().prepare(task)
    try:
        measured, answer = run.run(), run.answer()
    finally:
        run.close()
    outputs = max(len(column) for column in answer.values())
    assert measured.progress is not None
    assert measured.progress.outputs.sum() == outputs > 0
