"""The series of a trial: a row for each 100 ms, with its phase."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from streamlab.engines.protocol import Elasticity, Progress, Reconfiguration
from streamlab.lab.measure import elastic
from streamlab.lab.measure.series import STEP_NS, Phases, Recording, Track, grid_table, write_series

START = 5_000_000_000


def progress(emitted, consumed, latency, step_ns=STEP_NS):
    def array(values):
        return np.array(values, dtype=np.int64)

    return Progress(
        step_ns=step_ns,
        emitted=array(emitted),
        consumed=array(consumed),
        outputs=array(consumed),
        latency_p50_ns=array(latency),
        latency_p99_ns=array(latency),
        latency_max_ns=array(latency),
    )


def at(*rows):
    """Return clock readings in the middle of rows."""
    return [START + row * STEP_NS + STEP_NS // 2 for row in rows]


def phases(rows, **more):
    return Phases(start_ns=START, end_ns=START + rows * STEP_NS, **more)


def test_rows_go_through_preparation_warm_up_window_and_drain():
    table = grid_table(
        Recording(
            phases=phases(5, warm_up_ns=2 * STEP_NS, load_end_ns=4 * STEP_NS),
            tracks={"rss_bytes": Track(times_ns=at(-2, -1, 0), values=[1, 2, 3])},
        )
    )
    assert table["phase"] == ["prepare"] * 2 + ["warm_up"] * 2 + ["window"] * 2 + ["drain"]
    assert table["t_ns"] == [row * STEP_NS for row in range(-2, 5)]
    assert table["timed"] == [False] * 2 + [True] * 5


def test_catch_up_is_all_window():
    assert grid_table(Recording(phases=phases(2)))["phase"] == ["window", "window"]


def test_row_without_a_sample_is_null_and_the_later_of_two_samples_counts():
    track = Track(times_ns=[*at(0), at(0)[0] + 1, *at(2)], values=[1.0, 1.5, 3.0])
    table = grid_table(Recording(phases=phases(3), tracks={"cpu_s": track}))
    assert table["cpu_s"] == [1.5, None, 3.0]


def test_backlog_is_the_emitted_less_the_consumed_events_so_far():
    table = grid_table(
        Recording(phases=phases(3), progress=progress([5, 5, 0], [2, 3, 5], [7, -1, 0]))
    )
    assert table["backlog"] == [3, 5, 0]
    assert table["latency_p50_ns"] == [7, None, 0]


def test_rows_that_the_engine_did_not_count_are_null_and_not_zero():
    table = grid_table(
        Recording(
            phases=phases(3),
            progress=progress([5], [5], [7]),
            tracks={"cpu_s": Track(times_ns=at(-1), values=[0.1])},
        )
    )
    assert table["emitted"] == [None, 5, None, None]
    assert grid_table(Recording(phases=phases(1)))["emitted"] == [None]


def test_engine_that_counts_past_the_clock_keeps_its_rows():
    table = grid_table(Recording(phases=phases(1), progress=progress([5, 1], [5, 1], [7, 7])))
    assert table["emitted"] == [5, 1]
    assert table["timed"] == [True, False]


def test_other_step_of_the_engine_is_refused():
    with pytest.raises(ValueError, match=r"steps of 5 ns, expected 100000000"):
        grid_table(Recording(phases=phases(1), progress=progress([1], [1], [1], step_ns=5)))


def test_file_has_whole_numbers_and_nulls(tmp_path):
    tracks = {
        "rss_bytes": Track(times_ns=at(1), values=[10]),
        "energy_dram_j": Track(times_ns=[], values=[]),
    }
    write_series(Recording(phases=phases(2), tracks=tracks), tmp_path / "s" / "t.parquet")
    table = pq.read_table(tmp_path / "s" / "t.parquet")
    assert table["rss_bytes"].to_pylist() == [None, 10]
    assert table["energy_dram_j"].to_pylist() == [None, None]
    assert str(table.schema.field("rss_bytes").type) == "int64"
    assert str(table.schema.field("backlog").type) == "int64"
    assert table["backlog"].null_count == 2


NAN = float("nan")


def elasticity(instances, load_cov, comparisons=None, took_ns=()):
    return Elasticity(
        reconfigurations=tuple(
            Reconfiguration(
                at_ns=k * STEP_NS,
                duration_ns=ns,
                before=1,
                after=2,
                event_ts=k,
                moved_bytes=8 * k,
                active=(k, k + 2),
            )
            for k, ns in enumerate(took_ns)
        ),
        instances=np.array(instances, dtype=np.int64),
        comparisons=None if comparisons is None else np.array(comparisons, dtype=np.int64),
        load_cov=np.array(load_cov, dtype=np.float64),
    )


def test_rows_of_an_elastic_operator_say_how_it_was_scaled(tmp_path):
    recorded = Recording(
        phases=phases(3),
        progress=progress([5, 5], [5, 5], [7, 7]),
        elasticity=elasticity([1, 2], [0.0, NAN], [10, 0]),
        tracks={"cpu_s": Track(times_ns=at(-1), values=[0.1])},
    )
    table = grid_table(recorded)
    assert table["instances"] == [None, 1, 2, None]
    assert table["comparisons"] == [None, 10, 0, None]
    assert table["load_cov"] == [None, 0.0, None, None]
    write_series(recorded, tmp_path / "t.parquet")
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert [str(schema.field(name).type) for name in ("instances", "comparisons", "load_cov")] == [
        "int64",
        "int64",
        "double",
    ]


def test_rows_of_other_operators_have_no_columns_of_elasticity():
    assert "instances" not in grid_table(Recording(phases=phases(1)))
    without = Recording(phases=phases(1), elasticity=elasticity([1], [0.0]))
    assert "comparisons" not in grid_table(without)


def test_the_row_of_a_trial_sums_up_its_reconfigurations():
    found = elasticity([2, 3, 1], [0.5, NAN, 0.1], [4, 0, 6], took_ns=range(200, 0, -1))
    assert elastic.columns(found) == {
        "reconfiguration_count": 200,
        "reconfiguration_p50_ns": 100,
        "reconfiguration_p99_ns": 198,
        "reconfiguration_max_ns": 200,
        "instances_min": 1,
        "instances_max": 3,
        "comparisons": 10,
        "load_cov": pytest.approx(0.3),
    }
    assert elastic.columns(elasticity([1], [NAN])) == {
        "reconfiguration_count": 0,
        "instances_min": 1,
        "instances_max": 1,
    }
    assert elastic.columns(None) == {}


def test_reconfigurations_come_back_in_order(tmp_path):
    for took_ns in ([30, 10, 20], []):
        found = elasticity([1], [0.0], took_ns=took_ns)
        elastic.write_reconfigurations(found, tmp_path / "s" / "t.parquet")
        back = elastic.read_reconfigurations((tmp_path / "s" / "t.parquet").read_bytes())
        assert back == found.reconfigurations


def test_reconfigurations_of_earlier_versions_name_no_instances(tmp_path):
    found = elasticity([1], [0.0], took_ns=[30, 10])
    path = tmp_path / "t.parquet"
    elastic.write_reconfigurations(found, path)
    pq.write_table(pq.read_table(path).drop_columns(["active"]), path)
    back = elastic.read_reconfigurations(path.read_bytes())
    assert [(change.duration_ns, change.active) for change in back] == [(30, ()), (10, ())]
