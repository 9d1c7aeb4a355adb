import errno
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlab.results.errors import ResultsError
from streamlab.results.query import by_cell
from streamlab.results.schema import COLUMNS, MEASURED, NAMES, STATUSES, arrow_schema, columns_of
from streamlab.results.seal import SEALS, seal_old_run, write_sealed
from streamlab.results.store import (
    list_runs,
    read_meta,
    read_run,
    read_trials,
    write_table,
)
from streamlab.results.table import csv_of
from tests.results.records import store_meta, store_trial, trial_row

REQUIRED = (
    "cell workload engine variant workers batch repetition status reason events outputs duration_s "
    "throughput_eps latency_p50_ns latency_p99_ns cpu_s peak_rss_bytes oversubscribed dataset"
)


def row(repetition=1, status="ok", eps=100.0, order=0, **more):
    return {
        "cell": "w/e/v/w1",
        "workload": "w",
        "engine": "e",
        "variant": "v",
        "workers": 1,
        "repetition": repetition,
        "status": status,
        "throughput_eps": eps,
        "order_index": order,
        "events": 10,
        "cpu_s": 0.5,
        **more,
    }


def test_schema_has_every_promised_column_with_words_about_it():
    assert set(REQUIRED.split()) <= NAMES
    assert len(NAMES) == len(COLUMNS)
    assert all(column.about for column in COLUMNS)
    assert arrow_schema().metadata[b"lab.schema_version"] == b"2"


def test_written_run_is_read_back_in_run_order(tmp_path):
    store_meta(tmp_path, {"name": "x"})
    store_trial(tmp_path, "b-r2", row(repetition=2, order=1))
    store_trial(tmp_path, "a-r1", row(repetition=1, order=0, reason="short"))
    write_table(tmp_path)
    run = read_run(tmp_path)
    assert run.meta.name == "x"
    assert [r.repetition for r in run.rows] == [1, 2]
    assert run.rows[0].reason == "short"
    assert run.rows[1].latency_p50_ns is None
    assert set(columns_of(run.rows[0])) == NAMES


def test_a_table_is_written_and_read_without_pandas(tmp_path):
    store_meta(tmp_path, {})
    store_trial(tmp_path, "a-r1", row())
    script = (
        "import sys\nfrom pathlib import Path\nfrom streamlab.results.store import read_run, write_table\n"
        f"run_dir = Path({str(tmp_path)!r})\n"
        "write_table(run_dir)\nread_run(run_dir)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_run_without_any_trial_still_gives_a_typed_table(tmp_path):
    store_meta(tmp_path, {})
    table = pq.read_table(write_table(tmp_path))
    assert table.num_rows == 0
    assert set(table.column_names) == NAMES


def test_a_run_with_columns_that_this_lab_no_longer_writes_is_read(tmp_path):
    """Older labs recorded an estimate of the energy, in the records and in the table."""
    store_meta(tmp_path, {})
    store_trial(tmp_path, "a-r1", row())
    record = json.loads((tmp_path / "trials" / "a-r1.json").read_text())
    older = json.dumps(record | {"estimate_j": 300.0, "estimate_parameters": "{}"})
    write_sealed(tmp_path, tmp_path / "trials" / "a-r1.json", older.encode())
    assert read_run(tmp_path).rows[0].throughput_eps == 100.0

    table = pq.read_table(write_table(tmp_path))
    for name, values in (("estimate_j", [300.0]), ("estimate_parameters", ["{}"])):
        table = table.append_column(name, pa.array(values))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, write_page_checksum=True)
    write_sealed(tmp_path, tmp_path / "trials.parquet", sink.getvalue().to_pybytes())
    (old,) = read_run(tmp_path).rows
    assert old.events == 10
    assert set(pq.read_table(write_table(tmp_path)).column_names) == NAMES
    assert csv_of([old]).startswith(b'"cell"')


def test_unknown_column_or_status_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ResultsError, match="not in the schema: speed"):
        store_trial(tmp_path, "a", row(speed=1))
    with pytest.raises(ResultsError, match="unknown status 'fine'"):
        store_trial(tmp_path, "a", row(status="fine"))
    assert read_trials(tmp_path) == {}


def test_text_that_is_no_unicode_is_escaped_in_record_and_table(tmp_path):
    store_meta(tmp_path, {"name": "x", "files": ["\udcff.csv"]})
    store_trial(tmp_path, "a-r1", row(reason="said \udcff"))
    write_table(tmp_path)
    run = read_run(tmp_path)
    assert run.rows[0].reason == "said \\udcff"
    assert run.meta.recorded["files"] == ["\\udcff.csv"]


def test_record_of_an_older_lab_that_no_table_holds_is_read_without_the_value(tmp_path):
    store_meta(tmp_path, {})
    store_trial(tmp_path, "a-r1", row())
    odd = row(events=2**70, plan="\udcff", cpu_s=float("nan"), batch=[])
    (tmp_path / "trials" / "a-r1.json").write_text(json.dumps(odd))
    (tmp_path / SEALS).unlink()
    seal_old_run(tmp_path)
    write_table(tmp_path)
    (found,) = read_run(tmp_path).rows
    assert (found.events, found.cpu_s, found.batch) == (None, None, None)
    assert found.plan == "\\udcff"
    assert json.loads(found.warnings) == ["cpu_s is nan, not a finite number: it is left out"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("-inf")])
def test_number_that_is_not_finite_is_left_out_with_a_warning_and_the_row_stays(tmp_path, value):
    store_meta(tmp_path, {})
    store_trial(tmp_path, "a-r1", row(load_cov=value, warnings='["turbo is on"]'))
    write_table(tmp_path)
    (found,) = read_run(tmp_path).rows
    assert (found.load_cov, found.status, found.reason) == (None, "ok", None)
    assert found.cpu_s == 0.5
    assert json.loads(found.warnings) == [
        "turbo is on",
        f"load_cov is {float(value)}, not a finite number: it is left out",
    ]


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"events": 2**63}, "events is 9223372036854775808, which is not of type int64"),
        ({"events": 1.5}, "events is 1.5, which is not of type int64"),
        ({"events": True}, "events is True, which is not of type int64"),
        ({"plan": b"x"}, "plan is b'x', which is not of type string"),
        ({"cpu_s": "1"}, "cpu_s is '1', which is not of type float64"),
        ({"cpu_s": 10**400}, "cpu_s is 1000.*, which is not of type float64"),
        ({"sustained": 1}, "sustained is 1, which is not of type bool"),
    ],
)
def test_value_that_its_column_cannot_hold_is_refused_before_anything_is_written(
    tmp_path, odd, message
):
    with pytest.raises(ResultsError, match=message):
        store_trial(tmp_path, "a-r1", row(**odd))
    assert not (tmp_path / "trials").exists()


@pytest.mark.parametrize("events", [np.int32(7), 7.0])
def test_numbers_of_numpy_and_whole_floats_are_numbers(tmp_path, events):
    store_meta(tmp_path, {})
    store_trial(tmp_path, "a", row(events=events, cpu_s=np.float32(0.5), sustained=np.True_))
    (stored,) = read_run(tmp_path).rows
    assert (stored.events, stored.cpu_s, stored.sustained) == (7, 0.5, True)
    assert isinstance(stored.events, int)


def test_other_schema_version_is_refused_with_a_remedy(tmp_path):
    store_meta(tmp_path, {})
    text = (tmp_path / "run.json").read_text().replace('"schema_version": 2', '"schema_version": 9')
    (tmp_path / "run.json").write_text(text)
    (tmp_path / SEALS).unlink()
    with pytest.raises(
        ResultsError, match=r"schema_version is 9, this lab reads 2; .*run it again"
    ):
        read_meta(tmp_path)


@pytest.mark.parametrize("name", ["run.json", "trials.parquet"])
def test_damaged_file_is_named_in_the_error(tmp_path, name):
    store_meta(tmp_path, {})
    write_table(tmp_path)
    (tmp_path / name).write_bytes(b"PAR1 nonsense")
    with pytest.raises(ResultsError, match=f"{name} is damaged"):
        read_run(tmp_path)


def test_damaged_trial_record_is_named_in_the_error(tmp_path):
    store_trial(tmp_path, "a-r1", row())
    (tmp_path / "trials" / "a-r1.json").write_text("{")
    with pytest.raises(ResultsError, match=r"a-r1\.json is damaged"):
        read_trials(tmp_path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "it has no cell, repetition, order_index, status"),
        (row(order="first"), "it has no order_index"),
        (row(status="fine"), "it has status 'fine'"),
    ],
)
def test_trial_record_without_its_workload_or_engine_is_named(tmp_path, record, message):
    store_meta(tmp_path, {})
    (tmp_path / "trials").mkdir()
    (tmp_path / "trials" / "a-r1.json").write_text(json.dumps(record))
    (tmp_path / SEALS).unlink()
    with pytest.raises(ResultsError, match=rf"a-r1\.json is damaged: {message}"):
        read_run(tmp_path)


def test_half_written_trial_is_not_taken_for_a_finished_one(tmp_path):
    store_trial(tmp_path, "a-r1", row())
    (tmp_path / "trials" / "b-r1.json.partial").write_text('{"status"')
    assert list(read_trials(tmp_path)) == ["a-r1"]


def test_records_are_read_where_a_killed_lab_wrote_no_table(tmp_path):
    store_meta(tmp_path, {})
    store_trial(tmp_path, "b-r1", row(order=1))
    store_trial(tmp_path, "a-r1", row(order=0))
    assert [r.order_index for r in read_run(tmp_path).rows] == [0, 1]


def test_records_newer_than_the_table_are_not_forgotten(tmp_path):
    store_meta(tmp_path, {})
    store_trial(tmp_path, "a-r1", row(order=0))
    write_table(tmp_path)
    store_trial(tmp_path, "b-r1", row(order=1))
    assert len(read_run(tmp_path).rows) == 2


def test_file_that_cannot_be_written_leaves_the_older_one_and_no_half_of_itself(
    tmp_path, monkeypatch
):
    store_meta(tmp_path, {"name": "older"})

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store_meta(tmp_path, {"name": "newer"})
    assert read_meta(tmp_path).name == "older"
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", SEALS}


def test_folder_that_is_no_run_is_refused_and_not_listed(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "run").mkdir()
    store_meta(tmp_path / "run", {})
    assert list_runs(tmp_path) == [tmp_path / "run"]
    with pytest.raises(ResultsError, match="is not a run"):
        read_meta(tmp_path / "other")


def complete(*rows):
    return [trial_row(columns) for columns in rows]


@pytest.mark.parametrize(
    ("rates", "spread"), [((3.0, 1.0, 10.0), (3, 3.0, 1.0, 10.0)), ((3.0,), (1, 3.0, 3.0, 3.0))]
)
def test_cell_gives_median_and_range_over_its_repetitions(rates, spread):
    (cell,) = by_cell(complete(*(row(n, eps=eps) for n, eps in enumerate(rates, 1))))
    rate = cell.spread("throughput_eps")
    assert (rate.n, rate.median, rate.low, rate.high) == spread


@pytest.mark.parametrize("status", sorted(set(STATUSES) - MEASURED))
def test_one_bad_repetition_voids_the_numbers_of_its_cell(status):
    (cell,) = by_cell(complete(row(1), row(2, status=status, eps=None, reason="because")))
    assert (cell.status, cell.reason) == (status, "because")
    assert cell.spread("throughput_eps") is None


@pytest.mark.parametrize("status", ["unsteady", "unsustained", "imported"])
def test_a_verdict_on_a_measured_trial_marks_the_cell_and_keeps_its_numbers(status):
    (cell,) = by_cell(complete(row(1, eps=3.0), row(2, status=status, eps=5.0, reason="slope")))
    assert (cell.status, cell.reason) == (status, "slope")
    spread = cell.spread("throughput_eps")
    assert spread is not None and spread.median == 4.0


def test_wrong_output_outranks_every_other_status():
    rows = [row(i, status=status) for i, status in enumerate(STATUSES, 1)]
    (cell,) = by_cell(complete(*rows))
    assert cell.status == "wrong_output"
