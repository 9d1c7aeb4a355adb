"""Runs in the formats of other tools, and these tools' files as runs."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlab.results.errors import ResultsError
from streamlab.results.exchange.external_file import LEAST_S
from streamlab.results.exchange.external_run import read_external_run
from streamlab.results.exchange.readers import read_external
from streamlab.results.exchange.writers import FORMS, write_form
from streamlab.results.schema import columns_of
from streamlab.results.store import Run
from tests.results.records import run_meta, trial_row

CELL = "event_window/multicore/dgs/w2/b4096"
NOW = "2026-11-28T08:00:00+00:00"
TIMED = [form for form in (*FORMS, "csv") if form != "bmf"]


def run_of(times, tmp_path=None, **columns):
    rows = [
        trial_row(
            {
                "cell": CELL,
                "workload": "event_window",
                "engine": "multicore",
                "variant": "dgs",
                "workers": 2,
                "status": "ok",
                "repetition": number,
                "order_index": number,
                "events": 1_000_000,
                "duration_s": seconds,
                "throughput_eps": 1e6 / seconds,
                "cpu_s": 2 * seconds,
                "user_s": 1.5 * seconds,
                "system_s": 0.5 * seconds,
                "peak_rss_bytes": 1 << 20,
                "latency_p50_ns": 5_000,
                "latency_p99_ns": 9_000,
            }
            | columns
        )
        for number, seconds in enumerate(times, 1)
    ]
    host = {"cpu_model": "A fast one", "cores_usable": 2}
    meta = {"host": host, "vcs": {"commit": "a" * 40}, "lab_version": "0.2"}
    return Run(path=tmp_path, meta=run_meta(meta), rows=tuple(rows))


@pytest.fixture
def exported(tmp_path):
    """A function that exports a run and returns the file."""

    def make(run, form):
        content, left_out = write_form(run, form)
        path = tmp_path / f"{form}.{'csv' if form == 'csv' else 'json'}"
        path.write_bytes(content)
        return path, left_out

    return make


@pytest.mark.parametrize("form", TIMED)
def test_the_times_of_an_exported_run_are_imported_again(tmp_path_factory, form):
    folder = tmp_path_factory.mktemp(form)

    @given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8))
    def law(times):
        content, left_out = write_form(run_of(times), form)
        path = folder / ("file.csv" if form == "csv" else "file.json")
        path.write_bytes(content)
        rows = read_external_run([path], now=NOW, name=None).rows
        assert [row.duration_s for row in rows] == pytest.approx(times)
        assert {(row.cell, row.status, row.checked_by) for row in rows} == {
            (CELL, "imported", "nothing")
        }
        assert not left_out

    law()


def test_metrics_of_bencher_are_medians_with_their_interval(exported):
    path, _ = exported(run_of([1.0, 2.0, 4.0]), "bmf")
    measures = json.loads(path.read_text())[CELL]
    assert measures["throughput"] == {
        "value": 5e5,
        "lower_value": 2.5e5,
        "upper_value": 1e6,
    }
    assert measures["latency"]["value"] == 5_000 and measures["latency-p99"]["value"] == 9_000
    (trial,) = read_external(path).trials[CELL]
    assert trial.seconds == 1 / 5e5 and trial.latency_p50_ns == 5_000


def test_pytest_benchmark_compares_an_exported_run(exported):
    path, _ = exported(run_of([1.0, 2.0, 4.0]), "pytest-benchmark")
    command = [sys.executable, "-m", "pytest_benchmark", "compare", str(path)]
    done = subprocess.run(
        [*command, "--columns=min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations"],
        capture_output=True,
        text=True,
        check=True,
        cwd=path.parent,
    )
    assert CELL in done.stdout.replace(" ", "") and "2.0000" in done.stdout, done.stdout


def test_a_file_that_pytest_benchmark_wrote_is_one_process(tmp_path):
    test = tmp_path / "test_sum.py"
    test.write_text("def test_sum(benchmark):\n    assert benchmark(sum, range(100)) == 4950\n")
    file = tmp_path / "out.json"
    options = ["-q", "-p", "no:cacheprovider", "--benchmark-max-time=0.01"]
    command = [sys.executable, "-m", "pytest", *options, f"--benchmark-json={file}", str(test)]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environ)
    rows = read_external_run([file, file], now=NOW, name=None).rows
    assert [(row.cell, row.repetition) for row in rows] == [
        ("test_sum.py::test_sum", 1),
        ("test_sum.py::test_sum", 2),
    ]
    median = json.loads(file.read_text())["benchmarks"][0]["stats"]["median"]
    assert rows[0].duration_s == median


@pytest.mark.parametrize("form", FORMS)
def test_cells_without_a_number_are_left_out_with_the_reason(exported, form):
    wrong = run_of([1.0], cell="wrong", status="wrong_output", duration_s=None)
    both = Run(path=wrong.path, meta=wrong.meta, rows=(*wrong.rows, *run_of([1.0]).rows))
    path, left_out = exported(both, form)
    assert left_out == ["wrong: wrong_output"] and "wrong" not in path.read_text()
    loaded = run_of([60.0], load="{}", throughput_eps=None)
    path, left_out = exported(loaded, form)
    assert bool(left_out) == (form != "bmf")
    assert "throughput" not in path.read_text()


GOOGLE = {
    "context": {"date": NOW, "num_cpus": 2},
    "benchmarks": [
        {"name": "a", "run_type": "iteration", "real_time": t, "cpu_time": t / 2, "time_unit": "us"}
        for t in (1.0, 3.0, 2.0)
    ]
    + [{"name": "a_mean", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 2.0}]
    + [
        {"name": "bad", "error_occurred": True, "error_message": "no file", "run_type": "iteration"}
    ],
}
HYPERFINE = {
    "results": [
        {
            "command": "sort big",
            "median": 1.5,
            "times": [1.0, 2.0, 9.0, 0.0],
            "exit_codes": [0, 0, 1, 0],
            "memory_usage_byte": [10, 20, 30, 40],
        }
    ]
}
JMH = [
    {
        "benchmark": "org.x.B.push",
        "mode": mode,
        "params": {"size": "10"},
        "primaryMetric": {"score": score, "scoreUnit": unit, "rawData": raw},
        "jmhVersion": "1.37",
    }
    for mode, score, unit, raw in (
        ("thrpt", 500.0, "ops/ms", [[400.0, 500.0, 600.0], [1000.0]]),
        ("avgt", 2.0, "us/op", [[2.0]]),
        ("sample", 2.0, "ms/op", None),
    )
]
IDLE = [{**JMH[0], "primaryMetric": {"score": 0.0, "scoreUnit": "ops/s", "rawData": [[0.0]]}}]
CRITERION = {
    name: {"point_estimate": 250.0, "standard_error": 1.0} for name in ("mean", "median", "std_dev")
}
BMF = {"a": {"latency": {"value": 88.0, "lower_value": 87.0}}, "b": {"throughput": {"value": 4.0}}}


@pytest.mark.parametrize(
    ("content", "times"),
    [
        (GOOGLE, {"a": [2e-6], "bad": [None]}),
        (HYPERFINE, {"sort big": [1.0, 2.0, None, None]}),
        (
            JMH,
            {
                "org.x.B.push thrpt (size=10)": [2e-6, 1e-6],
                "org.x.B.push avgt (size=10)": [2e-6],
                "org.x.B.push sample (size=10)": [2e-3],
            },
        ),
        (BMF, {"a": [88e-9], "b": [0.25]}),
    ],
    ids=["google", "hyperfine", "jmh", "bmf"],
)
def test_processes_of_other_tools_become_trials(tmp_path, content, times):
    file = tmp_path / "file.json"
    file.write_text(json.dumps(content))
    found = read_external(file).trials
    assert {name: [trial.seconds for trial in trials] for name, trials in found.items()} == {
        name: pytest.approx(values) if None not in values else values
        for name, values in times.items()
    }


def test_a_folder_of_criterion_has_a_benchmark_per_estimate(tmp_path):
    for name, about in (
        ("plain", None),
        ("named", {"full_id": "g/f", "throughput": {"Elements": 4}}),
    ):
        folder = tmp_path / name / "new"
        folder.mkdir(parents=True)
        (folder / "estimates.json").write_text(json.dumps(CRITERION))
        if about is not None:
            (folder / "benchmark.json").write_text(json.dumps(about))
    rows = read_external_run([tmp_path], now=NOW, name=None).rows
    rates = {row.cell: row.throughput_eps for row in rows}
    assert rates == pytest.approx({"g/f": 4 / 250e-9, "plain": 1 / 250e-9})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.json", "{", "cannot be read as JSON"),
        ("f.json", "[]", "JSON that begins with list; expected a file of pytest-benchmark"),
        (
            "f.json",
            json.dumps({"results": [{"command": "a"}]}),
            "output of hyperfine, but in an unknown form",
        ),
        (
            "f.json",
            json.dumps({"Title": "a", "HostEnvironmentInfo": {}}),
            "output of BenchmarkDotNet",
        ),
        ("f.json", json.dumps({"a": {"size": {"value": 1}}}), "a has the measures size"),
        (
            "f.json",
            json.dumps({"results": [{"command": "a", "times": [-1]}]}),
            "a has a time of -1 s",
        ),
        ("f.json", json.dumps({"results": HYPERFINE["results"] * 2}), "sort big occurs twice"),
        ("f.csv", "name,time\na,1\n", "no column cell"),
        ("f.csv", "cell,duration_s\na,soon\n", "line 2: could not convert"),
        ("f.csv", "cell,duration_s,events\na,1,nan\n", "line 2: cannot convert float NaN"),
        ("f.csv", "cell,duration_s,events\na,1,0\n", "line 2: events is 0; expected 1 or more"),
        ("f.csv", "cell,duration_s\n", "it has no benchmark"),
        ("f.json", json.dumps(IDLE), "output of JMH, but in an unknown form"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_by_name(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(ResultsError) as refused:
        read_external_run([file], now=NOW, name=None)
    assert str(file) in str(refused.value) and message in str(refused.value)


def test_files_of_two_tools_or_machines_make_no_run(tmp_path, exported):
    google, _ = exported(run_of([1.0]), "google-benchmark")
    hyperfine, _ = exported(run_of([1.0]), "hyperfine")
    with pytest.raises(ResultsError, match=r"tool is 'google-benchmark' in .*'hyperfine' in"):
        read_external_run([google, hyperfine], now=NOW, name=None)
    ours, _ = exported(run_of([1.0]), "pytest-benchmark")
    other = tmp_path / "other.json"
    other.write_text(ours.read_text().replace("A fast one", "A slow one"))
    with pytest.raises(ResultsError, match=r"host.cpu_model is 'A fast one' in"):
        read_external_run([ours, other], now=NOW, name=None)


def test_csv_without_a_time_or_with_a_failed_status_is_a_failed_process(tmp_path):
    file = tmp_path / "times.csv"
    text = "cell,duration_s,events,status\na,0.5,10,\n"
    file.write_text(text + f"a,{LEAST_S},,fine\nb,,,crash\nc,1,,wrong_output\n")
    rows = read_external_run([file], now=NOW, name=None).rows
    columns = [columns_of(row) for row in rows]
    assert [(c["cell"], c["status"], c["events"]) for c in columns] == [
        ("a", "imported", 10),
        ("a", "imported", 1),
        ("b", "crash", None),
        ("c", "crash", None),
    ]
