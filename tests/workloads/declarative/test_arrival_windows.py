"""Windows of arrival time are declared like others, unless no total would show that each row counts once."""

import pytest

import streamlab as lab
from streamlab.lab.cli import EXIT_OK, call
from streamlab.workloads.datasets.oracle_cache import expected, expected_rows
from streamlab.workloads.model import ModelError, ProgramError, Query
from tests.workloads.declarative.arrival_workloads import arrival_windows, dataset_of
from tests.workloads.declarative.declared_runs import random_rides, table_of

COUNT = {"rides": lab.count()}


def test_the_program_has_the_unit_of_its_times_and_flushes_its_end():
    subject = arrival_windows()
    assert (subject.program.arrival_tick_ns, subject.program.at_end) == (1_000_000, "flush")
    assert subject.checked_by == "invariants"


@pytest.mark.parametrize(
    ("meaning", "words"),
    [
        ({"time": "processing"}, "time is 'processing'; give event or arrival"),
        ({"result": {"price": lab.mean("price")}}, r"no lab.count\(\) counts the rows"),
        ({"result": COUNT | {"bikes": lab.distinct("bike", most=40)}}, "distinct has no total"),
        ({"size": "10 ms", "every": "4 ms"}, "the size is not a multiple of every"),
        ({"where": lambda ride: ride.paid}, "where is a function; give an expression"),
        ({"where": "ts > 5"}, "an expression reads ts"),
        ({"result": COUNT | {"last": lab.max("ts")}}, "an expression reads ts"),
        ({"allowed_lateness": "1 s"}, "allowed_lateness is given"),
        (
            {"input": table_of(random_rides(1), out_of_order="5 s", late="keep")},
            'input has late rows; give late="drop"',
        ),
        (
            {"input": lab.select(["bike"], input=table_of(random_rides(1)))},
            "input is a declared workload; give a table",
        ),
    ],
)
def test_a_declaration_without_totals_is_refused(meaning, words):
    arguments = {"size": "10 ms", "input": table_of(random_rides(1)), "result": COUNT}
    arguments |= {"time": "arrival"} | meaning
    with pytest.raises(ModelError, match=words):
        lab.window(arguments.pop("size"), **arguments)


def test_a_class_gives_no_totals():
    with pytest.raises(ModelError, match=r"no lab.count\(\) counts the rows"):
        lab.window("10 ms", time="arrival", input=table_of(random_rides(1)))


def test_no_step_reads_windows_of_arrival_time():
    with pytest.raises(ModelError, match="nothing reads them"):
        lab.top(3, by="rides", input=arrival_windows())


def test_written_queries_have_event_times():
    query = arrival_windows().program
    with pytest.raises(ModelError, match="the lab can only check answers of declared"):
        lab.workload(query, input=table_of(random_rides(1)))
    with pytest.raises(ProgramError, match="at_end = 'flush', and one operator"):
        Query(name="twice", operators=query.operators * 2, at_end="flush", arrival_tick_ns=1)


def test_totals_have_one_row_per_key_and_are_no_expected_rows(tmp_path):
    subject, rides = arrival_windows(), random_rides(1)
    dataset = dataset_of(subject, tmp_path)
    counted = rides[rides.duration > 60].groupby("station").size()
    for _ in ("computed", "stored"):
        totals = expected(subject, dataset)
        assert sorted(totals["rides"].tolist()) == sorted(counted.tolist())
        assert expected_rows(subject, dataset) is None


def test_its_laws_can_be_checked(tmp_path, capsys):
    path = tmp_path / "arrivals.py"
    path.write_text(
        "from tests.workloads.declarative.arrival_workloads import arrival_windows\n"
        "arrivals = arrival_windows()\n"
    )
    assert call(["check", f"{path}:arrivals"]) == EXIT_OK
    assert "holds  flush for arrivals" in capsys.readouterr().out
