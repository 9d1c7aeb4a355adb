"""Imports of events of ads: Open Bandit's impressions, and the Yahoo benchmark's JSON."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streamlab.lab.errors import MatrixError
from streamlab.lab.matrix.matrix import WorkloadEntry
from streamlab.lab.runner.datasets import find_dataset
from streamlab.workloads.datasets import oracle_cache
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.inputs.ads import tables
from streamlab.workloads.inputs.ads.tables import campaign_of_ad, location_of_user
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import expected_answer, imported, real, rows, text_file, texts

IMPRESSIONS = (
    ",timestamp,item_id,position,click,user_feature_0,user_feature_1,user_feature_2,user_feature_3"
)
ITEMS = ",item_id,item_feature_0,item_feature_1,item_feature_2,item_feature_3"
NAMES = ("user", "page", "ad", "type")
NOON_MS = 1_574_596_800_000


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """The usual catalogue, since queries look for their tables there."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    return Catalog.default()


def impression(second: int, item: object, position: int, click: object, user: str) -> str:
    return f"7,2019-11-24 12:00:{second:02}.5009+00:00,{item},{position},{click},{user},{user}2,x,y"


def item_table(*pairs: tuple[int, str]) -> list[str]:
    return [ITEMS, *(f"0,{item},-0.5,{campaign},c,d" for item, campaign in pairs)]


class TestOpenBandit:
    @pytest.fixture
    def items(self, tmp_path: Path) -> Path:
        return text_file(tmp_path / "items.csv", *item_table((3, "shoes"), (4, "hats")))

    def test_a_line_is_a_view_and_when_clicked_a_click_behind_it(
        self, catalog: Catalog, tmp_path: Path, items: Path
    ):
        lines = (
            impression(1, 4, 3, 0, "a"),
            impression(1, 3, 1, 1, "b"),
            impression(2, 4, 1, 1, "a"),
        )
        file = text_file(tmp_path / "all.csv", IMPRESSIONS, *lines)
        dataset = imported(catalog, "open-bandit", file, streams=2, settings={"items": items})
        first, second = NOON_MS + 1500, NOON_MS + 2500
        assert rows(dataset, *NAMES) == [
            [(first, 0, 0, 0, 0), (second, 0, 1, 0, 0), (second, 0, 1, 0, 1)],
            [(first, 1, 1, 1, 0), (first, 1, 1, 1, 1)],
        ]
        assert texts(dataset, "ads") == ["4\thats", "3\tshoes"]
        assert texts(dataset, "users") == ["a/a2/x/y\tx", "b/b2/x/y\tx"]
        assert texts(dataset, "pages") == ["position 3", "position 1"]

    def test_campaigns_and_locations_are_the_features_that_are_named(
        self, catalog: Catalog, tmp_path: Path, items: Path
    ):
        lines = (impression(1, 4, 3, 0, "a"), impression(2, 3, 3, 0, "b"))
        file = text_file(tmp_path / "all.csv", IMPRESSIONS, *lines)
        settings = {"items": items, "campaign": "item_feature_2", "location": "user_feature_1"}
        dataset = imported(catalog, "open-bandit", file, settings=settings)
        assert texts(dataset, "ads") == ["4\tc", "3\tc"]
        assert [text.split("\t")[1] for text in texts(dataset, "users")] == ["a2", "b2"]

    def archive(self, tmp_path: Path) -> Path:
        path = tmp_path / "obd.tar.xz"
        with tarfile.open(path, "w:xz") as archive:
            for folder, item, campaign in (("random/men", 1, "ties"), ("bts/men", 2, "belts")):
                lines = (IMPRESSIONS, impression(9, item, 1, 0, "u"))
                file = text_file(tmp_path / "men.csv", *lines)
                archive.add(file, f"obd/{folder}/men.csv")
                table = text_file(tmp_path / "item_context.csv", *item_table((item, campaign)))
                archive.add(table, f"obd/{folder}/item_context.csv")
        return path

    def test_one_folder_of_an_archive_is_read_with_its_own_table(
        self, catalog: Catalog, tmp_path: Path
    ):
        settings = {"folder": "bts/men"}
        dataset = imported(catalog, "open-bandit", self.archive(tmp_path), settings=settings)
        assert texts(dataset, "ads") == ["2\tbelts"]

    def test_a_folder_that_is_not_there_is_refused_with_those_that_are(
        self, catalog: Catalog, tmp_path: Path
    ):
        with pytest.raises(
            DatasetError,
            match=r"no folder 'random/all'; give one of obd/random/men, obd/bts/men with --folder",
        ):
            imported(catalog, "open-bandit", self.archive(tmp_path))

    def test_a_table_of_items_that_is_missing_or_contradicts_itself_is_refused(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = text_file(tmp_path / "all.csv", IMPRESSIONS, impression(2, 4, 1, 0, "a"))
        with pytest.raises(DatasetError, match=r"all\.csv has no table of items .* --items"):
            imported(catalog, "open-bandit", file)
        twice = text_file(tmp_path / "twice.csv", *item_table((4, "a"), (4, "b")))
        with pytest.raises(
            DatasetError, match=r"twice\.csv:3: ad '4' is in campaign 'a' in a row above"
        ):
            imported(catalog, "open-bandit", file, settings={"items": twice})

    @pytest.mark.parametrize("name", ["ad_enrichment", "campaign_views", "user_clusters"])
    def test_the_real_impressions_are_answered_as_the_oracle_says(
        self, catalog: Catalog, name: str
    ):
        file = real("ads/open_bandit_obd_small.tar.xz")
        dataset = imported(catalog, "open-bandit", file, streams=2)
        # docs/workloads.md says so.
        assert (dataset.events, len(texts(dataset, "ads"))) == (10_038, 80)
        hour = {"markers_ms": 3_600_000, "window_ms": 36_000_000, "period_ms": 18_000_000}
        chosen = workload(name)
        query = {key: value for key, value in hour.items() if key in chosen.query}
        bound = chosen.bound({**query, "tables": dataset.id[:8]})
        expected_answer(bound, dataset.load())
        assert campaign_of_ad({"ads": 1, "campaigns": 1, "tables": dataset.id}).count == 12
        assert location_of_user({"users": 1, "locations": 1, "tables": dataset.id}).count == 8


def event(user: str, ad: str, kind: str, time: object, ip: str = "1.2.3.4") -> str:
    fields = {"user_id": user, "page_id": "p", "ad_id": ad, "ad_type": "banner"}
    return json.dumps({**fields, "event_type": kind, "event_time": time, "ip_address": ip})


class TestAdEvents:
    @pytest.fixture
    def campaigns(self, tmp_path: Path) -> Path:
        lines = ('{ "ad-1": "c-1"}', '{ "ad-2": "c-2", "ad-3": "c-1"}')
        return text_file(tmp_path / "ad-to-campaign-ids.txt", *lines)

    def test_events_are_sorted_and_looked_up(
        self, catalog: Catalog, tmp_path: Path, campaigns: Path
    ):
        file = text_file(
            tmp_path / "events.json",
            event("u", "ad-2", "view", "1050"),
            event("v", "ad-3", "purchase", 1007, ip="5.6.7.8"),
            event("u", "ad-1", "click", "1051", ip="9.9.9.9"),
        )
        dataset = imported(catalog, "ad-events", file, settings={"campaigns": campaigns})
        assert rows(dataset, *NAMES) == [
            [(1007, 1, 0, 1, 2), (1050, 0, 0, 0, 0), (1051, 0, 0, 2, 1)]
        ]
        # A user is where the first event was, by the order of the file.
        assert texts(dataset, "users") == ["u\t1.2.3.4", "v\t5.6.7.8"]
        query = {"ads": 1, "campaigns": 1, "tables": dataset.id}
        found = campaign_of_ad(query)
        assert (found.values.tolist(), found.count) == ([0, 1, 1], 2)

    def test_a_table_of_campaigns_is_needed_and_must_not_contradict_itself(
        self, catalog: Catalog, tmp_path: Path
    ):
        file = text_file(tmp_path / "events.json", event("u", "ad-1", "view", 5))
        with pytest.raises(DatasetError, match="--campaigns is missing"):
            imported(catalog, "ad-events", file)
        for text, message in (
            ('{"a": "b"}\n{"a": "c"}', r"t.txt:2: ad 'a' is in campaign 'b' in a row above"),
            ("a b", r"t.txt:1: not JSON"),
            ("{}", r"t.txt has no campaigns"),
        ):
            table = text_file(tmp_path / "t.txt", *text.splitlines())
            with pytest.raises(DatasetError, match=message):
                imported(catalog, "ad-events", file, settings={"campaigns": table})


class TestTables:
    @pytest.fixture
    def dataset(self, catalog: Catalog, tmp_path: Path) -> Dataset:
        table = text_file(tmp_path / "t.txt", '{"a": "x", "b": "y"}')
        file = text_file(tmp_path / "e.json", event("u", "a", "view", 5))
        return imported(catalog, "ad-events", file, settings={"campaigns": table})

    @pytest.fixture(autouse=True)
    def asked_anew(self) -> Iterator[None]:
        """No table is one that an earlier test has looked up."""
        tables._full_dataset_id.cache_clear()
        tables._lookup.cache_clear()
        yield
        tables._full_dataset_id.cache_clear()

    def entry(self, dataset: Dataset, **query: object) -> WorkloadEntry:
        return WorkloadEntry(name="campaign_views", dataset=dataset.id[:8], query=query)

    def test_a_query_must_name_the_tables_of_the_dataset_that_it_reads(self, dataset: Dataset):
        remedy = f"give it query parameter tables={dataset.id[:8]}"
        for query in ({}, {"tables": ""}):
            with pytest.raises(MatrixError, match=f"uses generated tables; {remedy}"):
                find_dataset(self.entry(dataset, **query), master="local[1]")
        found = find_dataset(self.entry(dataset, tables=dataset.id[:6]), master="local[1]")
        assert found.id == dataset.id

    def test_tables_of_no_dataset_or_of_one_without_tables_are_refused(
        self, catalog: Catalog, dataset: Dataset, tmp_path: Path
    ):
        with pytest.raises(ModelError, match="tables is 'ffffffff': no dataset 'ffffffff'"):
            self.entry(dataset, tables="ffffffff").bound()
        line = json.dumps({"time": "2015-09-12T00:46:58Z", "page": "p"})
        edits = imported(catalog, "wikipedia-edits", text_file(tmp_path / "w.json", line))
        with pytest.raises(
            ModelError, match="a dataset without a table of ads; give a dataset from"
        ):
            self.entry(dataset, tables=edits.id[:8]).bound()

    @pytest.mark.parametrize("damage", ["flipped", "cut off"])
    def test_a_damaged_table_is_not_used(self, dataset: Dataset, damage: str):
        (ads,) = (file.path for file in dataset.dictionaries if file.name == "ads")
        content = bytearray(ads.read_bytes())
        content[content.index(b"a\tx")] ^= 1  # "a" becomes another ad
        ads.write_bytes(content if damage == "flipped" else content[:60])
        tables._lookup.cache_clear()
        with pytest.raises(
            ModelError, match=rf"{ads} \(dictionary ads\) is damaged.*make it again"
        ):
            self.entry(dataset, tables=dataset.id[:8]).bound()

    def test_an_answer_is_stored_for_the_content_of_the_tables(
        self, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
    ):
        """The beginning of an id may name another dataset once this one is gone."""
        bound = self.entry(dataset, tables=dataset.id[:8]).bound()
        assert bound.query_params["tables"] == dataset.id[:8]
        expected(bound, dataset)
        monkeypatch.setattr(oracle_cache, "_compute", lambda *_: pytest.fail("not kept"))
        expected(bound, dataset)
        tables._full_dataset_id.cache_clear()
        monkeypatch.setattr(tables, "_dataset", lambda prefix: replace(dataset, id="f" * 64))
        with pytest.raises(pytest.fail.Exception, match="not kept"):
            expected(self.entry(dataset, tables=dataset.id[:8]).bound(), dataset)
