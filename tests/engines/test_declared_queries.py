"""Queries generated from declared workloads: their answers, their text, and what has none."""

import numpy as np
import pytest

import streamlab as lab
from streamlab.engines.declared_queries import GENERATED, generated_plan, untranslatable
from streamlab.engines.duckdb.adapter import DuckdbEngine
from streamlab.engines.polars.adapter import PolarsEngine
from streamlab.engines.protocol import default_variant
from streamlab.lab.cli import call
from streamlab.workloads.registry import workload
from tests.engines import declared_values, declared_workloads
from tests.engines.declared_workloads import DECLARED, rows
from tests.engines.separate_environment import ROOT, requires_environment
from tests.examples import examples
from tests.processes import run_python

BUSY = """
import streamlab as lab

def trips(events, seed):
    return {"ts": range(events), "zone": range(events), "price": [1.5] * events}

busy = lab.window(
    "10 min",
    input=trips,
    key="zone",
    where="price > 1 and not (zone == 3)",
    result={"rides": lab.count(), "price": lab.max("price / 2")},
)
first = lab.top(2, by="rides", input=busy)
"""
SQL = """\
WITH step_1 AS (
    SELECT end_ AS ts, "zone", count(*) AS "rides",
        max("price" / 2) AS "price"
    FROM (
        SELECT *, ts - (ts % 600000 + 600000) % 600000 + 600000 AS end_ FROM row_events
        WHERE ("price" > 1) AND (NOT ("zone" = 3))
    )
    WHERE end_ <= (SELECT max(ts) FROM row_events)
    GROUP BY "zone", end_
), step_2 AS (
    SELECT end_ AS ts, rank_ AS rank, "rides", "zone", "price", ts AS at
    FROM (
        SELECT *, row_number() OVER (PARTITION BY end_ ORDER BY "rides" DESC, "zone", "price", ts) AS rank_
        FROM (
            SELECT *, ts - (ts % 600000 + 600000) % 600000 + 600000 AS end_ FROM step_1
        )
        WHERE end_ <= (SELECT max(ts) FROM row_events)
    )
    WHERE rank_ <= 2
)
SELECT "ts", "rank", "rides", "zone", "price", "at"
FROM step_2
ORDER BY ts, rank
"""


def answer_counts(engine: str, variant: str, inputs: int, *names: str) -> dict[str, int]:
    """Run forms on random inputs in another process; return on how many each had an output."""
    words = (declared_workloads.__file__, engine, variant, inputs, *names)
    done = run_python(*words, environ={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(count) for name, count in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(engine, marks=requires_environment(engine), id=engine.name)
        for engine in (DuckdbEngine, PolarsEngine)
    ],
)
def test_every_form_answers_as_the_reference_engine(engine):
    inputs = examples(6)
    counts = answer_counts(engine.name, GENERATED, inputs)
    assert list(counts) == list(DECLARED)
    assert min(counts.values()) >= inputs / 2


@pytest.mark.parametrize(
    ("engine", "variant", "workers"),
    [
        ("reference", "", 1),
        ("multicore", "", 1),
        ("multicore", "", 2),
        pytest.param("duckdb", GENERATED, 1, marks=requires_environment(DuckdbEngine)),
        pytest.param("polars", GENERATED, 1, marks=requires_environment(PolarsEngine)),
    ],
)
def test_values_mean_the_same_on_every_engine(engine, variant, workers):
    done = run_python(
        declared_values.__file__, engine, variant, str(workers), environ={"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def busy(tmp_path):
    """A file of two declared workloads."""
    file = tmp_path / "busy.py"
    file.write_text(BUSY, encoding="utf-8")
    return file


def test_explain_prints_the_query_alone_and_its_cost(busy, capsys):
    assert call(["explain", f"{busy}:first", "--engine", "duckdb"]) == 0
    printed = capsys.readouterr()
    assert printed.out == SQL
    assert "generated from the declaration" in printed.err


def test_explain_prints_flink_sql_with_its_windows(busy, capsys):
    assert call(["explain", f"{busy}:busy", "--engine", "flink"]) == 0
    printed = capsys.readouterr()
    assert "TUMBLE(TABLE row_events, DESCRIPTOR(time_), INTERVAL '10' MINUTE)" in printed.out
    assert "generated from the declaration" in printed.err


def test_explain_prints_python_for_polars(busy, capsys):
    assert call(["explain", f"{busy}:busy", "--engine", "polars"]) == 0
    source = capsys.readouterr().out
    assert '.filter((pl.col("price") > 1) & (~(pl.col("zone") == 3)))' in source
    compile(source, "generated", "exec")


@pytest.mark.parametrize(
    ("engine", "inner", "asof"),
    [
        ("duckdb", "AND r.ts BETWEEN l.ts - 3 AND l.ts + 5", "ASOF LEFT JOIN"),
        ("polars", 'is_between(pl.col("left.ts") - 3,', "left.join_asof("),
        ("flink", "AND r.time_ BETWEEN l.time_ - INTERVAL", "FOR SYSTEM_TIME AS OF l.time_"),
    ],
)
def test_explain_prints_joins(engine, inner, asof, capsys):
    for name, text in (("inner_join", inner), ("asof_join", asof)):
        assert call(["explain", f"{declared_workloads.__file__}:{name}", "--engine", engine]) == 0
        assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("wordcount", "--engine", "duckdb"), 0, "FROM tweet_events"),
        (("wordcount", "--engine", "polars"), 0, "engines.polars.queries.operators:wordcount"),
        (("wordcount", "--engine", "multicore"), 0, "shows no query; it runs"),
        (
            ("wordcount", "--engine", "flink"),
            0,
            "shows no query; it runs DataStream programs",
        ),
        (("wordcount", "--engine", "duck"), 2, "no engine 'duck'"),
        (("wordcoun", "--engine", "duckdb"), 2, "did you mean wordcount"),
        (
            ("wordcount", "--engine", "duckdb", "--variant", "generated"),
            2,
            "declared workloads only",
        ),
        (("parametric", "--engine", "duckdb"), 2, "declared workloads only"),
    ],
)
def test_explain_names_the_code_that_runs_or_the_reason_why_none_does(
    arguments, code, text, capsys
):
    assert call(["explain", *arguments]) == code
    printed = capsys.readouterr()
    assert text in (printed.err if code else printed.out)


@pytest.mark.parametrize("engine", [DuckdbEngine(), PolarsEngine()], ids=lambda engine: engine.name)
def test_a_declared_workload_runs_generated_by_default(engine):
    made = DECLARED["top"]
    chosen = default_variant(engine.variants(), type(made.program), made.name)
    assert chosen.name == GENERATED
    assert chosen.lacks(made) is None
    assert engine.properties(made.name, GENERATED)["PIP3"].holds
    written = workload("wordcount")
    assert default_variant(engine.variants(), type(written.program), written.name).name == "memory"


def declared_with(**changes):
    arguments = {"input": rows, "key": "zone", "result": {"n": lab.count()}, "name": "made"}
    return lab.window("5 ms", **(arguments | changes))


def dear(row):
    return row.price > 30


def reserved(events, seed):
    return {"ts": np.arange(events), "src": np.arange(events), "Row": np.arange(events)}


SIDE = lab.arrays({"at": [1], "a": [1], "b": [2]}, ts="at", time_format="ms")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            declared_with(where=dear),
            "cannot translate the Python functions of made; use named aggregates",
        ),
        (declared_with(result={"s": lab.sum("price", exact=True)}), "drop exact=True"),
        (lab.deduplicate(key="src", input=reserved, name="made"), "columns={'place': 'Row'}"),
        (
            lab.join(SIDE, SIDE, on="a", how="asof", select={"src": "left.b"}, name="made"),
            "rename the table's column, or select it by another name than src",
        ),
    ],
)
def test_functions_without_a_translation_are_refused_with_a_remedy(made, reason):
    assert reason in untranslatable(made)


def test_a_sum_of_whole_numbers_can_be_exact():
    assert untranslatable(declared_with(result={"s": lab.sum("amount", exact=True)})) is None


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("sliding", "sliding copies each row into its 5 windows"),
        ("unkeyed", "unkeyed adds floats one by one, in the order of the rows"),
        ("count_window", "count_window sorts the values of each window for a percentile"),
        ("left_join", "left_join compares all rows of equal columns, however far apart in time"),
        ("deduplicate_within", "deduplicate_within finds the rows of a key that leave one after"),
    ],
)
def test_the_plan_names_parts_that_are_slow_because_generated(name, cost):
    assert cost in generated_plan(DECLARED[name].declaration)
    assert "faster" not in generated_plan(DECLARED["top"].declaration)
