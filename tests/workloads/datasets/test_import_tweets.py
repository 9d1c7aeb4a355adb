import csv
import gzip
import json
import lzma
import tarfile
import zipfile
from collections import Counter
from io import BytesIO, StringIO
from pathlib import Path

import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import ListColumn
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import expected_answer, imported, real, text_file, texts

APRIL = "Thu Apr 09 01:31:{:02} +0000 2015"
APRIL_MS = 1_428_543_060_000


def tokenize(dataset: Dataset, name: str) -> list[list[str]]:
    """Return the words or hashtags of all tweets of the first stream, as text."""
    column = dataset.load().streams[0].payload[name]
    assert isinstance(column, ListColumn)
    known = texts(dataset, name)
    return [[known[value] for value in row] for row in column.rows()]


def archive(path: Path, members: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as made:
            for name, content in members.items():
                made.writestr(name, content)
        return path
    with tarfile.open(path, "w:xz") as made:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, BytesIO(content))
    return path


def tweet(second: int, text: str, encoding: str = "utf-8") -> bytes:
    return f"1|{APRIL.format(second)}|{text}\r\n".encode(encoding)


def test_an_archive_of_mixed_encodings_newest_first(catalog: Catalog, tmp_path: Path):
    members = {
        "T/new.txt": tweet(9, "It\u2019s a|b #Caf\u00e9", "cp1252") + b"\r\n" + tweet(3, "x"),
        "T/.hidden": b"not a tweet\n",
        "T/old.txt": tweet(5, "\u4f60\u597d na\u00efve don't"),
    }
    dataset = imported(catalog, "tweets", archive(tmp_path / "t.tar.xz", members))
    stream = dataset.load().streams[0]
    assert (stream.ts - APRIL_MS).tolist() == [3000, 5000, 9000]
    assert tokenize(dataset, "words") == [
        ["x"],
        ["\u4f60\u597d", "na\u00efve", "don't"],
        ["it's", "a", "b"],
    ]
    assert tokenize(dataset, "hashtags") == [[], [], ["caf\u00e9"]]
    assert texts(dataset, "words")[:2] == ["it's", "a"]  # by first appearance
    users = texts(dataset, "users")
    assert [users[user] for user in stream.payload["user"]] == ["new", "old", "new"]
    assert stream.payload["chars"].tolist() == [1, 14, 14]
    assert dataset.workload == "tweets"
    assert dataset.origin["rows_out_of_order"] == 1
    assert dataset.origin["sorted_here"] is True


def test_links_in_an_archive_are_passed_over(catalog: Catalog, tmp_path: Path):
    path = tmp_path / "t.tar.xz"
    content = tweet(1, "word")
    with tarfile.open(path, "w:xz") as made:
        for name, kind, leads_to in (
            ("gone.txt", tarfile.SYMTYPE, "nowhere.txt"),
            ("a.txt", tarfile.REGTYPE, ""),
            ("soft.txt", tarfile.SYMTYPE, "a.txt"),
            ("hard.txt", tarfile.LNKTYPE, "a.txt"),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, leads_to
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            made.addfile(info, BytesIO(content))
    dataset = imported(catalog, "tweets", path)
    assert texts(dataset, "users") == ["a"]
    assert dataset.events == 1


@pytest.mark.parametrize("packed", ["t.csv", "t.csv.gz", "t.zip"])
def test_csv_with_named_columns_and_text_of_several_lines(
    packed: str, catalog: Catalog, tmp_path: Path
):
    rows = [
        ["id", "when", "who", "body"],
        ["1", "2015-04-09T01:31:05Z", "ann", 'two\nlines, "quoted"'],
        ["2", "Thu Apr 09 01:31:01 +0000 2015", "bob", "as Twitter"],
        ["3", "2015-04-09 03:31:02.5+02:00", "ann", "elsewhere"],
    ]
    sink = StringIO()
    csv.writer(sink).writerows(rows)
    content = b"\xef\xbb\xbf" + sink.getvalue().encode()
    path = tmp_path / packed
    if packed.endswith(".zip"):
        archive(path, {"in/t.csv": content})
    else:
        path.write_bytes(gzip.compress(content) if packed.endswith(".gz") else content)
    columns = {"ts": "when", "user": "who", "text": "body"}
    dataset = imported(catalog, "tweets", path, columns=columns)
    assert (dataset.load().streams[0].ts - APRIL_MS).tolist() == [1000, 2500, 5000]
    assert tokenize(dataset, "words")[-1] == ["two", "lines", "quoted"]
    assert dataset.origin["columns"] == columns


REFUSED = {
    "no column nothing for text; there are a, b": (["a,b", "1,x"], {"ts": "a", "text": "nothing"}),
    "does not name the column of text": (["a,b", "1,x"], {"ts": "a"}),
    "tweets has no column price; it takes ts, user, text": (["a"], {"price": "a"}),
    r"t\.csv:2: 'noon' is not a time": (["a,b", "noon,x"], {"ts": "a", "text": "b"}),
    r"t\.csv: the quote opened in line 2 is never closed .*--no-quotes": (
        ["a,b", '1,"x'],
        {"ts": "a", "text": "b"},
    ),
    r"t\.csv:2: not of the form id": (["1|Thu Apr 09 01:31:00 +0000 2015|x", "1|2"], {}),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_unreadable_input_is_refused_with_its_place(reason: str, catalog: Catalog, tmp_path: Path):
    lines, columns = REFUSED[reason]
    with pytest.raises(DatasetError, match=reason):
        imported(catalog, "tweets", text_file(tmp_path / "t.csv", *lines), columns=columns)


def test_a_truncated_archive_is_refused(catalog: Catalog, tmp_path: Path):
    content = b"".join(tweet(i % 60, f"word{i * i}") for i in range(5000))
    whole = archive(tmp_path / "t.tar.xz", {"a.txt": content}).read_bytes()
    (tmp_path / "t.tar.xz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match="is truncated after line"):
        imported(catalog, "tweets", tmp_path / "t.tar.xz")


def test_a_time_of_another_unit_is_refused_with_both_lines(catalog: Catalog, tmp_path: Path):
    file = text_file(tmp_path / "t.csv", "at,body", "1536507914000,a", "1536507917123000,b")
    columns = {"ts": "at", "text": "body"}
    said = (
        r"t\.csv:3: 1536507917123000 looks like microseconds since 1970, but 1 of the first "
        r"2 times, such as 1536507914000 \(t\.csv:2\), looks like milliseconds since "
        r"1970; --time ms reads all as milliseconds"
    )
    with pytest.raises(DatasetError, match=said):
        imported(catalog, "tweets", file, columns=columns)
    dataset = imported(catalog, "tweets", file, columns=columns, max_bad=1)
    assert dataset.origin["times"] == "milliseconds since 1970 (recognized)"
    assert (dataset.origin["bad_rows"], dataset.origin["unit"]) == (1, "ms")


def test_comments_of_edits_in_two_streams(catalog: Catalog, tmp_path: Path):
    edits = [
        {"time": f"2015-04-09T01:31:0{i}Z", "user": f"u{i % 2}", "comment": text}
        for i, text in enumerate(["first", "", "second second"])
    ]
    file = text_file(tmp_path / "e.json", *map(json.dumps, edits))
    dataset = imported(catalog, "wikipedia-comments", file, streams=2)
    one, two = dataset.load().streams
    assert ((one.ts - APRIL_MS).tolist(), (two.ts - APRIL_MS).tolist()) == ([0, 2000], [1000])
    assert tokenize(dataset, "words") == [["first"], ["second", "second"]]


def tweets_by_user(file: Path) -> Counter[str]:
    """Count the lines of each member of an archive."""
    found: Counter[str] = Counter()
    with lzma.open(file) as raw, tarfile.open(fileobj=raw, mode="r|") as members:
        for info in members:
            content = members.extractfile(info)
            if content is not None:
                found[Path(info.name).stem] = sum(bool(line.strip()) for line in content)
    return found


REAL = {
    "tweets": ("tweets/Health-Tweets.tar.xz", 63_326),
    "wikipedia-comments": ("pageviews/wikiticker-2015-09-12-sampled.json.gz", 39_244),
}


QUERIES = ("wordcount", "longest_tweet_per_hashtag", "paircount")


# The reference engine takes half a minute for the tweets, and for pairs of words of either.
@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        pytest.param(
            kind,
            chosen,
            marks=() if (kind, chosen) == ("wikipedia-comments", "wordcount") else pytest.mark.full,
        )
        for kind in REAL
        for chosen in QUERIES
    ],
)
def test_real_texts_are_counted_as_the_reference_engine_counts_them(
    kind: str, chosen: str, catalog: Catalog
):
    name, rows = REAL[kind]
    dataset = imported(catalog, kind, real(name), sort=True)
    data = dataset.load()
    assert data.events == rows
    assert dataset.origin["bad_rows"] == 0
    if kind == "tweets":
        users = texts(dataset, "users")
        authors = data.streams[0].payload["user"]
        assert not isinstance(authors, ListColumn)
        assert Counter(users[user] for user in authors.tolist()) == tweets_by_user(real(name))
    expected_answer(workload(chosen), data)
