"""A value beyond the type of its field is an error at the place of assignment, and no wrong answer."""

import inspect
import pickle

import numpy as np
import pytest

from streamlab.workloads.model import (
    Alphabet,
    DGSProgram,
    ForkJoin,
    Input,
    InputType,
    ModelError,
    Operator,
    Pipeline,
    Query,
    StateType,
    Stream,
    Window,
    stateful,
)
from streamlab.workloads.model.arrays import copy
from streamlab.workloads.model.check import check
from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.records import RecordType

VALUE = np.dtype([("x", np.int64)])
RESULT = np.dtype([("ts", np.int64), ("x", np.int64)])
STATE = np.dtype(
    [("small", np.int8), ("large", np.int64), ("natural", np.uint16), ("row", np.int32, (2,))]
)
MAX = 2**63 - 1


def update_small(state, event, out):
    state.small += event.x  # HERE


def update_large(state, event, out):
    state.large = state.large * 31 + event.x  # HERE


def update_natural(state, event, out):
    state.natural -= event.x  # HERE


def update_row(state, event, out):
    state.row[1] += event.x  # HERE


def update_fraction(state, event, out):
    state.large = event.x / 2  # HERE


def emit(state, event, out):
    out.emit(event.ts, event.x * 2)


def nothing(*_):
    pass


def program(update, fork=nothing, join=nothing):
    return DGSProgram(
        name="overflowing",
        kinds=("value",),
        event=VALUE,
        output=RESULT,
        depends=lambda first, second: True,
        states=(StateType(name="kept", dtype=STATE, update=update),),
        init=nothing,
        parallel=(ForkJoin(parent="kept", first="kept", second="kept", fork=fork, join=join),),
    )


def update_window(w, t, out):
    w[0].small += t.x  # HERE


def slide_window(w):
    w[0].small = 100 + w[0].natural  # HERE


def see_window(w, t, out):
    w[0].natural = 100


def one_key(t, out):
    out.add(0)


def query(update, slide=None):
    window = Window(advance=1, size=2, type=SINGLE)
    operator = Operator(
        name="overflowing",
        inputs=(InputType(name="value", fields=VALUE),),
        window=window,
        output=RESULT,
        state=STATE,
        keys=one_key,
        update=update,
        slide=slide,
    )
    return Query(name="overflowing", operators=(operator,))


def apply(s, t, out):
    s.small += t.x  # HERE


PIPELINE = Pipeline(
    name="overflowing",
    record="value",
    event=VALUE,
    stages=(stateful(name="adds", output=RESULT, state=STATE, apply=apply),),
)

CASES = {
    "narrow": (program(update_small), [100, 27, 1], 128, "small", "int8", update_small),
    "below": (program(update_small), [-100, -29], -129, "small", "int8", update_small),
    "wide": (program(update_large), [MAX // 31, 8], 31 * (MAX // 31) + 8, "large", "int64", None),
    "unsigned": (program(update_natural), [1], -1, "natural", "uint16", update_natural),
    "array": (program(update_row), [2**31 - 1, 1], 2**31, "row", "int32", update_row),
    "window": (query(update_window), [100, 28], 128, "small", "int8", update_window),
    "slide": (query(see_window, slide_window), [1, 1, 1], 200, "small", "int8", slide_window),
    "pipeline": (PIPELINE, [100, 28], 128, "small", "int8", apply),
}


def values_input(xs):
    ts = np.arange(len(xs), dtype=np.int64)
    payload = {"x": np.array(xs, dtype=np.int64)}
    stream = Stream(name="v", kinds=(0,), ts=ts, payload=payload)
    return Input(alphabet=Alphabet(kinds=("value",)), streams=(stream,))


def place(function):
    lines, first = inspect.getsourcelines(function)
    (line,) = (n for n, text in enumerate(lines, first) if "# HERE" in text)
    return f"{function.__name__} ({__file__}:{line})"


@pytest.mark.parametrize("case", CASES)
def test_a_value_that_leaves_its_field_is_named(case):
    subject, xs, value, field, dtype, function = CASES[case]
    with pytest.raises(ModelError) as raised:
        answer_of(subject, values_input(xs))
    message = str(raised.value)
    assert f"field {field}" in message
    assert f"is of type {dtype} and got {value}; compiled code would wrap it: keep it" in message
    assert "or declare a wider type" in message
    assert place(function or update_large) in message


def test_an_integer_field_refuses_a_fraction():
    with pytest.raises(ModelError, match=r"type int64 and got 0.5; round it") as raised:
        answer_of(program(update_fraction), values_input([4, 1]))
    assert place(update_fraction) in str(raised.value)


def test_an_output_that_leaves_its_field_is_named():
    with pytest.raises(ModelError, match=f"output field x is of type int64 and got {2**63}"):
        answer_of(program(emit), values_input([1, 2**62]))


def add_up(state, event, out):
    state.row[0] = event.x
    state.large += state.row[0]
    out.emit(event.ts, state.row[0] * state.row[0] + state.large)


def test_elements_of_an_array_are_python_numbers_and_do_not_wrap():
    answer = answer_of(program(add_up), values_input([2**31 - 1, 2**31 - 1]))
    square = (2**31 - 1) ** 2
    assert answer["x"].tolist() == [square + 2**31 - 1, square + 2**32 - 2]


def test_values_at_the_limits_are_taken():
    record = RecordType("kept", STATE).zeroed()
    for field in ("small", "large", "natural"):
        limits = np.iinfo(STATE[field])
        for value in (int(limits.min), int(limits.max), float(limits.min), limits.dtype.type(7)):
            setattr(record, field, value)
            assert (getattr(record, field), type(getattr(record, field))) == (value, int)


def test_a_record_that_was_pickled_keeps_to_its_types():
    record = pickle.loads(pickle.dumps(RecordType("kept", STATE).zeroed()))
    record.row[0] = 5
    with pytest.raises(ProgramError, match="field small of kept is of type int8"):
        record.small = 128
    with pytest.raises(ProgramError, match="is of type int32"):
        record.row[0] = 2**31


def fork_too_far(state, pred1, pred2, first, second):
    first.small = 128  # HERE


def test_the_checker_names_the_function_and_the_field():
    report = check(program(nothing, fork=fork_too_far), examples=5)
    (found,) = [each for each in report.violations if each.condition == "C2"]
    assert "field small of kept is of type int8 and got 128" in found.render()
    assert place(fork_too_far) in found.render()


def test_an_array_is_copied_only_to_one_of_its_length():
    values, others = np.arange(3), np.zeros(3)
    copy(values, others)
    assert others.tolist() == [0, 1, 2]
    for source in (values, np.ones(1)):
        with pytest.raises(ValueError, match="another length"):
            copy(source, np.zeros(4))
