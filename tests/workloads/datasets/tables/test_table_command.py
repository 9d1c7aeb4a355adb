"""`lab data import table`, as it is typed."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from streamlab.lab.cli.data import data
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.tables.constructors import table_of_files
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import workload
from tests.workloads.datasets.tables.programs import text


def imported(root: Path, *arguments: str) -> Result:
    command = ["import", "table", *arguments, "--root", str(root)]
    return CliRunner().invoke(data, command, catch_exceptions=False)


def shown(root: Path, result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    command = ["show", result.stdout.strip(), "--json", "--root", str(root)]
    found = json.loads(CliRunner().invoke(data, command, catch_exceptions=False).stdout)
    assert isinstance(found, dict)
    return found


SHOP = ("Invoice,When,Customer", "1,12/1/10 8:26,ann", "2,12/1/10 8:28,bob", "3,12/1/10 8:27,ann")
COUNTED = ("--workload", "keyed_counter", "--columns", "ts=When,key=Customer,kind=increment")


def test_an_export_becomes_the_input_of_a_workload(tmp_path: Path):
    file = text(tmp_path / "shop.csv", *SHOP)
    arguments = ("--time-format", "%m/%d/%y %H:%M", "--zone", "Europe/London", "--streams", "2")
    result = imported(tmp_path / "data", "--file", str(file), *COUNTED, *arguments)
    found = shown(tmp_path / "data", result)
    assert "3 rows, 0 bad, 1 out of order, so all rows were sorted" in result.stderr
    assert "no row has kind read_reset" in result.stderr
    assert "2010-12-01 08:26:00 to 2010-12-01 08:28:00 UTC" in result.stderr
    assert "those of Europe/London where they name no zone" in result.stderr
    assert (found["workload"], found["events"]) == ("keyed_counter", 3)
    assert (found["source"], found["licence"]) == ("not stated", "not stated")
    streams = found["streams"]
    assert isinstance(streams, list)
    assert [stream["rows"] for stream in streams] == [2, 1, 0]


@pytest.mark.parametrize(
    ("odd", "says", "left_out"),
    [
        ("1536507917123000", "looks like microseconds since 1970", 1),
        ("99999999999999999999999", "is too large for a time in any unit", 1),
    ],
)
@pytest.mark.parametrize("at", [0, 2])
def test_a_time_of_another_unit_is_refused_or_left_out(
    odd: str, says: str, left_out: int, at: int, tmp_path: Path
):
    times = ["1536507914000", "1536507915000", "1536507918000"]
    times.insert(at, odd)
    file = text(tmp_path / "a.csv", "t,value", *(f"{time},1" for time in times))
    command = ("--workload", "event_window", "--columns", "ts=t,kind==value", "--file", str(file))
    with pytest.raises(DatasetError, match=f"row {at + 2}, column t: {odd} {says}"):
        imported(tmp_path / "data", *command)
    result = imported(tmp_path / "data", *command, "--max-bad", "1")
    assert f"3 rows, {left_out} bad" in result.stderr
    assert "2018-09-09 15:45:14 to 2018-09-09 15:45:18 UTC" in result.stderr


def test_the_span_of_times_is_printed_as_dates_and_a_long_one_is_warned_of(tmp_path: Path):
    root = tmp_path / "data"
    for number, (times, dates, warned) in enumerate(
        [
            ((0, 1, 2), "0 to 2 ms, 1970-01-01 00:00:00 to 1970-01-01 00:00:00 UTC", False),
            ((-1, 5000), "-1 to 5000 ms, 1969-12-31 23:59:59 to 1970-01-01 00:00:05 UTC", False),
            ((0, 1536507917123000), "1970-01-01 00:00:00 to 50659-12-31 10:45:23 UTC", True),
        ]
    ):
        file = text(tmp_path / f"{number}.csv", "t,value", *(f"{time},1" for time in times))
        command = ("--workload", "event_window", "--columns", "ts=t,kind==value")
        result = imported(root, *command, "--file", str(file), "--time-format", "ms")
        assert dates in result.stderr
        assert ("warning: event time spans 48,690 years" in result.stderr) == warned
        shown_again = CliRunner().invoke(data, ["show", result.stdout.strip(), "--root", str(root)])
        assert f"span      event time from {times[0]} to " in shown_again.output
        assert dates in shown_again.output


def test_times_in_an_hour_that_came_twice_are_counted(tmp_path: Path):
    file = text(tmp_path / "a.csv", "t,value", "2010-10-31 02:30:00,1", "2010-10-31 03:30:00,1")
    command = ("--workload", "event_window", "--columns", "ts=t,kind==value", "--file", str(file))
    result = imported(tmp_path / "data", *command, "--zone", "Europe/Berlin")
    said = "1 times are ambiguous, as the clock of Europe/Berlin was set back, and are read as the earlier one, e.g. "
    assert f"{said}2010-10-31 02:30:00 (a.csv: row 2)" in result.stderr


def test_the_last_source_and_licence_hold(tmp_path: Path):
    file = text(tmp_path / "shop.csv", *SHOP)
    command = ("--file", str(file), *COUNTED, "--time-format", "%m/%d/%y %H:%M")
    for options, expected in (
        (("--source", "our shop", "--licence", "ours"), ("our shop", "ours")),
        (("--licence", "theirs"), ("our shop", "theirs")),
        ((), ("our shop", "theirs")),
    ):
        found = shown(tmp_path / "data", imported(tmp_path / "data", *command, *options))
        assert (found["source"], found["licence"]) == expected


def test_a_column_whose_name_holds_a_comma_stands_in_quotes(tmp_path: Path):
    file = text(tmp_path / "a.csv", 't,"Temp, C"', "1,20")
    columns = 'ts=t,"value=Temp, C",kind==value'
    arguments = ("--workload", "event_window", "--file", str(file), "--columns", columns)
    assert shown(tmp_path / "data", imported(tmp_path / "data", *arguments))["events"] == 1
    for nothing in ("", "ts=t,"):
        result = imported(tmp_path / "data", *arguments[:-1], nothing)
        assert (result.exit_code, "is not ROLE=COLUMN" in result.output) == (2, True)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow"])
def test_the_beginning_of_a_file_tells_its_form(tmp_path: Path, name: str):
    table = pa.table({"t": [1], "value": [2]})
    path = tmp_path / "without a suffix"
    if name == "a.csv":
        text(path, "t,value", "1,2")
    elif name == "a.parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    arguments = ("--workload", "event_window", "--columns", "ts=t,kind==value")
    assert shown(tmp_path / "data", imported(tmp_path / "data", "--file", str(path), *arguments))


def test_a_field_that_is_called_as_a_role_is_the_field():
    parametric = workload("parametric").program
    roles = {"ts": "t", "key": "who"}
    table = table_of_files(["a.csv"], "csv", parametric, roles)
    assert (table.key, dict(table.columns)) == (None, {"key": "who"})
    counter = workload("keyed_counter").program
    table = table_of_files(["a.csv"], "csv", counter, roles)
    assert (table.key, dict(table.columns)) == ("who", {})


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (("--columns", "ts=a", "--columns", "ts=b"), "'ts=b': ts occurs twice"),
        (("--columns", "ts=t", "--zone", "UTC", "--zone", "UTC"), "--zone is set 2 times"),
        (("--columns", "ts=t", "--streams", "1", "--streams=2"), "--streams is set 2 times"),
    ],
)
def test_repeated_options_are_refused(tmp_path: Path, message: tuple[str, ...], words: str):
    result = imported(tmp_path, "--workload", "event_window", "--file", "a.csv", *message)
    assert result.exit_code == 2
    assert words in result.output


def test_impossible_arguments_are_refused_before_anything_is_read(tmp_path: Path):
    def refused(*said: str) -> str:
        with pytest.raises((DatasetError, ModelError)) as error:
            imported(tmp_path / "data", "--file", str(tmp_path / "no.csv"), *said)
        return str(error.value)

    join = ("--workload", "scale_join", "--columns", "ts=t,kind=k", "--format", "csv")
    assert "takes one stream of each kind" in refused(*join, "--streams", "2")
    assert "streams is 0; give 1 to 1024" in refused(*join, "--streams", "0")
    assert "does not name the column of times" in refused(*join[:2], "--columns", "kind=k")
    assert "no workload" in refused("--workload", "no_such", "--columns", "ts=t")
    assert "no.csv: no such file" in refused(*join)
    assert not (tmp_path / "data").exists()


def test_of_many_files_the_first_are_named(tmp_path: Path):
    for number in range(7):
        text(tmp_path / f"{number}.csv", "t,value", f"{number},1")
    arguments = ("--workload", "event_window", "--columns", "ts=t,kind==value")
    root = tmp_path / "data"
    imported(root, *arguments, "--file", str(tmp_path / "*.csv"))
    listed = CliRunner().invoke(data, ["list", "--root", str(root)]).output
    assert "import table: 0.csv, 1.csv, 2.csv, 3.csv, 4.csv, and 2 more" in listed


def test_a_damaged_dataset_of_a_table_names_the_table(tmp_path: Path):
    file = text(tmp_path / "shop.csv", *SHOP)
    root = tmp_path / "data"
    arguments = ("--time-format", "%m/%d/%y %H:%M", "--source", "our shop")
    found = shown(root, imported(root, "--file", str(file), *COUNTED, *arguments))
    (root / str(found["id"])[:16] / "read_reset.parquet").write_bytes(b"no")
    result = CliRunner().invoke(data, ["verify", "--root", str(root)])
    assert "lab data import table --file shop.csv --workload keyed_counter" in result.output
    assert "--source 'our shop' (and the columns" in result.output
