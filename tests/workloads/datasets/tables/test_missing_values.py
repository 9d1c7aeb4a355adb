"""Rows without a value of a field: bad, filled, left out, or flagged."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streamlab.lab.cli.data import data as data_command
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables import Table, TableSet, arrays, content_key, csv
from streamlab.workloads.model import Pipeline, stateless
from tests.workloads.datasets.tables.programs import (
    COUNTER,
    PAIRS,
    REPORTS,
    SUMS,
    TRUCKS,
    VIEWS,
    made,
    text,
)

RIDE = np.dtype(
    [
        ("duration", np.int32),
        ("duration_missing", np.bool_),
        ("station", np.int32),
        ("station_missing", np.bool_),
    ]
)
ROWS = ("t,duration,station", "1,30,a", "2,,b", "3,40,", "4,,")


def give(t: Any, out: Any) -> None:
    out.emit(t.duration, t.duration_missing, t.station, t.station_missing)


def pipeline(event: np.dtype[np.void]) -> Pipeline:
    output = np.dtype([("ts", np.int64), *event.descr])
    return Pipeline(
        name="rides",
        record="ride",
        event=event,
        stages=(stateless(name="give", output=output, apply=give),),
    )


FLAGGED = pipeline(RIDE)
PLAIN = pipeline(np.dtype([(name, RIDE[name]) for name in ("duration", "station")]))


def rides(folder: Path, **meaning: Any) -> Table:
    return csv(text(folder / "rides.csv", *ROWS), ts="t", ids="station", **meaning)


def columns(table: Table | TableSet, program: Any, catalog: Catalog) -> dict[str, list[Any]]:
    (stream,) = made(table, program, catalog).load().streams
    return {"ts": stream.ts.tolist(), **{n: v.tolist() for n, v in stream.payload.items()}}


def test_fill_gives_a_value_and_counts(catalog: Catalog, tmp_path: Path):
    table = rides(tmp_path, fill={"duration": -1, "station": "none"})
    dataset = made(table, PLAIN, catalog)
    assert columns(table, PLAIN, catalog) == {
        "ts": [1, 2, 3, 4],
        "duration": [30, -1, 40, -1],
        "station": [0, 1, 2, 2],
    }
    assert pq.read_table(dataset.dictionaries[0].path)["text"].to_pylist() == ["a", "b", "none"]
    assert dataset.origin["filled_by_field"] == {"station": 2, "duration": 2}
    assert dataset.origin["bad_rows"] == 0


def test_rows_without_a_value_are_left_out_and_counted(catalog: Catalog, tmp_path: Path):
    table = rides(tmp_path, skip_missing=["duration", "station"])
    assert columns(table, PLAIN, catalog) == {"ts": [1], "duration": [30], "station": [0]}
    origin = made(table, PLAIN, catalog).origin
    assert (origin["rows"], origin["skipped_rows"], origin["bad_rows"]) == (1, 3, 0)
    assert origin["skipped_by_field"] == {"duration": 2, "station": 1}
    both = rides(tmp_path, skip_missing="duration", fill={"station": "x"})
    assert columns(both, PLAIN, catalog)["ts"] == [1, 3]


def test_a_program_may_read_which_values_are_missing(catalog: Catalog, tmp_path: Path):
    assert columns(rides(tmp_path), FLAGGED, catalog) == {
        "ts": [1, 2, 3, 4],
        "duration": [30, 0, 40, 0],
        "duration_missing": [False, True, False, True],
        "station": [0, 1, 2, 2],
        "station_missing": [False, False, True, True],
    }
    filled = columns(rides(tmp_path, fill={"duration": 7}), FLAGGED, catalog)
    assert filled["duration"] == [30, 7, 40, 7]
    assert filled["duration_missing"] == [False, True, False, True]
    assert columns(rides(tmp_path, skip_missing="duration"), FLAGGED, catalog)["ts"] == [1, 3]
    text(tmp_path / "flags.csv", "t,duration,station,duration_missing", "1,2,a,true")
    own = csv(tmp_path / "flags.csv", ts="t", ids="station")
    assert columns(own, FLAGGED, catalog)["duration_missing"] == [True]


def test_keys_may_be_missing(catalog: Catalog):
    data = {"t": [1, 2, 3], "k": ["a", "", None]}
    table = arrays(data, ts="t", key="k", kind="increment")
    with pytest.raises(DatasetError, match="row 2, column k: is empty"):
        made(table, COUNTER, catalog)
    filled = made(replace(table, fill={"key": "nobody"}), COUNTER, catalog)
    assert (filled.alphabet.keys, filled.events) == (2, 3)
    assert filled.origin["filled_by_field"] == {"key": 2}
    left_out = made(replace(table, skip_missing=("key",)), COUNTER, catalog)
    assert (left_out.events, left_out.origin["skipped_by_field"]) == (1, {"key": 2})


@pytest.mark.parametrize(
    ("program", "data", "meaning"),
    [
        (SUMS, {"value": [1, None, 3]}, {"kind": "=value"}),
        (REPORTS, {"vid": [1, None, 3], "speed": 1, "share": 1, "slow": True}, {}),
        (VIEWS, {"user": [1, None, 3], "k": 1, "meta": 2}, {"kind": "=view", "key": "k"}),
        (VIEWS, {"user": [1, None, 3], "k": 1, "meta": 2, "w": "view"}, {"kind": "w", "key": "k"}),
        (TRUCKS, {"truck": [1, None, 3], "kg": 1}, {"kind": "=weigh"}),
        (PAIRS, {"x": [1, None, 3], "y": 2, "a": 1, "b": 1, "c": 1, "d": 1}, {"kind": "=left"}),
    ],
)
def test_an_empty_field_is_a_bad_row_in_every_model(
    catalog: Catalog, program: Any, data: dict[str, Any], meaning: dict[str, Any]
):
    if program is PAIRS:
        kind, names = PAIRS.kinds[0], PAIRS.operators[0].inputs[0].fields.names or ()
        data = {name: [1, None, 3] if at == 0 else 1 for at, name in enumerate(names)}
        meaning = {"kind": f"={kind}"}
    full = {n: v if isinstance(v, list) else [v] * 3 for n, v in data.items()}
    table = arrays({"t": [1, 2, 3], **full}, ts="t", **meaning)
    (field,) = (name for name, values in full.items() if None in values)
    with pytest.raises(DatasetError, match=rf"row 2, column {field}.* is empty"):
        made(table, program, catalog)
    dataset = made(replace(table, max_bad=1), program, catalog)
    assert (dataset.events, dataset.origin["bad_rows"]) == (2, 1)
    dataset = made(replace(table, skip_missing=(field,)), program, catalog)
    assert (dataset.events, dataset.origin["bad_rows"]) == (2, 0)
    assert dataset.origin["skipped_by_field"] == {field: 1}
    assert made(replace(table, fill={field: 2}), program, catalog).events == 3


def test_both_are_part_of_the_content(tmp_path: Path):
    tables = [rides(tmp_path), rides(tmp_path, fill={"duration": 1})]
    tables += [rides(tmp_path, fill={"duration": 2}), rides(tmp_path, skip_missing="duration")]
    assert len({content_key(table) for table in tables}) == len(tables)


@pytest.mark.parametrize(
    ("meaning", "message"),
    [
        (
            {"fill": {"duration": "many"}},
            "fill has 'many' for duration; give a value of type int32",
        ),
        ({"fill": {"duration": 1.5}}, "fill has 1.5 for duration"),
        ({"fill": {"station": 3}}, "fill has 3 for station; give a text"),
        ({"fill": {"price": 3}}, "fill names price, which is not a field of the program"),
        ({"skip_missing": ["price"]}, "skip_missing names price"),
        ({"fill": {"duration": 1}, "skip_missing": "duration"}, "in fill and in skip_missing"),
    ],
)
def test_wrong_declarations_are_refused(catalog: Catalog, tmp_path: Path, meaning, message):
    with pytest.raises(DatasetError, match=message):
        made(rides(tmp_path, **meaning), PLAIN, catalog)
    with pytest.raises(DatasetError, match="fill is 3; give a mapping from fields to values"):
        rides(tmp_path, fill=3)


def test_a_table_whose_rows_are_all_left_out_is_refused(catalog: Catalog, tmp_path: Path):
    table = csv(text(tmp_path / "a.csv", "t,value", "1,", "2,"), ts="t", kind="=value")
    with pytest.raises(DatasetError, match=r"has no rows \(2 without value\)"):
        made(replace(table, skip_missing=("value",)), SUMS, catalog)


def test_the_command_fills_and_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    file = text(tmp_path / "a.csv", "t,who,value", "1,a,5", "2,b,", "3,,7")
    command = ["import", "table", "--workload", "event_window", "--file", str(file)]
    command += ["--columns", "ts=t,kind==value"]
    result = CliRunner().invoke(data_command, [*command, "--fill", "value=9"])
    assert result.exit_code == 0, result.output
    assert "3 rows, 0 bad, 0 out of order, 1 filled with a value of value" in result.output
    result = CliRunner().invoke(data_command, [*command, "--skip-missing", "value"])
    assert "2 rows, 0 bad, 0 out of order, 1 left out without value" in result.output
