"""The table of families, and what they share in the core."""

import gc
import weakref

import numpy as np
import psutil
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.errors import EngineError, UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.adapter import FAMILIES, MulticoreEngine
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import default_variant
from streamlab.workloads import optimizers
from streamlab.workloads.model import Dataflow, DGSProgram, Pipeline, Query
from streamlab.workloads.registry import workload
from tests.engines.multicore.native_runs import check_native, make_run, option_error
from tests.engines.tasks import task_of
from tests.workloads.suite.streams import generated

OUTPUT = np.dtype([("ts", "i8"), ("x", "i8")])


def test_every_model_has_a_default_and_every_variant_a_family():
    variants = MulticoreEngine().variants()
    assert [variant.name for variant in variants] == list(FAMILIES)
    models = (DGSProgram, Query, Pipeline, Dataflow)
    defaults = [default_variant(variants, model).name for model in models]
    assert defaults == ["dgs", "vsn", "ordered", "dataflow"]
    assert all(list(family.properties) == ["PIP1", "PIP2", "PIP3"] for family in FAMILIES.values())
    by_hand = [
        name
        for name, family in FAMILIES.items()
        if not all(held.holds for held in family.properties.values())
    ]
    assert by_hand == ["adhoc"]


@pytest.mark.parametrize("variant", FAMILIES)
@pytest.mark.parametrize(
    ("name", "model", "default"),
    [
        ("event_window", "a DGS program", "dgs"),
        ("wordcount", "a query of operators O+", "vsn"),
        ("parametric", "an ordered pipeline", "ordered"),
        ("sensor_interpolation", "a typed dataflow graph", "dataflow"),
    ],
)
def test_a_program_of_another_model_is_refused_with_the_variant_for_it(
    name, model, default, variant, tmp_path
):
    subject = workload(name)
    task = task_of(subject, ordinary_input(subject), tmp_path, variant)
    refused = MulticoreEngine().unsupported(task) == (
        f"{name} is {model}; use variants = ['{default}']"
    )
    assert refused is not isinstance(subject.program, FAMILIES[variant].models)


def test_layers_run_pipelines_and_queries():
    assert FAMILIES["layers"].models == (Pipeline, Query)


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("dgs", "event_window"),
        ("vsn", "wordcount"),
        ("ordered", "linear_road_pos_rep"),
        ("layers", "linear_road_pos_rep"),
        ("layers", "wordcount"),
    ],
)
def test_without_measuring_the_answer_is_the_same_and_no_figure_is_made_up(variant, name):
    subject = workload(name)
    how = {"workers": 2, "batch": 16, "measure": False}
    measured, _ = check_native(variant, subject, ordinary_input(subject), **how)
    assert measured.latency is None and measured.progress is None


@pytest.mark.parametrize("variant", FAMILIES)
def test_options_are_refused_in_the_same_words(variant):
    assert option_error(variant, {"pin": True, "measure": False}) is None
    unknown = option_error(variant, {"nosuch": 1})
    assert unknown.startswith(f"variant {variant} of multicore has no option 'nosuch'")
    assert option_error(variant, {"pin": 1}) == "option pin is 1; it must be true or false"


@pytest.mark.parametrize(
    ("variant", "option", "names"),
    [
        ("vsn", "tuple_buffer", _core.TUPLE_BUFFERS),
        ("dgs", "handover", _core.HANDOVERS),
        ("dgs", "optimizer", optimizers.names()),
        ("dgs", "form", ["own", "as-published"]),
        ("ordered", "scheduler", _core.SCHEDULERS),
        ("ordered", "worklist", _core.WORKLISTS),
        ("ordered", "reordering", _core.REORDERINGS),
        ("ordered", "serials", _core.SERIALS),
        ("layers", "determinism", _core.DETERMINISMS),
        ("layers", "channels", _core.CHANNELS),
        ("layers", "merge_unit", _core.MERGE_UNITS),
        ("layers", "dealing", _core.DEALINGS),
        ("adhoc", "join_form", _core.JOIN_FORMS),
        ("adhoc", "tuple_buffer", ["order", "scalegate"]),
        ("dataflow", "combine", ["always", "never"]),
        ("dataflow", "soundness", ["typed", "none"]),
    ],
)
def test_names_are_those_of_the_core_or_registered(variant, option, names):
    assert all(option_error(variant, {option: name}) is None for name in names)
    refused = f"option {option} is 'nosuch'; it must be one of {', '.join(sorted(names))}"
    assert option_error(variant, {option: "nosuch"}) == refused


@pytest.mark.parametrize(
    ("variant", "options", "reason"),
    [
        (
            "dgs",
            {"checkpoint_every": -1},
            "checkpoint_every is -1; it must be a whole number of at",
        ),
        ("dgs", {"checkpoint_folder": "/tmp/x"}, "checkpoint_every is 0"),
        ("dgs", {"checkpoint_every": 1, "checkpoint_folder": "x"}, "absolute path"),
        ("dgs", {"form": "as-published", "gather": True}, "option gather is this lab's addition"),
        ("dgs", {"form": "as-published", "handover": "ring"}, "remove handover, or form"),
        (
            "dgs",
            {"form": "as-published", "adapt": True, "checkpoint_every": 1},
            "remove adapt and checkpoint_every, or form",
        ),
        (
            "dgs",
            {"adapt": True, "adapt_ms": 0},
            "adapt_ms is 0; it must be a whole number of at least 1",
        ),
        (
            "ordered",
            {"serials": "operator", "worklist": "homed"},
            "serials 'operator' go with the worklists hybrid, partitioned, shared, not homed",
        ),
        ("ordered", {"partitions": 0}, "partitions is 0; it must be a whole number of at least 1"),
        ("ordered", {"window": 1 << 17}, "it must be a whole number from 1 to 65536"),
        ("ordered", {"window": 2.5}, "option window is 2.5"),
        ("vsn", {"controller": 5}, "option controller is 5; it must be a table"),
        ("vsn", {"controller": {"kind": "script"}}, "controller script: option steps is missing"),
    ],
)
def test_options_that_make_no_sense_are_refused(variant, options, reason):
    assert reason in option_error(variant, options)


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("dgs", "event_window"),
        ("vsn", "wordcount"),
        ("ordered", "parametric"),
        ("layers", "wordcount"),
        ("dataflow", "sensor_interpolation"),
    ],
)
def test_closing_a_run_that_never_ran_ends_its_threads(variant, name):
    subject = workload(name)
    process, data = psutil.Process(), ordinary_input(subject)
    make_run(variant, subject.program, data).close()  # compiling may leave threads
    before = process.num_threads()
    run = make_run(variant, subject.program, data, workers=3)
    assert process.num_threads() >= before + 3
    run.close()
    assert process.num_threads() == before
    for call in (run.run, run.answer):
        with pytest.raises(EngineError, match="this run is closed"):
            call()


def test_settings_out_of_range_are_refused_by_the_core():
    for wrong in ({"workers": 0}, {"workers": _core.MAX_WORKERS + 1}, {"batch": 0}):
        settings = RunSettings(**wrong).for_core(OUTPUT, threads=0)
        with pytest.raises(ValueError, match=rf"{next(iter(wrong))} must be"):
            _core.DgsRun(settings, max_outputs_per_event=1, itemsizes=[8, 8])


def test_a_run_holds_its_arrays_until_it_is_destroyed():
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


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("variant", "name", "how"),
    [
        ("dgs", "event_window", {}),
        ("vsn", "forward", {}),
        ("vsn", "wordcount", {"tuple_buffer": "scalegate"}),
        ("sn", "wordcount", {}),
        ("sn-map", "wordcount", {"map_instances": 2}),
        ("layers", "forward", {"workers": 70, "link_rows": 16}),  # a channel to each from each
        ("layers", "scale_join", {"workers": 70, "link_rows": 16}),
        ("ordered", "parametric", {}),
        ("dataflow", "sensor_interpolation", {}),
        ("adhoc", "scale_join", {}),
    ],
)
def test_many_more_workers_than_cores_give_the_oracles_answer(variant, name, how):
    subject = workload(name)
    most = {"workers": _core.MAX_WORKERS, "batch": 16}
    check_native(variant, subject, ordinary_input(subject), **most | how)


@pytest.mark.some(2)
@pytest.mark.parametrize("variant", ["vsn", "sn", "layers", "ordered"])
def test_as_many_streams_as_a_log_merges_run_and_more_are_unsupported(variant, tmp_path):
    subject = workload("parametric" if variant == "ordered" else "forward")
    sides, most = len(subject.program.kinds), _core.MAX_STREAMS

    def prepared(streams):
        data = generated(subject, {"streams": streams // sides}, 1000, 1)
        assert len(data.streams) == streams
        task = task_of(subject, data, tmp_path, variant, batch=16)
        return MulticoreEngine().prepare(task), len(subject.oracle(data)["ts"])

    run, expected = prepared(most)
    run.run()
    assert len(run.answer()["ts"]) == expected > 0
    run.close()
    with pytest.raises(UnsupportedError, match=f"at most {most} streams, got {most + sides}"):
        prepared(most + sides)
