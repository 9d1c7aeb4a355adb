"""A workload of one's own: a program and where its input comes from, the rest inferred."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamlab import arrays, csv
from streamlab import workload as own
from streamlab.lab.cli.commands.data import origin_words
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.datasets.remedy import rebuild_command
from streamlab.workloads.model import ModelError, Workload
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.workload import ORACLE, REFERENCE
from streamlab.workloads.registry import workload
from tests.examples_folder import sensors
from tests.processes import run_python

COUNTER = workload("keyed_counter").program
WINDOW = workload("event_window").program
WORDS = workload("wordcount").program
ONE_ROW = {"ts": [1], "key": ["a"], "kind": ["increment"]}


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "catalogue"))
    return Catalog.default()


def made(subject: Workload, catalog: Catalog, events: int = 1000, **params: object):
    return ensure(subject, params, events, 1, catalog=catalog)


def counted(events, seed, sensors=3):
    chance = np.random.default_rng(seed)
    kinds = np.array(["increment", "read_reset"])
    return {
        "ts": np.arange(events),
        "key": chance.integers(0, sensors, events),
        "kind": kinds[(np.arange(events) % 10 == 9).astype(int)],
    }


def rows_of(events, seed):
    for index in range(events):
        kind = "read_reset" if index % 10 == 9 else "increment"
        yield {"ts": index, "key": index % 2, "kind": kind}


def test_the_shortest_file_is_a_workload_with_everything_else_inferred(
    tmp_path: Path, catalog: Catalog
):
    subject = workload(str(sensors(tmp_path)))
    assert (subject.name, subject.title, subject.paper) == ("sensors", "program sensors", "")
    assert (subject.output.key_field, subject.checked_by) == ("key", REFERENCE)
    dataset = made(subject, catalog)
    assert dataset.events == 3000 and dataset.workload == "sensors"
    assert dataset.alphabet.keys == 20
    remedy = rebuild_command(dataset)
    command = "lab data import table --file sensors.csv --workload REFERENCE --streams 1"
    assert command in remedy and "file or module:ATTRIBUTE of workload sensors" in remedy
    assert "table --file a --workload event_window " in rebuild_command(
        replace(
            dataset, workload="event_window", origin={**dataset.origin, "files": [{"name": "a"}]}
        )
    )
    answer = expected(subject, dataset)
    right = answer_of(subject.program, dataset.load())
    assert {name: values.tolist() for name, values in answer.items()} == {
        name: values.tolist() for name, values in right.items()
    }


def test_declared_attributes_are_taken():
    output = replace(workload("event_window").output, sorted=True)
    oracle = workload("event_window").oracle
    found = own(WINDOW, input=counted, name="n", title="t", paper="p", oracle=oracle, output=output)
    assert (found.name, found.title, found.paper) == ("n", "t", "p")
    assert (found.oracle, found.output, found.checked_by) == (oracle, output, ORACLE)
    counting = own(WORDS.operators[0], input=arrays({"ts": [1]}, ts="ts"), name="w")
    assert counting.program.operators == WORDS.operators


def test_a_function_makes_the_input_with_parameters_of_its_own(catalog: Catalog):
    subject = own(COUNTER, input=counted, name="c")
    dataset = made(subject, catalog)
    assert dataset.events == 1000 and dataset.alphabet.keys == 3
    assert origin_words(dataset) == "generated: sensors=3 seed=1"
    remedy = "make it again with `lab data build` and the file that has workload c"
    assert rebuild_command(dataset) == remedy
    assert made(subject, catalog, sensors=9).alphabet.keys == 9
    said = catalog.restate(dataset, "our sensors", None)
    assert (said.source, said.licence) == ("our sensors", "not stated")
    assert made(subject, catalog) == said
    another = own(COUNTER, input=lambda events, seed: counted(events, seed), name="c")
    assert (
        made(another, catalog) == said
    )  # the same content, and a program's word is not a person's
    assert ensure(subject, {}, 1000, 2, catalog=catalog).id != dataset.id
    with pytest.raises(ModelError, match="has no parameter sensor; it has sensors"):
        made(subject, catalog, sensor=9)


def test_a_function_may_yield_rows(catalog: Catalog):
    dataset = made(own(COUNTER, input=rows_of, name="c"), catalog, events=40)
    assert dataset.events == 40
    assert sum(len(stream) for stream in dataset.load().streams) == 40


def edited(**globals_: object):
    """Return a function whose text is the same and which reads something else."""
    text = (
        "def made(events, seed):\n"
        "    return {'ts': np.arange(events), 'key': np.full(events, FIRST + seed),"
        " 'kind': np.full(events, 'increment')}\n"
    )
    namespace = {"np": np, "FIRST": 0, "__name__": "somewhere", **globals_}
    exec(text, namespace)
    return namespace["made"]


def test_an_edited_function_never_meets_its_earlier_input(catalog: Catalog):
    first = made(own(COUNTER, input=edited(), name="c"), catalog, events=10)
    assert made(own(COUNTER, input=edited(), name="c"), catalog, events=10).id == first.id
    assert made(own(COUNTER, input=edited(FIRST=7), name="c"), catalog, events=10).id != first.id


def test_an_edited_program_never_meets_the_answer_of_before(tmp_path: Path, catalog: Catalog):
    path = sensors(tmp_path)
    before = expected(workload(str(path)), made(workload(str(path)), catalog))
    path.write_text(path.read_text().replace("+= event.value", "+= 2 * event.value"))
    after = expected(workload(str(path)), made(workload(str(path)), catalog))
    assert (after["total"] == 2 * before["total"]).all() and before["total"].any()


def test_the_function_that_makes_the_input_counts_for_the_code_of_its_workload():
    codes = [own(COUNTER, input=i, name="c").code() for i in (edited(), edited(), edited(FIRST=7))]
    assert codes[0] == codes[1] != codes[2]


def test_a_file_is_known_by_its_content_and_never_by_its_path(tmp_path: Path, catalog: Catalog):
    here, there = sensors(tmp_path / "here"), sensors(tmp_path / "there")
    first = made(workload(str(here)), catalog)
    assert made(workload(str(there)), catalog).id == first.id
    data = there.with_name("sensors.csv")
    data.write_text(data.read_text().replace(",1", ",2", 1))
    assert made(workload(str(there)), catalog).id != first.id


def test_loading_a_declaration_reads_no_data_and_imports_nothing_heavy(tmp_path: Path):
    path = sensors(tmp_path, rows=10)
    path.with_name("sensors.csv").unlink()
    script = (
        "import json, sys\nfrom streamlab.workloads.registry import workload\n"
        "workload(sys.argv[1]).code()\n"
        "heavy = ('pandas', 'pyarrow', 'polars', 'pyspark', 'numba', 'scipy', 'hypothesis')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    said = run_python("-c", script, str(path), check=True)
    assert json.loads(said.stdout) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"program": 5}, r"the program is a int; give a DGSProgram"),
        ({"program": workload("wordcount")}, r"the program is a Workload; give a DGSProgram"),
        ({"input": "sensors.csv"}, r"input is a str; give a table, such as csv\("),
        (
            {"input": lambda events: {}},
            r"called as .*\(events, seed\), but it has no parameter seed",
        ),
        (
            {"input": lambda events, seed, how: {}},
            r"give its parameter how a number or a text as default",
        ),
        ({"inputs": 5}, r"lab.workload: there is no argument 'inputs'; did you mean input\? `help"),
        ({"key_field": "page"}, r"key_field is 'page', which is not a field of the output"),
    ],
)
def test_arguments_of_another_type_are_refused(given, expected):
    with pytest.raises(ModelError, match=expected):
        own(**{"program": COUNTER, "input": counted, "name": "c", **given})


def raising(events, seed):
    raise RuntimeError("no sensors today")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (raising, r"the input of .* cannot be made: RuntimeError: no sensors today, in raising"),
        (lambda events, seed: 5, r"returned 5; it must return columns by name, or yield rows"),
        (
            lambda events, seed: {"ts": [1], "key": [1]},
            r"kind is 'kind', which is neither a column \(ts, key\)",
        ),
        (lambda events, seed: {"ts": [1], "key": [1, 2]}, r"not equally long: ts 1, key 2"),
    ],
)
def test_a_function_that_makes_no_input_is_an_error_with_the_reason(function, expected, catalog):
    with pytest.raises(DatasetError, match=expected):
        made(own(COUNTER, input=function, name="c"), catalog)


def test_a_column_that_is_missing_is_an_error_with_place_and_remedy(tmp_path: Path, catalog):
    path = sensors(tmp_path, rows=10)
    path.write_text(path.read_text().replace('ts="time"', 'ts="clock"'))
    with pytest.raises(DatasetError, match=r"sensors.csv: no column clock for ts.* time, sensor"):
        made(workload(str(path)), catalog)


def test_an_error_in_a_declaration_names_the_line_of_the_file(tmp_path: Path):
    path = sensors(tmp_path, rows=10)
    path.write_text(path.read_text().replace('ts="time"', 'streams=-1, ts="time"'))
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "streams=-1" in line)
    with pytest.raises(ModelError, match=rf"streams is -1; give 1 to .*, in {path}:{number}"):
        workload(str(path))


def test_tables_in_memory_are_taken_as_they_are(catalog: Catalog):
    subject = own(COUNTER, input=arrays(ONE_ROW, ts="ts", key="key", kind="kind"), name="c")
    assert made(subject, catalog).events == 1
    assert isinstance(csv("x.csv", ts="t"), type(subject.source))


def test_a_program_that_raises_is_reported_with_its_line(tmp_path: Path, catalog: Catalog):
    path = sensors(tmp_path, rows=10)
    path.write_text(path.read_text().replace("+= event.value", "+= 1 // 0"))
    subject = workload(str(path))
    data = made(subject, catalog).load()
    with pytest.raises(ModelError, match=r"sensors raised ZeroDivisionError.*in update \(.*sens"):
        subject.oracle(data)
