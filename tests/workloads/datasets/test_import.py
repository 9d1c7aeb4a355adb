import gzip
import json
import lzma
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog, damages
from streamlab.workloads.datasets.dataset import invented_words
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from tests.workloads.datasets.files import (
    edit_line,
    imported,
    log_file,
    log_line,
    real,
    text_file,
    texts,
)
from tests.workloads.suite.streams import in_order


def assert_refused(catalog: Catalog, kind: str, file: Path, match: str, **options: object) -> None:
    with pytest.raises(DatasetError, match=match):
        imported(catalog, kind, file, **options)
    assert not catalog.root.exists() or list(catalog.root.iterdir()) == []


def test_a_view_for_each_line_and_an_update_whenever_the_size_changes(
    catalog: Catalog, tmp_path: Path
):
    file = log_file(
        tmp_path,
        log_line(10, "/a", "100", host="x"),
        log_line(10, "/b", "0", host="y"),  # unknown is 0 already: no update
        log_line(11, "/a", "0", response=304, host="y"),  # does not carry the page
        log_line(12, "/a", "100", host="x"),  # the same as before
        log_line(12, "/a", "0", method="HEAD"),
        log_line(13, "/a", "-", host="x"),
        log_line(13, "/a", "70", response=404, host="x"),
        log_line(14, "/a", "120", host="x"),
        log_line(14, "/b", "5", host="y"),
        log_line(15, "/a", "100", host="x"),
    )
    dataset = imported(catalog, "access-log", file)
    views, updates = dataset.load().streams
    assert views.ts.tolist() == [10, 10, 11, 12, 12, 13, 13, 14, 14, 15]
    assert views.tag is not None
    assert views.tag.tolist() == [0, 2, 0, 0, 0, 0, 0, 0, 2, 0]
    assert views.payload["user"].tolist() == [0, 1, 1, 0, 2, 0, 0, 0, 1, 0]
    assert updates.ts.tolist() == [10, 14, 14, 15]
    assert updates.tag is not None
    assert updates.tag.tolist() == [1, 1, 3, 1]
    assert updates.payload["meta"].tolist() == [100, 120, 5, 100]
    assert texts(dataset, "pages") == ["/a", "/b"]
    assert texts(dataset, "users") == ["x", "y", "h"]


def test_several_view_streams_hold_the_views_of_disjoint_hosts(catalog: Catalog, tmp_path: Path):
    lines = [log_line(i, f"/{i % 7}", "1", host=f"h{i % 30}") for i in range(300)]
    dataset = imported(catalog, "access-log", log_file(tmp_path, *lines), streams=3)
    data = dataset.load()
    assert [stream.name for stream in data.streams] == ["view-0", "view-1", "view-2", "update"]
    hosts = [set(stream.payload["user"].tolist()) for stream in data.streams[:3]]
    assert sum(map(len, hosts)) == len(set().union(*hosts)) == 30
    assert sum(len(stream) for stream in data.streams[:3]) == 300


def test_a_reset_of_every_page_seen_at_each_full_hour(catalog: Catalog, tmp_path: Path):
    file = text_file(
        tmp_path / "edits.json",
        edit_line("2020-01-01T00:10:00Z", "a"),
        edit_line("2020-01-01T01:00:00.000Z", "b"),  # counted by the reset of that instant
        edit_line("2020-01-01T02:30:00+01:00", "a"),
        edit_line("2020-01-01T05:00:00.001Z", "c"),  # no edits between two and five
    )
    dataset = imported(catalog, "wikipedia-edits", file)
    increments, resets = dataset.load().streams
    start, hour = int(datetime.fromisoformat("2020-01-01T00:00:00Z").timestamp()) * 1000, 3_600_000
    assert [ts - start for ts in increments.ts.tolist()] == [600_000, hour, 5_400_000, 18_000_001]
    hours = [(ts - start) // hour for ts in resets.ts.tolist()]
    assert hours == [1, 1, 2, 2, 6, 6, 6]
    assert resets.tag is not None
    assert resets.tag.tolist() == [1, 3, 1, 3, 1, 3, 5]
    assert texts(dataset, "pages") == ["a", "b", "c"]


def test_other_texts_with_the_same_ids_are_another_dataset(catalog: Catalog, tmp_path: Path):
    one = imported(catalog, "access-log", log_file(tmp_path, log_line(1, "/a", "1"), name="1"))
    two = imported(catalog, "access-log", log_file(tmp_path, log_line(1, "/b", "1"), name="2"))
    assert one.id != two.id
    assert texts(one, "pages") == ["/a"]
    assert texts(two, "pages") == ["/b"]
    assert len(catalog.list().datasets) == 2


def test_source_and_licence_are_stated_or_marked_as_not_stated(catalog: Catalog, tmp_path: Path):
    file = log_file(tmp_path, log_line(1, "/a", "1"))
    dataset = imported(catalog, "access-log", file)
    assert (dataset.source, dataset.licence) == ("not stated", "not stated")
    for options, expected in (
        ({"source": "our server", "licence": "ours"}, ("our server", "ours")),
        ({}, ("our server", "ours")),
        ({"licence": "theirs"}, ("our server", "theirs")),
    ):  # of the same content
        assert imported(catalog, "access-log", file, **options).id == dataset.id
        found = catalog.get(dataset.id)
        assert (found.source, found.licence) == expected
    assert list(damages(catalog.folder(dataset.id))) == []
    assert [path.name for path in catalog.folder(dataset.id).glob(".*")] == []


def test_several_files_are_one_sequence(catalog: Catalog, tmp_path: Path):
    one = log_file(tmp_path, log_line(1, "/a", "1"), name="1")
    two = log_file(tmp_path, log_line(2, "/b", "1"), name="2")
    assert imported(catalog, "access-log", one, two).streams[0].rows == 2
    with pytest.raises(DatasetError, match=r"1:2: time 1 is before 2 at .*2:2"):
        imported(catalog, "access-log", two, one)


@pytest.mark.parametrize("streams", [0, 1025, 10**6])
def test_a_number_of_streams_that_no_engine_takes_is_refused(streams: int, tmp_path: Path):
    file = log_file(tmp_path, log_line(1, "/a", "1"))
    with pytest.raises(DatasetError, match=f"--streams is {streams}; give 1 to 1024"):
        import_kind("access-log").complete(ImportOptions(files=(file,), streams=streams))


def test_lines_are_rows_bad_rows_empty_or_a_header(catalog: Catalog, tmp_path: Path):
    file = log_file(tmp_path, "", log_line(1, "/a", "1"), "bad", "", log_line(2, "/a", "1"), "")
    assert_refused(catalog, "access-log", file, ":4: 1 columns instead of 9: 'bad'; .*--max-bad 1")
    origin = imported(catalog, "access-log", file, max_bad=1).origin
    assert [origin[name] for name in ("lines", "rows", "bad_rows", "empty_lines")] == [7, 2, 1, 3]
    assert origin["lines_passed_over"] == 1
    assert f"{file}:4: 1 columns instead of 9" in origin["bad_lines"][0]


def test_text_that_is_not_utf8_is_a_bad_row(catalog: Catalog, tmp_path: Path):
    file = tmp_path / "log.tsv"
    file.write_bytes(log_line(1, "/\xe9", "1").encode("latin-1") + b"\n")
    assert_refused(catalog, "access-log", file, r"log\.tsv:1: it is not UTF-8")
    file.write_bytes(
        log_line(1, "/\xe9", "1").encode("latin-1") + b"\n" + f"{log_line(2, '/é', '1')}\n".encode()
    )
    dataset = imported(catalog, "access-log", file, max_bad=1)
    assert texts(dataset, "pages") == ["/é"]
    assert dataset.origin["bad_rows"] == 1


def test_unsorted_files_are_refused_and_sorted_on_request(catalog: Catalog, tmp_path: Path):
    file = log_file(tmp_path, *(log_line(ts, f"/{ts}", "1") for ts in (5, 3, 4, 3)))
    assert_refused(catalog, "access-log", file, r"log\.tsv:3: time 3 is before 5 at .*:2;.*--sort")
    views, _ = imported(catalog, "access-log", file, sort=True).load().streams
    assert views.ts.tolist() == [3, 3, 4, 5]
    assert views.tag is not None
    assert views.tag.tolist() == [2, 2, 4, 0]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_truncated_and_damaged_files_differ_from_bad_rows(
    compress, catalog: Catalog, tmp_path: Path
):
    text = "".join(log_line(i, f"/{i * i}", "1") + "\n" for i in range(20_000)).encode()
    whole = compress(text)
    file = tmp_path / "log"
    file.write_bytes(whole[: len(whole) // 2])
    assert_refused(catalog, "access-log", file, "is truncated after line", max_bad=10**6)
    file.write_bytes(whole[:100] + bytes(100) + whole[200:])
    assert_refused(catalog, "access-log", file, "is damaged after line", max_bad=10**6)
    file.write_bytes(whole)
    assert imported(catalog, "access-log", file).streams[0].rows == 20_000


def test_files_without_content_are_refused(catalog: Catalog, tmp_path: Path):
    assert_refused(catalog, "access-log", tmp_path / "none", "none: no such file")
    assert_refused(catalog, "access-log", tmp_path, "is not a regular file")
    assert_refused(catalog, "access-log", text_file(tmp_path / "empty"), "empty is empty")
    assert_refused(catalog, "access-log", text_file(tmp_path / "empty.gz"), "no rows")
    assert_refused(catalog, "access-log", log_file(tmp_path), "no rows")
    least = log_file(tmp_path, log_line(1, "/a", "1"))
    assert imported(catalog, "access-log", least).streams[0].rows == 1


def test_the_nasa_log_becomes_one_view_per_request(catalog: Catalog):
    dataset = imported(catalog, "access-log", real("pageviews/nasa_19950801.tsv.xz"))
    assert dataset.streams[0].rows == 30_969
    assert dataset.alphabet.keys == 2_088
    assert len(texts(dataset, "users")) == 2_365
    with lzma.open(real("pageviews/nasa_19950801.tsv.xz"), "rt") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    size: dict[str, int] = defaultdict(int)
    updates = []
    for _, _, ts, method, url, response, carried, _, _ in lines:
        if response == "200" and method != "HEAD" and int(carried) != size[url]:
            size[url] = int(carried)
            updates.append((int(ts), url, int(carried)))
    pages = texts(dataset, "pages")
    found = [
        (ts, pages[page], payload["meta"])
        for ts, kind, page, payload in in_order(dataset.load())
        if kind == 1
    ]
    assert found == updates


def test_the_wikipedia_file_is_refused_unsorted_and_complete_when_sorted(catalog: Catalog):
    file = real("pageviews/wikiticker-2015-09-12-sampled.json.gz")
    assert_refused(catalog, "wikipedia-edits", file, r":2: time \d+ is before .*--sort")
    dataset = imported(catalog, "wikipedia-edits", file, sort=True)
    assert dataset.streams[0].rows == 39_244
    assert dataset.alphabet.keys == 35_143
    edits: dict[str, int] = defaultdict(int)
    with gzip.open(file, "rt") as lines:
        for line in lines:
            edits[json.loads(line)["page"]] += 1
    increments = dataset.load().streams[0].tag
    assert increments is not None
    counted: dict[str, int] = defaultdict(int)
    pages = texts(dataset, "pages")
    for tag in increments.tolist():
        counted[pages[tag // 2]] += 1
    assert counted == edits


def test_a_remedy_is_only_named_where_it_is_one(catalog: Catalog, tmp_path: Path):
    file = log_file(tmp_path, "bad", "worse", header=False)
    for most in (0, 2, 10):
        with pytest.raises(DatasetError, match="none of the 2 lines can be read") as refused:
            imported(catalog, "access-log", file, max_bad=most)
        assert "max-bad" not in str(refused.value)


def test_events_that_an_import_invents_are_recorded(catalog: Catalog, tmp_path: Path):
    file = text_file(
        tmp_path / "e.json",
        edit_line("2020-01-01T00:10:00Z", "a"),
        edit_line("2020-01-01T00:20:00Z", "b"),
        edit_line("2020-01-01T01:20:00Z", "b"),
    )
    edits = imported(catalog, "wikipedia-edits", file)
    assert edits.origin["invented"] == {"read_reset": 4}
    assert invented_words(edits.origin, edits.events) == (
        "57.1% of 7 events were invented by the import (4 of kind read_reset)"
    )
    views = imported(catalog, "access-log", log_file(tmp_path, log_line(1, "/a", "1")))
    assert views.origin["invented"] == {"update": 1}
    assert invented_words({"import": "tweets"}, 5) == ""
