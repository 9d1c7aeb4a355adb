"""Generated events of ads, all of which a query's tables have."""

from pathlib import Path

import numpy as np
import pytest

from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.matrix import WorkloadEntry
from streamlab.lab.runner.datasets import find_dataset
from streamlab.workloads.datasets.spark_session import DEFAULT_MASTER
from streamlab.workloads.inputs.ads.schema import FIELDS
from streamlab.workloads.inputs.ads.tables import campaign_of_ad, location_of_user, unfit
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import generated

VIEWS = workload("campaign_views")
HISTORY = workload("location_history")
NAMES = FIELDS.names or ()


def columns_of(data: Input) -> Columns:
    """Return all events by number: they were dealt to the streams in turn."""
    streams, count = data.streams, len(data.streams)
    whole: Columns = {}
    for name in ("ts", *NAMES):
        parts = [s.ts if name == "ts" else s.payload[name] for s in streams]
        whole[name] = np.empty(data.events, dtype=parts[0].dtype)
        for index, part in enumerate(parts):
            whole[name][index::count] = part
    return whole


@pytest.fixture(scope="module")
def many() -> Columns:
    return columns_of(generated(VIEWS, {"rate": 10_000}, 300_000, seed=1))


def test_each_second_has_as_many_events_as_the_rate_says(many: Columns):
    assert np.bincount(many["ts"] // 1000).tolist() == [10_000] * 30
    assert np.all(np.diff(many["ts"]) >= 0)


def test_users_pages_types_and_campaigns_are_uniform(many: Columns):
    for name, count in {"user": 1000, "page": 100, "ad": 1000, "type": 3}.items():
        found = np.bincount(many[name], minlength=count)
        mean = len(many[name]) / count
        # Chi-squared of so many degrees of freedom: its mean and six standard deviations.
        assert ((found - mean) ** 2 / mean).sum() < count + 6 * np.sqrt(2 * count), name
        assert len(found) == count


def test_with_a_skew_campaigns_are_as_popular_as_zipf_says():
    found = columns_of(generated(VIEWS, {"skew": 1.0, "ads": 950}, 200_000, seed=2))
    campaign = found["ad"] % 100
    weights = 1 / np.arange(1, 101)
    share = np.bincount(campaign, minlength=100) / len(campaign)
    assert np.abs(share - weights / weights.sum()).max() < 0.005
    # The first fifty campaigns have ten ads each, the others nine.
    assert found["ad"].max() == 949
    of_first = np.bincount(found["ad"][campaign == 0] // 100)
    assert len(of_first) == 10 and of_first.min() > 0.9 * of_first.mean()


def test_tables_by_rule_hold_computed_rows_and_cannot_be_written():
    found = campaign_of_ad({"ads": 7, "campaigns": 3, "tables": ""})
    assert (found.values.tolist(), found.count) == ([0, 1, 2, 0, 1, 2, 0], 3)
    few = location_of_user({"users": 2, "locations": 5, "tables": ""})
    assert (few.values.tolist(), few.count) == ([0, 1], 2)
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1


def query(**given_: object) -> dict[str, object]:
    return dict(VIEWS.bound(given_).query_params)


class TestFit:
    def test_a_dataset_with_an_ad_that_is_in_no_table_does_not_fit(self, tmp_path: Path):
        data = generated(VIEWS, {"ads": 2000}, 3000, seed=1)
        dataset = write_dataset(data, "ads", tmp_path)
        highest = max(int(stream.payload["ad"].max()) for stream in data.streams)
        why = unfit(query(), dataset)
        assert why.endswith(
            f"has ad {highest}, but the table of ads has rows from 0 to 999; give query "
            f"parameter ads={highest + 1} or more"
        )
        assert unfit(query(ads=highest + 1), dataset) == ""

    def test_a_dataset_with_a_user_without_location_does_not_fit(self, tmp_path: Path):
        dataset = write_dataset(generated(VIEWS, {"users": 2000}, 3000, seed=1), "ads", tmp_path)
        assert "the table of users has rows from 0 to 999" in unfit(
            dict(HISTORY.query_params or HISTORY.bound({}).query_params), dataset
        )
        assert unfit(query(), dataset) == ""  # which looks up no user

    def test_ids_below_zero_are_reported(self, tmp_path: Path):
        data = generated(VIEWS, {"streams": 1}, 10, seed=1)
        data.streams[0].payload["ad"][3] = -7
        assert unfit(query(), write_dataset(data, "ads", tmp_path)).endswith(
            "ids must be 0 or more"
        )

    def test_an_empty_dataset_fits(self, tmp_path: Path):
        dataset = write_dataset(generated(VIEWS, {}, 0, seed=1), "ads", tmp_path)
        assert unfit(query(), dataset) == ""

    def test_a_run_is_refused_before_anything_is_measured(self, tmp_path: Path, monkeypatch):
        monkeypatch.setenv("LAB_DATA", str(tmp_path))
        entry = WorkloadEntry(
            name="campaign_views", events=2000, params={"ads": 5000}, label="wide"
        )
        with pytest.raises(MatrixError, match=r"campaign_views@wide: dataset .* has ad 4\d\d\d"):
            find_dataset(entry, master=DEFAULT_MASTER)
