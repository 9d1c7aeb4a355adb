from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.power_readings.gap_filling import readings
from streamlab.workloads.inputs.power_readings.schema import FIELDS
from streamlab.workloads.model import Input, Workload
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.smart_home_prediction.loads import loads
from streamlab.workloads.suite.smart_home_prediction.oracle import apply_tree
from streamlab.workloads.suite.smart_home_prediction.train import FEWEST, examples, train
from streamlab.workloads.suite.smart_home_prediction.tree import (
    DEEPEST,
    NAMES,
    OTHERS,
    read_tree,
    write_tree,
)
from tests.workloads.suite.power_inputs import (
    FORMS,
    filled,
    half_up,
    input_of,
    markers,
    power_inputs,
    readings_of,
)
from tests.workloads.suite.streams import agreed, generated

NAME = "smart_home_prediction"
DAY = 86_400


def bound(form: str = "typed", **query: object) -> Workload:
    return workload(NAME).bound({"form": form, **query})


def asked(tree_depth: int, device: int, second: int, load: int, minute: int) -> int:
    """Walk down the tree of a type by hand."""
    tree = read_tree()
    devices = tree.device.tolist()
    node = devices.index(device if device in devices else OTHERS)
    for _ in range(tree_depth):
        feature = int(tree.feature[node])
        if feature == -1:
            break
        value = (second % DAY, load, minute)[feature]
        node = int((tree.left if value <= tree.threshold[node] else tree.right)[node])
    return int(tree.next_10_min_j[node])


def expected(
    data: Input,
    period: int,
    gap: int,
    types: int = 2**15,
    depth: int = DEEPEST,
    table_plugs: int = 0,
) -> list[tuple[int, ...]]:
    """Average each second of each type of device, and give it at the marker that is due."""
    everything = joined = readings_of(data)
    if table_plugs:
        joined = [(ts, p, p % 20, watts) for ts, p, _, watts in everything if p < table_plugs]
    at: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for values in filled([r for r in joined if r[2] < types], gap).values():
        for second, load, device, _ in values:
            at[device][second].append(load)
    found = []
    for device, seconds in at.items():
        means = {s: half_up(Fraction(sum(v), len(v))) for s, v in seconds.items()}
        for second, load in means.items():
            minute = sum(means.get(second - back, 0) for back in range(60))
            due = next(m for m in range(second + period + gap, 10**6) if m % period == 0)
            if due in markers(everything, period, data.until_ts):
                joules = asked(depth, device, second, load, minute)
                found.append((due, device, second, load, minute, joules))
    return sorted(found)


@settings(deadline=None)  # comparing compiles when it is first used
@given(
    power_inputs(),
    st.integers(1, 12),
    st.integers(1, 9),
    st.integers(0, DEEPEST),
    st.none() | st.integers(41, 90),
    st.integers(0, 3),
)
def test_both_forms_and_the_oracle_answer_what_a_table_of_seconds_gives(
    data: Input, period: int, gap: int, depth: int, until_ts: int | None, table_plugs: int
):
    data = replace(data, until_ts=until_ts)
    query = {"markers_s": period, "longest_gap_s": gap, "table_plugs": table_plugs}
    for form in FORMS:
        chosen = bound(form, device_types=2, depth=depth, **query)
        assert agreed(chosen, data) == expected(data, period, gap, 2, depth, table_plugs)


@pytest.mark.parametrize("form", FORMS)
def test_generated_readings_are_answered_alike(form: str):
    """Minutes fill up, and lines go over markers, gaps and days."""
    chosen = bound(form, markers_s=10, longest_gap_s=25)
    params = {"plugs": 9, "device_types": 4, "gaps": 0.3, "gap_s": 15, "streams": 3}
    data = generated(chosen, params, 2000, seed=3)
    streams = tuple(replace(stream, ts=stream.ts + DAY - 200) for stream in data.streams)
    data = replace(data, streams=streams)
    answer = agreed(chosen, data)
    assert answer == expected(data, 10, 25)
    assert len(answer) > 900


@pytest.mark.parametrize("form", FORMS)
def test_a_second_is_given_once_however_late_a_line_reaches_it(form: str):
    chosen = bound(form, longest_gap_s=20)
    # The line of plug 1 from 9 s to 29 s reaches over two markers, and into seconds of plug 2.
    steady = [(second, 2, 0, 10) for second in range(71)]
    data = input_of([(9, 1, 0, 0), (29, 1, 0, 20)], steady)
    answer = agreed(chosen, data)
    assert [(ts, second) for ts, _, second, *_ in answer] == [
        (-(-(second + 30) // 10) * 10, second) for second in range(41)
    ]
    loads_mw = {second: load for _, _, second, load, *_ in answer}
    assert (loads_mw[8], loads_mw[9], loads_mw[19], loads_mw[28]) == (10_000, 5_000, 10_000, 14_500)


@pytest.mark.parametrize("form", FORMS)
def test_a_type_of_device_that_is_not_retained_gives_nothing(form: str):
    chosen = bound(form, device_types=1, longest_gap_s=1)
    data = input_of([(0, 1, 0, 5), (0, 2, 1, 5), (90, 2, 1, 5)])
    assert [row[1:4] for row in agreed(chosen, data)] == [(0, 0, 5000)]


@pytest.mark.parametrize("form", FORMS)
def test_a_plug_has_the_type_of_the_table_and_no_row_no_answer(form: str):
    chosen = bound(form, device_types=16, table_plugs=42, longest_gap_s=1)
    # Plug 21 has type 1 and plug 41 too; plug 19 has a type that is not retained, and plug 42 no row.
    data = input_of([(0, plug, 7, plug) for plug in (19, 21, 41, 42)], [(90, 21, 7, 0)])
    assert [row[1:4] for row in agreed(chosen, data)] == [(1, 0, 31_000)]


@pytest.mark.parametrize("form", FORMS)
def test_the_table_says_of_generated_plugs_what_their_readings_say(form: str):
    data = generated(bound(form), {"plugs": 45, "device_types": 20}, 2000, seed=2)
    answer = agreed(bound(form, table_plugs=45), data)
    assert answer == agreed(bound(form), data)
    assert len(answer) > 150


def test_sums_of_a_type_of_the_table_that_do_not_fit_are_refused():
    most = 2**31 - 1
    data = input_of([(0, plug, plug, most) for plug in (1, 21)])
    groups = bound(table_plugs=30).limits[0].groups
    assert groups is not None
    assert groups(total_order(data, FIELDS)).tolist() == [1, 1]


@pytest.mark.parametrize("form", FORMS)
def test_the_minute_before_forgets_what_is_older(form: str):
    chosen = bound(form, longest_gap_s=1)
    data = input_of([(0, 1, 0, 1), (59, 1, 0, 2), (60, 1, 0, 4), (300, 1, 0, 8), (400, 1, 0, 0)])
    minutes = {second: minute for _, _, second, _, minute, _ in agreed(chosen, data)}
    assert minutes == {0: 1000, 59: 3000, 60: 6000, 300: 8000}


def test_the_trees_of_the_types_are_whole():
    tree = read_tree()
    inner = np.flatnonzero(tree.feature >= 0)
    assert set(tree.feature.tolist()) == {-1, 0, 1, 2}
    below = np.concatenate([tree.left[inner], tree.right[inner]])
    # Every node but the roots is below one node of its tree, and each comes before those below it.
    roots = {0, *tree.roots().tolist()}
    assert sorted(below.tolist()) == [n for n in range(len(tree.feature)) if n not in roots]
    assert np.all(tree.left[inner] > inner) and np.all(tree.right[inner] > inner)
    assert np.all(tree.device[tree.left[inner]] == tree.device[inner])
    assert np.all(tree.device[tree.right[inner]] == tree.device[inner])
    assert tree.device[0] == OTHERS and len(roots) > 20
    depth = np.zeros(len(tree.feature), np.int64)
    for node in inner:
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    assert depth.max() == DEEPEST


@pytest.mark.parametrize("form", FORMS)
def test_each_type_of_device_has_its_own_tree(form: str):
    own = next(device for device in range(30) if device in read_tree().device)
    rows = [
        (second, plug, device, 100) for second in range(2) for plug, device in ((1, own), (2, 99))
    ]
    answer = agreed(
        bound(form, device_types=100, longest_gap_s=1), input_of([*rows, (90, 1, 0, 0)])
    )
    # Types without a tree share one.
    found = {(row[1], row[5]) for row in answer if row[2] == 0}
    assert found == {(d, asked(DEEPEST, d, 0, 100_000, 100_000)) for d in (own, 99)}
    assert len({joules for _, joules in found}) == 2


def test_another_tree_is_another_workload():
    assert bound(depth=3).code() != bound(depth=4).code()
    assert bound().code() == bound().code() != bound("handcrafted").code()


def test_a_trained_tree_says_what_scikit_learn_says(tmp_path: Path):
    ensemble = pytest.importorskip("sklearn.tree", reason="scikit-learn is for training only")
    data = generated(
        workload(NAME), {"plugs": 8, "device_types": 8, "period_s": 5, "gaps": 0.0}, 30_000, 1
    )
    found = loads(readings(data), 60)
    chosen, features, joules = examples(found)
    assert 3000 < np.count_nonzero(chosen) < len(chosen) / 20
    tree = train(features[chosen], joules[chosen])
    model = ensemble.DecisionTreeRegressor(
        max_depth=DEEPEST, min_samples_leaf=FEWEST, random_state=0
    ).fit(features[chosen], joules[chosen])
    assert len(tree.feature) > 10
    wanted = np.floor(model.predict(features) + 0.5)
    assert np.array_equal(apply_tree(found, tree, DEEPEST), wanted)
    write_tree(tree, tmp_path / "tree.csv")
    again = read_tree(tmp_path / "tree.csv")
    assert all(np.array_equal(getattr(tree, name), getattr(again, name)) for name in NAMES)


def test_an_example_knows_the_next_ten_minutes():
    data = input_of([(second, 1, 0, second % 7) for second in range(0, 1300, 2)])
    found = loads(readings(data), 60)
    chosen, features, joules = examples(found)
    rows_chosen = np.flatnonzero(chosen)
    assert found.second[rows_chosen].tolist() == list(range(0, 699, 30))
    for row in rows_chosen.tolist():
        second = int(found.second[row])
        assert joules[row] * 1000 == found.load_mw[second + 1 : second + 601].sum()
        assert features[row].tolist() == [
            second,
            found.load_mw[second],
            found.load_mw[max(0, second - 59) : second + 1].sum(),
        ]
