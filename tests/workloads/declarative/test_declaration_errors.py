"""A wrong declaration is refused with its place, what was expected, and the remedy."""

from pathlib import Path

import numpy as np
import pytest

import streamlab as lab
from streamlab.lab.errors import LabError
from streamlab.workloads.declarative.state_functions import bin_of
from streamlab.workloads.declarative.windows import clock_note
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import workload
from tests.workloads.declarative.declared_runs import random_rides, table_of

RIDES = table_of(random_rides(1, rows=20))
HEAD = """\
import streamlab as lab

rides = lab.csv("rides.csv", ts="at")

"""
CLASS = """\
@lab.window("15 min", key="station", input=rides)
class Rides:
    count: int
    minutes: float

    def add(self, ride):
        self.count += 1
        self.minutes += ride.duration / 60

    def result(self):
        return {"rides": self.count, "mean": self.minutes / self.count}
"""


def file_of(folder: Path, text: str) -> str:
    random_rides(1, rows=50).to_csv(folder / "rides.csv", index=False)
    (folder / "rides.py").write_text(HEAD + text)
    return str(folder / "rides.py")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("def add(self, ride):", "def plus(self, ride):", r"class Rides has no add; write def add"),
        (
            "ride.duration",
            "ride.duraton",
            r"rides.py:12\): .* no column 'duraton'; did you mean dur",
        ),
        (
            "ride.duration / 60",
            "len(ride)",
            r"rides.py:12\): ride is used without the name of a col",
        ),
        (
            "count: int",
            "count: list",
            r"field count is of type list; the state of a window has int, ",
        ),
        ("count: int", "key: int", r"field key has a reserved name"),
        (
            "self.count += 1",
            "self.cuont += 1",
            r"self.cuont is not a field .* did you mean count\?",
        ),
        (
            'return {"rides"',
            'return dict(rides=1) or {"rides"',
            r"rides.py:15\): returns dict\(rides=1",
        ),
        (
            "15 min",
            "15 fortnights",
            r"size of the window is '15 fortnights'; give a duration such as",
        ),
        ("15 min", "0.5 ms", r"not a multiple of 1 ms, .* unit='us'"),
        (
            '"station"',
            '"staton"',
            r"rides.py:5\): key: table rides.csv has no column 'staton'; did",
        ),
        ('"station"', '"price"', r"key is price, a column of floats"),
        ('"rides": self', '"station": self', r"column 'station', which is there twice"),
        ("ride.duration", "(ride.station == 'Broadway')", r"station holds texts, .* is never true"),
        ("ride.duration", "(ride.station in ('A', 'B'))", r"station holds texts, .* is never true"),
        ("self.count += 1", "self.help()", r"self.help is not a field of the state"),
        (
            "window(",
            "windw(",
            r"has no attribute 'windw'; did you mean window\?, in .*rides\.py:5",
        ),
        ("key=", "kye=", r"there is no argument 'kye'; did you mean key\?"),
        ("ts=", "kind='=x', ts=", r"has key= or kind="),
        ("rides.csv", "bikes.csv", r"bikes.csv: no such file"),
        (
            'ts="at"',
            'ts="duration"',
            r"column duration of table rides.csv holds the times; read it as",
        ),
    ],
)
def test_a_class_that_declares_no_window(before, after, message, tmp_path):
    path = file_of(tmp_path, CLASS)
    text = Path(path).read_text()
    assert before in text
    Path(path).write_text(text.replace(before, after, 1))
    with pytest.raises(ModelError, match=message):
        workload(path)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "count: int",
            "count: int = 1.5",
            "default of count is 1.5; give a whole number of 64 bits",
        ),
        (
            "count: int",
            "count: int = 1 << 63",
            "default of count is 9223372036854775808; give a whole",
        ),
        ("count: int", "count: int = None", "default of count is None; give a whole number of 64"),
        ("minutes: float", "minutes: float = 'x'", "default of minutes is 'x'; give a number"),
        ("minutes: float", "minutes: float\n    open: bool = 2", "open is 2; give True or False"),
    ],
)
def test_a_default_that_its_type_does_not_hold(before, after, message, tmp_path):
    path = file_of(tmp_path, CLASS.replace(before, after, 1))
    with pytest.raises(ModelError, match=message):
        workload(path)


@pytest.mark.parametrize(
    "form", ['window("1 h"', 'session("1 h"', "count_window(3"], ids=["window", "session", "count"]
)
def test_a_window_without_result_and_class_says_so_wherever_it_is_used(form, tmp_path):
    path = file_of(tmp_path, f"hourly = lab.{form}, input=rides)\n")
    message = rf"lab\.{form.partition('(')[0]} \(.*rides.py:5\) has no result; give result="
    for reference in (path, f"{path}:hourly"):
        with pytest.raises(ModelError, match=message):
            workload(reference)
    Path(path).write_text(
        Path(path).read_text() + 'top = lab.deduplicate(key="bike", input=hourly)\n'
    )
    with pytest.raises(ModelError, match=rf"deduplicate .*input is not complete: {message}"):
        workload(path)


@pytest.mark.parametrize(
    ("size", "zone", "notes"),
    [
        ("1 d", "America/New_York", True),
        ("1 h", "America/New_York", False),
        ("1 h", "Asia/Kolkata", True),
        ("1 d", "Europe/London", True),  # in summer
        ("1 d", "UTC", False),
    ],
)
def test_windows_that_do_not_begin_by_the_clock_of_the_zone_have_a_note(size, zone, notes):
    table = lab.arrays({"at": ["2026-01-01 10:00"], "bike": [1]}, ts="at", zone=zone)
    result = {"n": lab.count()}
    made = lab.window(size, input=table, result=result, name="made")
    note = clock_note(made)
    assert (note is not None) == notes
    assert note is None or f"clock of UTC, not of {zone}" in note
    assert clock_note(lab.session(size, input=table, result=result, name="made")) is None


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({}, "give aggregates by output column"),
        ({"n": 3}, r"result has 3 for n; give an aggregate, such as lab.count"),
        ({"n": lab.sum("duration +")}, "is not an expression"),
        ({"n": lab.sum("abs(duration)")}, r"abs\(duration\) is not understood|no column 'abs'"),
        ({"n": lab.sum("station")}, "column station holds texts, which have no numbers"),
        (
            {"n": lab.sum("station < 'Broadway'")},
            r"texts have no order; compare them by ==, != or in",
        ),
        (
            {"n": lab.sum("station == 3")},
            "column station holds texts; compare it with a text in quo",
        ),
        (
            {"n": lab.sum("bike in (1, '2')")},
            "bike holds no texts; compare it with a number, or decl",
        ),
        ({"n": lab.sum("station")}, "compare it with a text in quotes, or use it as a key"),
        ({"n": lab.sum("'x'")}, "'x' is a text where a number is expected"),
        (
            {"n": lab.sum("bike in duration")},
            r"`in` needs a list of values, such as `in \(1, 2\)`",
        ),
        ({"n": lab.sum("bike is 3")}, "bike is 3 is not understood"),
        ({"n": lab.sum("bike // 3")}, "bike // 3 is not understood"),
        ({"n": lab.sum("bike / (2 - 2)")}, r"bike / \(2 - 2\) divides by zero"),
        ({"n": lab.sum("bike + 9223372036854775808")}, r"is beyond 64 bits; write it as a float"),
        ({"n": lab.distinct("price")}, "column price is float64; expected whole numbers or texts"),
        ({"n": lab.sum("durations")}, "no column 'durations'; did you mean duration"),
        *(({name: lab.count()}, "names of fields are") for name in ("no name", "class", "_n", 1)),
    ],
)
def test_aggregates_that_do_not_fit(result, message):
    with pytest.raises(ModelError, match=message):
        lab.window("1 min", input=RIDES, result=result)


@pytest.mark.parametrize(
    "name", ["class", "start station", "_bike", "\ufb01eld", "tag", 'bike), print("read"']
)
@pytest.mark.parametrize(
    "declare",
    [
        lambda name, rows: lab.window("1 min", input=rows, result={"n": lab.distinct(name)}),
        lambda name, rows: lab.deduplicate(key=name, input=rows),
        lambda name, rows: lab.top(1, by=name, size="1 min", input=rows),
    ],
)
def test_a_column_that_no_program_can_read_gets_another_name(declare, name):
    with pytest.raises(ModelError, match=r"another name.*columns=") as raised:
        declare(name, lab.arrays({"at": [1, 2], "bike": [1, 2], name: [1, 2]}, ts="at"))
    assert name in str(raised.value)


def test_a_table_may_describe_columns_that_are_not_read():
    table = lab.arrays(
        {"at": [1, 2], "start station": ["a", "b"], "paid": [1.5, 2], "seats": [1, 2]},
        ts="at",
        columns={"station": "start station", "price": "paid"},
        ids=["station"],
        fill={"seats": 1, "price": 2, "bik": 3},
        scale={"price": 100},
        derive={"is_a": ("start station", lambda text: text == "a")},
    )
    made = lab.window("1 min", input=table, result={"n": lab.sum("seats")}, name="seats")
    assert (made.source.columns, made.source.ids, made.source.derive) == ({}, (), {})
    assert (made.source.fill, made.source.scale) == ({"seats": 1, "bik": 3}, {})


def test_digits_after_a_leading_zero_are_a_text():
    table = lab.arrays({"at": [1, 2], "zip": ["00501", "10011"]}, ts="at")
    made = lab.window("1 min", key="zip", input=table, result={"n": lab.count()}, name="zips")
    assert made.declaration.column("zip").dictionary == "zip"


def test_a_decimal_comma_makes_a_number():
    table = lab.arrays({"at": [1, 2], "price": ["1,5", "2"]}, ts="at", decimal=",")
    made = lab.window("1 min", input=table, result={"sum": lab.sum("price")}, name="prices")
    assert made.declaration.column("sum").dtype == np.float64


def test_infinity_is_the_largest_value_of_a_histogram():
    bins = {"steps": 2, "lowest": 0, "octaves": 20, "high": 1e6}
    assert bin_of(np.inf, **bins) == bin_of(1e6 + 1, **bins) > bin_of(1e6, **bins)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: lab.distinct("bike", most=0), r"most is 0; give 1 to"),
        (lambda: lab.percentile("price", 101), "give a number above 0, at most 100"),
        (lambda: lab.percentile("price", 50, error=0.0001, high=1e300), "counters per window"),
        (lambda: lab.window("1 min", every="2 min", input=RIDES), "more than the size"),
        (lambda: lab.window("1 min", input=3), "input is 'int'; give a table .* lab.frame"),
        (lambda: lab.count("price"), "lab.count: it takes no arguments, got 1"),
        (lambda: lab.select({"one": 1}, input=RIDES), "column one is 1; give an expression"),
        (
            lambda: lab.session(
                "1 min",
                input=lab.window("1 min", input=RIDES, result={"n": lab.count()}, name="rides"),
                result={"n": lab.count()},
            ),
            "makes sessions of rides, which is windows of time; .* read the input of rides",
        ),
        (
            lambda: lab.top(
                1,
                by="n",
                input=lab.session("1 min", input=RIDES, result={"n": lab.count()}, name="visits"),
            ),
            "makes windows of time of visits, which is sessions",
        ),
        (lambda: lab.count_window(0, input=RIDES), "rows is 0; give a whole number"),
        (lambda: lab.top(3, by="price", input=RIDES), "give the size of the window"),
        (lambda: lab.top(3, by="station", size="1 h", input=RIDES), "not a column of numbers"),
        (lambda: lab.alert("price", lasting="1 min", input=RIDES), "compare it, such as"),
        (lambda: lab.flat_map(lambda ride: 3, most=2, input=RIDES), "write def, with yield for"),
        (lambda: lab.flat_map(len, most=0, input=RIDES), "most is 0; give a whole number"),
        (
            lambda: lab.flat_map("x", most=1, input=RIDES),
            r"function is 'x'; write it as a function",
        ),
        (lambda: lab.select([], input=RIDES), "name at least one column"),
        (lambda: lab.select(["bikes"], input=RIDES), "no column 'bikes'; did you mean bike"),
        (lambda: lab.window("1 min", where="price", input=RIDES, result={}), "compare it, such as"),
        (
            lambda: lab.window(
                "1 min",
                input=lab.session("1 min", input=RIDES, result={"n": lab.count()}, name="visits"),
                result={"n": lab.count()},
            ),
            "makes windows of time of visits, which is sessions; .* end with a step on rows",
        ),
    ],
)
def test_other_declarations(declare, message):
    with pytest.raises(ModelError, match=message):
        declare()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return {'bike': ride.bike}", r"rides.py:6\): returns .*; yield each row: yield {"),
        ("yield 3", r"rides.py:6\): yields 3; yield a dictionary, written with its keys"),
        (
            "yield from [{'bike': ride.bike}]",
            r"yield from .* is not a row; write a statement such as",
        ),
        ("n = yield {'bike': ride.bike}", "is not a row; write a statement such as"),
        ("pass", "yields no dictionary; yield the output columns by name"),
        ("yield {'ts': ride.ts}", "a column 'ts', which is there twice"),
        ("yield {'bike': ride.bik}", "no column 'bik'; did you mean bike"),
        (
            "yield {'bike': hash(ride.bike) if ride else 1}",
            "ride is used without the name of a col",
        ),
        ("yield {'x': ride.bike}; yield {'y': ride.bike}", "yield one with the keys x"),
        (
            "yield {'x': ride.station}; yield {'x': ride.bike}",
            "x is a number and a text of station; yield texts only, each from a column",
        ),
        ("yield {'x': str(ride.bike)}", "the type of x is not clear; give int"),
    ],
)
def test_a_function_that_yields_no_rows(body, message, tmp_path):
    text = f"def rows(ride):\n    {body}\n\nmade = lab.flat_map(rows, most=2, input=rides)\n"
    with pytest.raises(ModelError, match=message):
        workload(file_of(tmp_path, text))


def test_a_file_with_several_workloads_names_them(tmp_path):
    path = file_of(tmp_path, CLASS + CLASS.replace("class Rides", "class Others"))
    with pytest.raises(
        ModelError, match=r"defines 2 workloads; .* rides.py:Rides, rides.py:Others"
    ):
        workload(path)
    assert workload(f"{path}:Others").name == "others"


def test_mistakes_in_outputs_are_named(tmp_path):
    made = lab.window("1 h", input=RIDES, result={"n": lab.count()}, name="made")
    for outputs, message in (
        ({}, "give at least one output"),
        ({"counts": "made"}, "counts is a str; give a workload"),
        ({"counts": lab.window("1 h", input=RIDES)}, "counts is not complete: .* has no result"),
    ):
        with pytest.raises(ModelError, match=message):
            lab.outputs(**outputs)
    assert lab.outputs(counts=made).workloads["counts"].name == "test_declaration_errors.counts"
    with pytest.raises(LabError, match="give the path of the file that declares them"):
        lab.run(workloads=[lab.outputs(counts=made)], engines=["reference"])
    path = file_of(tmp_path, CLASS + "a = lab.outputs(x=Rides)\nb = lab.outputs(x=Rides)\n")
    with pytest.raises(ModelError, match=r"defines 2 workloads; .*rides.py:a, .*rides.py:b"):
        workload(path)
    with pytest.raises(ModelError, match="has 2 outputs x; give each another name"):
        workload(f"{path}:x")


def test_a_workload_that_another_one_reads_is_not_chosen(tmp_path):
    path = file_of(tmp_path, CLASS + '\nBusiest = lab.top(1, by="rides", input=Rides)\n')
    subject = workload(path)
    assert [step.name for step in subject.declaration.steps()] == ["rides", "rides"]
    assert len(subject.program.operators) == 2


def test_declared_types_are_taken_without_opening_the_file(tmp_path):
    (tmp_path / "rides.py").write_text(
        HEAD.replace("rides.csv", "not_here.csv")
        + 'ALL = lab.window("1 h", key="station", input=rides, types={"station": str, "price": float},'
        ' result={"cost": lab.sum("price")})\n'
    )
    subject = workload(str(tmp_path / "rides.py"))
    assert subject.source.ids == ("station",)
    assert subject.program.operators[0].fields["price"] == np.float64


def test_code_is_known_by_the_users_functions(tmp_path):
    path = Path(file_of(tmp_path, CLASS))
    codes = [workload(str(path)).code()]
    for before, after in (("+= 1", "+= 2"), ('"mean": ', '"mean": 2 * '), ("15 min", "16 min")):
        path.write_text(HEAD + CLASS.replace(before, after))
        codes.append(workload(str(path)).code())
    path.write_text(HEAD + "# a comment\n" + CLASS)
    assert workload(str(path)).code() == codes[0]
    assert len(set(codes)) == 4


def test_a_table_with_a_header_only_has_no_rows(tmp_path):
    (tmp_path / "rides.csv").write_text("at,station,duration,price,bike,paid\n")
    (tmp_path / "rides.py").write_text(HEAD + CLASS)
    with pytest.raises(ModelError, match=r"rides\.csv has no rows; there is nothing to import"):
        workload(str(tmp_path / "rides.py"))
