"""The conformance suite on every engine: edges of the contract, crash, hang, nothing left.

Spark has its cases in spark/test_spark_conformance.py.
"""

import itertools
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow
import pytest

from streamlab.engines import conditions
from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.dataframe.adapter import DataframeEngine
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.registry import engine, names
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.spark.workloads import ANY_PROGRAM as SPARK_ANY_PROGRAM
from streamlab.engines.spark.workloads import FORMS as SPARK_FORMS
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import EngineTrial
from streamlab.workloads.model import DGSProgram
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import requires_environment
from tests.workloads.suite.small_inputs import event_time_workloads

NATIVE = {
    "fake": Setting(variant="correct", options={"real_time": True}),
    "multicore": Setting(variant="dgs", workers=2, batch=64),
    "reference": Setting(variant="sequential", workers=1),
}
DATAFRAME = Setting(variant="numpy", workers=1)
SPARK = Setting(variant="streaming", workers=2, options={"warm_up_rounds": 1})
FLINK = Setting(variant="automatic", options={"heap_mb": 256})
FULL = pytest.mark.full
JAVA_STARTS_S = {"flink": 2.0, "spark": 4.0}
"""Long enough for the Java process to be there, and too short for an answer."""
PATIENCE_S = 600.0
"""What ends in time ends long before."""
ELSEWHERE = {
    "vsn": "multicore/test_model_conformance.py",
    "sn": "multicore/test_model_conformance.py",
    "sn-map": "multicore/test_model_conformance.py",
    "adhoc": "multicore/test_joins.py",
    "1t": "multicore/test_joins.py",
    "indexed": "multicore/test_joins.py",
    "ordered": "multicore/test_model_conformance.py",
    "layers": "multicore/test_model_conformance.py",
    "dataflow": "multicore/test_model_conformance.py",
}
"""Variants of the multicore engine for other programs than those with DGS: where they are tried."""
PROGRAMS = [
    name for name in event_time_workloads() if isinstance(workload(name).program, DGSProgram)
]
CELLS = [
    (engine_name, name)
    for engine_name in NATIVE
    for name in (PROGRAMS if engine_name == "multicore" else event_time_workloads())
]
ENGINES = [
    *(
        pytest.param(name, NATIVE[name], id=name, marks=() if name == "multicore" else FULL)
        for name in NATIVE
    ),
    pytest.param("spark", SPARK, id="spark", marks=pytest.mark.spark),
    pytest.param("flink", FLINK, id="flink", marks=requires_environment(FlinkEngine)),
]
"""Those that a crash could leave threads or processes of; the data-frame lines have none.

Of the engines that run in the trial's own process `make test` takes the one with threads.
"""


OWN_ENVIRONMENT = ("csp", "duckdb", "flink", "kafka-streams", "polars", "storm", "timely")
"""Engines with an environment of their own, tried elsewhere: test_csp.py, test_table_engines.py, and in folders."""


def test_every_installed_engine_is_in_this_suite():
    # A command says what it runs: tests/engines/command.
    assert set(names()) == {*NATIVE, "dataframe", "spark", "command", *OWN_ENVIRONMENT}


def test_every_variant_of_every_engine_is_in_this_suite():
    known = {name: {setting.variant} for name, setting in NATIVE.items()}
    known |= {"dataframe": {DATAFRAME.variant}, "spark": set(SPARK_FORMS)}
    known["multicore"] |= set(ELSEWHERE)
    known["spark"] |= set(SPARK_ANY_PROGRAM)
    for name in set(known) - {"fake"}:
        assert {variant.name for variant in engine(name).variants()} == known[name]


def test_every_variant_says_what_its_rates_include():
    for name in names():
        for variant in engine(name).variants():
            for batch in (1, 64) if variant.uses_batch else (None,):
                for offered in (False, True):
                    found = conditions.cell_conditions(
                        variant.conditions, workload="event_window", batch=batch, offered=offered
                    )
                    assert found is not None, (name, variant.name)
                    if batch is not None:
                        assert found.unit == ("record" if batch == 1 else "block")
                    assert (found.origin == "generator") == offered


@pytest.mark.some(120)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("engine_name", "name"), CELLS)
def test_engine_conforms(engine_name, name, case, tmp_path):
    found = run_case(engine(engine_name), workload(name), case, NATIVE[engine_name], tmp_path)
    assert found.problems == ()
    if found.unsupported is not None:
        # The only refusal that the suite accepts: a sequential engine given more workers.
        assert (engine_name, case.name) == ("reference", "more workers than streams")


@pytest.mark.pairwise
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", DataframeEngine.queries)
def test_data_frame_lines_conform(name, case, tmp_path):
    found = run_case(engine("dataframe"), workload(name), case, DATAFRAME, tmp_path)
    assert found.problems == ()
    refused = case.name in ("a single stream", "more workers than streams")
    assert (found.unsupported is not None) == refused


@pytest.mark.some(15)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("engine_name", "name"), CELLS)
def test_engine_conforms_under(engine_name, name, case, tmp_path):
    setting = NATIVE[engine_name]
    found = run_load_case(engine(engine_name), workload(name), case, setting, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


def test_a_variant_takes_a_load_or_refuses_it(tmp_path):
    for name in names():
        for variant in engine(name).variants():
            if not variant.takes_load:
                setting = Setting(variant=variant.name, workers=1)
                folder = tmp_path / name / variant.name
                chosen = workload("event_window")
                found = run_load_case(engine(name), chosen, LOAD_CASES[0], setting, folder)
                assert found.unsupported, (name, variant.name)


@pytest.fixture
def pools_of_one():
    """pyarrow starts threads of a pool as they are wanted: with one each, all in the first run."""
    before = pyarrow.cpu_count(), pyarrow.io_thread_count()
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    yield
    pyarrow.set_cpu_count(before[0])
    pyarrow.set_io_thread_count(before[1])


def native_threads():
    """Return how many threads this process has, including those of native code."""
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.usefixtures("pools_of_one")
@pytest.mark.parametrize("engine_name", [*NATIVE, "dataframe"])
def test_engine_leaves_no_native_thread(engine_name, tmp_path):
    # The first run starts what belongs to libraries, which stays.
    counts = []
    for attempt in ("first", "second", "third"):
        run_case(
            engine(engine_name),
            workload("event_window"),
            CASES[0],
            {**NATIVE, "dataframe": DATAFRAME}[engine_name],
            tmp_path / attempt,
        )
        # A thread that has been joined may be listed for a moment longer.
        deadline = time.monotonic() + PATIENCE_S
        while counts and native_threads() > counts[-1] and time.monotonic() < deadline:
            time.sleep(0.01)
        counts.append(native_threads())
    assert counts[2] <= counts[1] <= counts[0]


@pytest.mark.parametrize("engine_name", sorted([*NATIVE, "dataframe", "spark"]))
def test_engine_refuses_a_variant_that_it_does_not_have(engine_name, tmp_path):
    setting = Setting(variant="nosuch", workers=1)
    found = run_case(engine(engine_name), workload("event_window"), CASES[0], setting, tmp_path)
    assert "nosuch" in found.unsupported


@pytest.fixture
def family(monkeypatch):
    """A function that lists the live processes of this test's trials, wherever they have gone."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("CONFORMANCE_TEST", mark)

    def find():
        found = []
        for process in psutil.process_iter():
            try:
                carries = process.environ().get("CONFORMANCE_TEST") == mark
                judges = process.cmdline()[-1:] == [
                    "streamlab.lab.judge"
                ]  # it lives as long as the lab
                if carries and not judges and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    return find


def spec_of(engine_name, setting, folder):
    data = ordinary_input(workload("event_window"))
    return EngineTrial(
        engine=engine_name,
        variant=setting.variant,
        workers=setting.workers,
        batch=setting.batch,
        options=setting.options,
        dataset=write_dataset(data, "event_window", folder / "data"),
    )


@pytest.mark.parametrize(("engine_name", "setting"), ENGINES)
def test_engine_whose_process_dies_is_a_crash_and_leaves_nothing(
    engine_name, setting, tmp_path, family
):
    spec, ended = spec_of(engine_name, setting, tmp_path), None
    for attempt in itertools.count():
        log = tmp_path / f"log-{attempt}"
        killer = threading.Thread(
            target=kill_in_prepare, args=(log, family, engine_name in JAVA_STARTS_S)
        )
        killer.start()
        ended = run_trial(spec, log=log, timeout_s=PATIENCE_S)
        killer.join()
        if ended.columns["status"] != "ok":  # else it was over before it was killed
            break
    assert ended.columns["status"] == "crash"
    assert "was killed by SIGKILL" in ended.columns["reason"]
    assert family() == []


@pytest.mark.parametrize(("engine_name", "setting"), ENGINES)
def test_engine_that_takes_too_long_is_stopped_and_leaves_nothing(
    engine_name, setting, tmp_path, family
):
    timeout_s = JAVA_STARTS_S.get(engine_name, 0.2)
    log = tmp_path / "log"
    ended = run_trial(spec_of(engine_name, setting, tmp_path), log=log, timeout_s=timeout_s)
    assert ended.columns["status"] == "timeout"
    assert family() == []


def kill_in_prepare(log: Path, family, has_java: bool):
    """Kill the trial's process as soon as its engine prepares, with Java running if it has any."""
    while True:
        text = log.read_text() if log.exists() else ""
        if "# phase: report" in text:  # the engine is done
            return
        if "# phase: prepare" in text:
            with suppress(psutil.Error):  # one of them has just ended: look again
                running = family()
                if not has_java or any("java" in process.name() for process in running):
                    for process in running:  # not the supervisor, which names it too
                        if process.cmdline()[1:3] == ["-m", "streamlab.lab.trial"]:
                            process.kill()
                            return
        time.sleep(0.002)
