"""Import of Nexmark's public JSON lines."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.inputs.nexmark.schema import (
    AUCTION,
    BID,
    CITIES,
    FIELDS,
    PERSON,
    STATES,
    channel_name,
    letters,
    person_name,
)
from streamlab.workloads.registry import workload
from tests.workloads.datasets.cuts import cut_small
from tests.workloads.datasets.files import imported, rows, rows_of, text_file, texts
from tests.workloads.suite.streams import generated

NAMES = ("ts", *(FIELDS.names or ()))
OBJECTS = {PERSON: "person", AUCTION: "auction", BID: "bid"}
GROUP = 10


def stamp(ms: int) -> str:
    return str(np.datetime64(ms, "ms")).replace("T", " ")


def with_texts(row: Mapping[str, int]) -> dict[str, Any]:
    """Return a generated event, and its texts for numbers."""
    name = person_name if row["type"] == PERSON else letters
    return {
        **row,
        "name": name(row["name"]) if row["type"] != BID else "",
        "city": CITIES[row["city"]] if row["type"] == PERSON else "",
        "channel": channel_name(row["channel"]) if row["type"] == BID else "",
    }


def public(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with texts as nexmark-flink writes it."""
    columns = {
        PERSON: {"id": "person", "name": "name", "city": "city"},
        AUCTION: {
            "id": "auction",
            "itemName": "name",
            "initialBid": "price",
            "reserve": "reserve",
            "seller": "person",
            "category": "category",
        },
        BID: {"auction": "auction", "bidder": "person", "price": "price", "channel": "channel"},
    }
    event = {name: row[column] for name, column in columns[row["type"]].items()}
    event["dateTime"] = stamp(row["ts"])
    if row["type"] == PERSON:
        event["state"] = STATES[row["state"]]
    elif row["type"] == AUCTION:
        event["expires"] = stamp(row["expires"])
    else:
        event["extra"] = letters(row["extra"]) + "- and more"
    objects = dict.fromkeys(OBJECTS.values())
    return {"event_type": row["type"], **objects, OBJECTS[row["type"]]: event}


def test_generated_events_come_back_from_the_public_format_in_the_order_of_reading(
    catalog: Catalog, tmp_path: Path
):
    data = generated(
        workload("nexmark_q0"), {"streams": 1, "rate": 100, "group": GROUP}, 700, seed=1
    )
    (made,) = rows(data, *NAMES[1:])
    expected = [with_texts(dict(zip(NAMES, row, strict=True))) for row in made]
    read = [expected[n // GROUP * GROUP + n * 953 % GROUP] for n in range(len(expected))]
    file = text_file(tmp_path / "events.json.gz", *(json.dumps(public(row)) for row in read))
    dataset = imported(catalog, "nexmark", file, streams=3)
    assert dataset.workload == "nexmark"
    numbered = {name: texts(dataset, f"{name}s") for name in ("name", "channel")}
    numbered["city"] = texts(dataset, "cities")
    found = []
    for stream in rows(dataset, *NAMES[1:]):
        for row in stream:
            fields: dict[str, Any] = dict(zip(NAMES, row, strict=True))
            found.append(fields | {name: of[fields[name]] for name, of in numbered.items()})
    assert sorted(found, key=lambda row: row["ts"]) == expected
    assert max(row["late_by"] for row in found) > 0


def test_rows_depend_on_all_lines_before_them_also_of_other_blocks_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cut_small(monkeypatch)
    person = {"id": 7, "name": "A B", "city": "Bend", "state": "OR", "dateTime": "0"}
    lines = [json.dumps({"event_type": PERSON, "person": person})]
    lines += [json.dumps(bid(dateTime=ms)) for ms in (9_000, 1_000, 2_000, 8_500)]
    files = [
        text_file(tmp_path / "first", *lines),
        text_file(tmp_path / "second", json.dumps(bid(dateTime=3_000)), lines[0]),
    ]
    found, good = rows_of("nexmark", *files, max_bad=1, settings={"time": "ms"})
    late_by = 1 + list(FIELDS.names or ()).index("late_by")
    assert [row[late_by] for row in good] == [0, 0, 8_000, 7_000, 500, 6_000]
    (bad_line,) = found.bad_lines
    assert bad_line.startswith(f"{files[1]}:2: person 7 occurs twice")


def bid(**fields: object) -> dict[str, Any]:
    whole = {"auction": 1, "bidder": 2, "price": 3, "dateTime": 1_436_918_400_000, "extra": "A,c"}
    return {"event_type": BID, "bid": whole | fields}


def test_older_bids_without_a_channel_and_times_in_milliseconds_are_read(tmp_path: Path):
    found, (row,) = rows_of("nexmark", text_file(tmp_path / "bids", json.dumps(bid())))
    assert not found.bad
    fields = dict(zip(NAMES, row, strict=True))
    assert fields["ts"] == 1_436_918_400_000
    assert (fields["channel"], fields["expires"], letters(fields["extra"])) == ("", 0, "acaaaa")


def test_an_id_that_occurs_twice_makes_a_bad_line(tmp_path: Path):
    whole = {"id": 7, "name": "A B", "city": "Bend", "state": "or", "dateTime": 1_436_918_400_000}
    line = json.dumps({"event_type": PERSON, "person": whole})
    found, (row,) = rows_of("nexmark", text_file(tmp_path / "persons", line, line), max_bad=1)
    assert dict(zip(NAMES, row, strict=True))["state"] == STATES.index("OR")
    assert "person 7 occurs twice" in found.bad_lines[0]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"event_type": 3}, "field event_type is 3, not 0, 1 or 2"),
        ({"event_type": []}, "field event_type is [], not 0, 1 or 2"),
        ({"event_type": BID, "bid": None}, "field bid is None, not an object"),
        (
            bid(auction=2**31),
            "field auction is 2147483648, not a whole number from 0 to 2147483647",
        ),
        (bid(dateTime=None), "field dateTime is None, not a time"),
        (
            {"event_type": PERSON, "person": {"state": "TX", "dateTime": "0"}},
            "field state is 'TX', not one of AZ, CA, ID, OR, WA, WY",
        ),
    ],
)
def test_events_that_do_not_fit_are_bad_lines(event: object, why: str, tmp_path: Path):
    lines = text_file(tmp_path / "events", json.dumps(bid()), json.dumps(event))
    found, good = rows_of("nexmark", lines, max_bad=1)
    assert len(good) == 1
    assert why in found.bad_lines[0]
