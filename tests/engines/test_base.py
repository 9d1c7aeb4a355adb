"""The base classes: a batch engine in some twenty lines, a streaming one in forty, that conform."""

import ast
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from streamlab import engine as public
from streamlab.engine import BatchEngine, StreamingEngine
from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError, EngineError, UnsupportedError
from streamlab.engines.registry import engine
from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.registry import workload
from tests.engines.tasks import task_of


def running_sums(task, data):
    events = total_order(data, np.dtype([("value", np.int64)]))
    barrier = events.kind == 1
    sums = np.cumsum(np.where(barrier, 0, events.payload["value"]))[barrier]
    return {"ts": events.ts[barrier], "sum": np.diff(sums, prepend=0)}


QUERIES = {"event_window": running_sums}


class Sums(BatchEngine):
    name = "sums"
    packages = ("numpy",)
    queries = QUERIES


class Windows(StreamingEngine):
    name = "windows"
    queries = QUERIES

    def process(self, task, events, out):
        total = 0
        for event in events:
            if event.kind == 0:
                total += event.value
            else:
                out.emit(event.ts, total)
                total = 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("made", [Sums, Windows])
def test_an_engine_of_the_base_classes_conforms(made, case, tmp_path):
    setting = Setting(variant=made().variants()[0].name, workers=1)
    found = run_case(made(), workload("event_window"), case, setting, tmp_path)
    assert found.problems == ()
    assert (found.unsupported is not None) == (case.extra_workers is not None)


@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
def test_a_streaming_engine_conforms_under(case, tmp_path):
    setting = Setting(variant="streaming", workers=1)
    found = run_load_case(Windows(), workload("event_window"), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


class AtTheEnd(StreamingEngine):
    """Emits everything after the last event."""

    name = "late"

    def process(self, task, events, out):
        kept = list(events)
        total = 0
        for event in kept:
            total += event.value * (event.kind == 0)
            if event.kind == 1:
                out.emit(event.ts, total)
                total = 0


def test_outputs_after_the_last_event_count_as_made_by_it(tmp_path):
    setting = Setting(variant="streaming", workers=1)
    found = run_load_case(AtTheEnd(), workload("event_window"), LOAD_CASES[2], setting, tmp_path)
    # One instant: all outputs are due then, whichever event made them.
    assert (found.unsupported, found.problems) == (None, ())


def test_outputs_that_are_held_back_are_reported_with_the_remedy(tmp_path):
    setting = Setting(variant="streaming", workers=1)
    found = run_load_case(AtTheEnd(), workload("event_window"), LOAD_CASES[0], setting, tmp_path)
    (problem,) = [said for said in found.problems if "outputs in warm_up_latency" in said]
    assert problem.startswith("0 outputs in warm_up_latency, expected ")
    assert "emit an output when the event that causes it was taken" in problem


def a_task(folder, variant="batch"):
    subject = workload("event_window")
    return task_of(subject, ordinary_input(subject), folder, variant)


def test_undeclared_workloads_are_refused_with_the_reason(tmp_path):
    task = a_task(tmp_path)
    variant = Sums().variants()[0]

    class Narrow(Sums):
        known_variants = (replace(variant, lacking={"event_window": "no barriers here"}),)

    class OfQueries(Sums):
        queries = None
        known_variants = (replace(variant, models=(public.Query,)),)

    for made, changes, reason in (
        (Sums, {"variant": "fast"}, "no variant 'fast'; engine sums has batch"),
        (Sums, {"workload": workload("wordcount")}, "sums/batch has no query for wo"),
        (Sums, {"workers": 2}, "sums has at most 1 worker, got 2"),
        (Sums, {"options": {"fast": True}}, "engine sums has no options, got fast"),
        (Narrow, {}, "sums/batch does not run event_window: no barriers here"),
        (OfQueries, {}, "sums/batch runs no DGS programs"),
    ):
        refused = replace(task, **changes)
        assert reason in made().unsupported(refused)
        with pytest.raises(UnsupportedError, match=r".*"):
            made().prepare(refused)


def test_a_variant_says_for_which_workloads_something_is_written():
    class Narrow(Sums):
        queries = dict.fromkeys(("event_window", "wordcount"), running_sums)
        known_variants = (replace(Sums.known_variants[0], lacking={"wordcount": "no words here"}),)

    assert [variant.written_for for variant in Narrow().variants()] == [{"event_window"}]
    assert [variant.written_for for variant in AtTheEnd().variants()] == [None]


def test_the_version_is_that_of_its_packages():
    assert Sums().version() == f"numpy {np.__version__}"
    assert Windows().version() == "not stated"


def test_an_exception_in_a_query_is_a_crash_with_its_cause(tmp_path):
    class Broken(Sums):
        def compute(self, task, data):
            return 1 // 0

    with pytest.raises(EngineCrashError, match=r"sums, batch: ZeroDivisionError") as caught:
        Broken().prepare(a_task(tmp_path)).run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert f"in compute ({__file__}:" in str(caught.value)


def test_lack_of_memory_is_no_crash_of_the_engine(tmp_path):
    """The trial tells `oom` from `crash` by the exception that reaches it."""

    class Greedy(Sums):
        def compute(self, task, data):
            raise MemoryError

    class GreedyStream(Windows):
        def process(self, task, events, out):
            raise MemoryError

    for greedy, variant in ((Greedy(), "batch"), (GreedyStream(), "streaming")):
        prepared = greedy.prepare(a_task(tmp_path, variant=variant))
        with pytest.raises(MemoryError):
            prepared.run()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "sums: the answer, of type NoneType, has no column ts; return a mapping"),
        ({"ts": [1]}, "sums: the answer, of type dict, has no column sum; .* columns ts, sum$"),
        (np.zeros(1, [("ts", int)]), "sums: the answer, of type ndarray, has no column sum"),
    ],
)
def test_an_answer_without_a_column_says_which_is_lacking(answer, words, tmp_path):
    class Short(Sums):
        def compute(self, task, data):
            return answer

    prepared = Short().prepare(a_task(tmp_path))
    prepared.run()
    with pytest.raises(EngineCrashError, match=words):
        prepared.answer()


@pytest.mark.parametrize(
    ("sums", "words"),
    [
        (lambda rows: np.full(rows, 2.5), r"column sum of the answer has .*2\.5.* in row 0"),
        (lambda rows: np.ma.masked_all(rows, np.int64), "column sum of the answer has nulls"),
    ],
)
def test_an_answer_that_its_type_does_not_hold_is_a_crash(sums, words, tmp_path):
    class Inexact(Sums):
        def columns(self, task, answer):
            return answer | {"sum": sums(len(answer["ts"]))}

    prepared = Inexact().prepare(a_task(tmp_path))
    prepared.run()
    with pytest.raises(EngineCrashError, match=words):
        prepared.answer()


def installed(folder, name, code):
    """Make an engine known as `pip install` would."""
    module = f"interface_{name}"
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[lab.engines]\n{name} = {module}:Made\n")


def test_an_engine_for_a_newer_lab_is_refused_with_both_versions(tmp_path, monkeypatch):
    code = "from streamlab.engines.fake.adapter import FakeEngine\nclass Made(FakeEngine):\n    interface = {}"
    installed(tmp_path, "newer", code.format(public.INTERFACE + 1))
    installed(tmp_path, "same", code.format(public.INTERFACE))
    installed(tmp_path, "odd", code.format("'two'"))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert engine("same").name == "fake"
    with pytest.raises(
        EngineError, match=r"'newer' .*interface 2 of streamlab.engine.*has 1: update"
    ):
        engine("newer")
    with pytest.raises(EngineError, match="interface is 'two', not a whole number"):
        engine("odd")


@pytest.mark.parametrize("name", ["csp", "duckdb", "polars"])
def test_an_engine_that_people_use_is_built_on_the_interface_alone(name):
    folder = Path(__file__).parents[2] / "engines" / name
    imported = [
        (node.module, alias.name)
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
        if node.module.startswith("streamlab.engines.")
        and not node.module.startswith(f"streamlab.engines.{name}")
    ]
    assert imported
    for module, what in imported:
        assert getattr(public, what) is getattr(import_module(module), what), (module, what)
