"""Damage is noticed: in streams, dictionaries, records and kept answers."""

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.catalog import Catalog, damages
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DamagedError, DatasetError
from streamlab.workloads.datasets.integrity import dictionary_texts, verify
from streamlab.workloads.datasets.manifest import Content
from streamlab.workloads.datasets.oracle_cache import expected
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Alphabet
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import log_file, log_line
from tests.workloads.datasets.small_datasets import DTYPES, RECIPE, edit, flip

FLIPS = 200
EVENT_WINDOW = workload("event_window")


def publish(catalog: Catalog) -> Dataset:
    """Put a dataset of two streams and a dictionary into a catalogue."""
    with catalog.staging() as staging:
        folder = staging / "dataset"
        folder.mkdir()
        ts = np.arange(500)
        alphabet = Alphabet(kinds=("value", "barrier"))
        streams = tuple(
            write_stream(
                folder, name, (kind,), DTYPES, [{"ts": at, "value": at * 7 % 1000}], alphabet
            )
            for kind, (name, at) in enumerate({"value-0": ts, "barrier": ts[9::10]}.items())
        )
        for done in folder.glob("*.done"):
            done.unlink()
        texts = pa.table({"id": pa.array([0, 1], pa.int32()), "text": ["/a", "/b"]})
        pq.write_table(texts, folder / "pages.parquet")
        content = Content(
            workload="event_window",
            alphabet=alphabet,
            streams=streams,
            origin={"generator": "event_window", "params": {"streams": 1}, "seed": 1, "events": 9},
            source="test",
            licence="none",
            dictionaries={"pages": "pages.parquet"},
        )
        return catalog.publish(folder, content, RECIPE)


def bits(path: Path) -> int:
    return path.stat().st_size * 8


def columns(dataset: Dataset) -> list[list[int]]:
    streams = dataset.load().streams
    return [
        column.tolist() for stream in streams for column in (stream.ts, *stream.payload.values())
    ]


def test_no_flipped_bit_of_a_stream_is_loaded(catalog: Catalog):
    made = publish(catalog)
    draw = random.Random(1)
    for _ in range(FLIPS):
        path = draw.choice(made.streams).path
        bit = draw.randrange(bits(path))
        flip(path, bit)
        with pytest.raises(DatasetError, match=re.escape(str(path))):
            columns(catalog.get(made.id))
        flip(path, bit)
    assert columns(catalog.get(made.id)) == columns(made)


def test_no_flipped_bit_of_any_file_goes_unnoticed(catalog: Catalog):
    made = publish(catalog)
    answer = expected(EVENT_WINDOW, made)
    folder = catalog.folder(made.id)
    assert list(damages(folder)) == []
    files = sorted(path for path in folder.iterdir() if path.is_file())
    assert len(files) == 4
    (kept,) = folder.glob("expected/*")
    draw = random.Random(2)
    for _ in range(FLIPS):
        path = draw.choice([*files, kept])
        bit = draw.randrange(bits(path))
        flip(path, bit)
        found = list(damages(folder))
        if path == kept and not found:  # the answer is what is checked of it, not its bytes
            again = expected(EVENT_WINDOW, made)
            assert {name: values.tolist() for name, values in again.items()} == {
                name: values.tolist() for name, values in answer.items()
            }
        else:
            assert len(found) == 1, f"bit {bit} of {path.name}"
            assert str(folder) in found[0]
        if kept.exists():
            kept.unlink()
        if path != kept:
            flip(path, bit)
        expected(EVENT_WINDOW, made)
    assert list(damages(folder)) == []


def test_no_flipped_bit_of_a_dictionary_is_looked_up(catalog: Catalog):
    made = publish(catalog)
    draw = random.Random(3)
    for _ in range(FLIPS):
        (part,) = catalog.get(made.id).dictionaries
        bit = draw.randrange(bits(part.path))
        flip(part.path, bit)
        with pytest.raises(DamagedError, match=re.escape(str(part.path))):
            dictionary_texts(part)
        flip(part.path, bit)
    assert dictionary_texts(part) == ["/a", "/b"]


def test_a_flip_is_noticed_by_any_reader_that_looks_at_page_checksums(catalog: Catalog):
    made = publish(catalog)
    path = made.streams[0].path
    flip(path, 8 * 200)  # within the first page
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(path, page_checksum_verification=True)


def test_the_message_names_file_stream_and_the_command_that_makes_it_again(catalog: Catalog):
    made = publish(catalog)
    flip(made.streams[1].path, 8 * 200)
    with pytest.raises(DatasetError) as raised:
        verify(catalog.get(made.id))
    for part in (
        f"{made.streams[1].path} (stream barrier) is damaged",
        "lab data build event_window --events 9 --seed 1 --param streams=1",
    ):
        assert part in str(raised.value)


def test_a_damaged_dataset_is_not_found_and_is_replaced_when_it_is_made_again(catalog: Catalog):
    made = publish(catalog)
    flip(made.streams[0].path, 8 * 200)
    assert catalog.find(RECIPE) is None
    damage = catalog.damage(RECIPE)
    assert damage is not None and damage[0] == made.id
    again = publish(catalog)
    assert again == made
    assert catalog.damage(RECIPE) is None
    assert list(damages(catalog.folder(made.id))) == []


def test_a_stamp_saves_reading_only_while_the_file_is_as_it_was(catalog: Catalog):
    checked = verify(publish(catalog))
    path = checked.streams[0].path
    assert checked.streams[0].stamp is not None
    assert verify(checked) == checked
    # A wrong checksum shows whether the file is read.
    doubted = replace(checked.streams[0], file_sha256="1" * 64)
    verify(replace(checked, streams=(doubted,)))
    flip(path, 8 * 200)
    with pytest.raises(DatasetError, match="value-0"):
        verify(checked)
    with pytest.raises(DatasetError, match="value-0"):
        checked.load()
    flip(path, 8 * 200)
    assert columns(verify(checked)) == columns(checked)
    path.unlink()
    with pytest.raises(DatasetError, match="cannot be read"):
        verify(checked)


@pytest.mark.parametrize("value", ["0" * 64, "", "12ab", None, 5])
@pytest.mark.parametrize("place", ["content", "bytes", "id"])
def test_a_record_without_true_checksums_is_refused(catalog: Catalog, place: str, value: object):
    made = publish(catalog)
    folder = catalog.folder(made.id)

    def change(record):
        if place == "content":
            record["streams"][0]["sha256"] = value
        elif place == "bytes":
            record["files"]["value-0.parquet"] = value
        else:
            record["id"] = value

    edit(folder, change, sealed=True)
    with pytest.raises(DatasetError, match=r"dataset.json is damaged"):
        catalog.get(made.id)


def test_a_record_that_lacks_checksums_is_refused(catalog: Catalog):
    made = publish(catalog)
    folder = catalog.folder(made.id)
    whole = (folder / manifest.NAME).read_text()
    for change in (
        lambda record: record.pop("checksum"),
        lambda record: record.pop("files"),
        lambda record: record["files"].pop("pages.parquet"),
        lambda record: record["streams"][0].pop("sha256"),
    ):
        edit(folder, change)
        with pytest.raises(DatasetError, match=r"dataset.json is damaged"):
            catalog.get(made.id)
        (folder / manifest.NAME).write_text(whole)
    assert catalog.get(made.id) == made


def test_checksums_of_files_do_not_change_the_id(catalog: Catalog):
    """The id is that of the revision before files had any."""
    assert publish(catalog).id == "f337fb67ffe48c07166c3f7228306fd5e7226c3afc8ef9d6dadf94990c0dcf6e"


def test_an_answer_is_stored_for_the_content_that_was_read(catalog: Catalog):
    made = publish(catalog)
    expected(EVENT_WINDOW, made)
    folder = catalog.folder(made.id)
    (first,) = folder.glob("expected/*")
    other = replace(made, streams=(replace(made.streams[0], sha256="1" * 64), *made.streams[1:]))
    expected(EVENT_WINDOW, other)
    (second,) = set(folder.glob("expected/*")) - {first}
    # An answer under another's name is not taken for its own.
    second.write_bytes(first.read_bytes())
    expected(EVENT_WINDOW, other)
    assert second.read_bytes() != first.read_bytes()


def test_no_answer_is_stored_for_damaged_input(catalog: Catalog):
    made = publish(catalog)
    flip(made.streams[0].path, 8 * 200)
    with pytest.raises(DatasetError, match="value-0"):
        expected(EVENT_WINDOW, made)
    assert list(catalog.folder(made.id).glob("expected/*")) == []


def test_an_import_with_a_damaged_dictionary_is_replaced_by_importing_again(capsys, tmp_path: Path):
    file = log_file(tmp_path, log_line(1, "/a", "1"), log_line(2, "/b", "1"))
    root = ["--root", str(tmp_path / "data")]
    again = ["data", "import", "access-log", "--file", str(file), *root]
    assert call(again) == EXIT_OK
    made = capsys.readouterr().out
    pages = tmp_path / "data" / made.strip() / "pages.parquet"
    flip(pages, 8 * 40)
    assert call(["data", "verify", *root]) == EXIT_USER_ERROR
    output = capsys.readouterr().out
    assert f"{pages} (dictionary pages) is damaged" in output
    assert f"lab data import access-log --file {file.name} --streams 1" in output
    assert call(again) == EXIT_OK
    assert capsys.readouterr().out == made
    assert call(["data", "verify", *root]) == EXIT_OK
