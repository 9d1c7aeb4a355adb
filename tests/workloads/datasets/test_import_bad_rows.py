"""Bad rows and bad settings of every kind are refused with their place and reason."""

import re
from pathlib import Path
from typing import Any

import pytest

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.kind import ImportOptions
from streamlab.workloads.datasets.imports.registry import import_kind
from streamlab.workloads.inputs.connections.schema import COLUMNS
from tests.workloads.datasets.files import edit_line, log_line, rows_of, text_file
from tests.workloads.datasets.raw_files import RAW, options_of, raw_file

HTTP = dict(
    zip((*COLUMNS, "label"), ("0", "tcp", "http", "SF", *["0"] * 37, "normal."), strict=True)
)
HOMES = {"houses": 3, "households-per-house": 2, "plugs-per-household": 5}
LEAN = {"columns": {"ts": "1", "price": "2"}}


def connection(**changed: str) -> str:
    return ",".join((HTTP | changed).values())


def event(user: str, ad: str, kind: str, time: str) -> str:
    fields = f'"user_id": "{user}", "page_id": "p", "ad_id": "{ad}", "event_type": "{kind}"'
    return f'{{{fields}, "event_time": {time}, "ip_address": "1.2.3.4"}}'


GOOD = {
    "access-log": log_line(1, "/a", "1"),
    "wikipedia-edits": edit_line("2020-01-01T00:00:00Z", "a"),
    "ad-events": event("u", "ad-1", "view", "5"),
    "open-bandit": "2019-11-24 12:00:02+00:00,4,1,0,a,b,c,d",
    "debs-2014": "1,1379880000,1,1,0,0,0",
    "kdd-cup": connection(),
    "linear-road": "0,31,107,41,0,1,0,10,54978",
    "retail": "5,1,7,1.10,B",
    "tracebase": "29/02/2012 23:59:59;1;999999999",
    "trades": "1,100,A",
}
"""A good row of some kinds."""
HEADERS = {"open-bandit": RAW["open-bandit"][0]([], lambda below: 0)}

BAD = {
    "access-log": {
        "3 columns instead of 9": "a\tb\tc",
        "column time is 'x'": log_line(1, "/a", "1").replace("\t1\t", "\tx\t", 1),
        "column bytes is '-5'": log_line(1, "/a", "-5"),
        "column bytes is 2147483648, above": log_line(1, "/a", "2147483648"),
        "column time is 9223372036854775808, above": log_line(2**63, "/a", "1"),
        "column url is empty": log_line(1, "", "1"),
        "column response is 2000": log_line(1, "/a", "1", response=2000),
    },
    "wikipedia-edits": {
        "not JSON": '{"time": ',
        "a JSON list instead of an object": "[1]",
        "field page is missing": '{"time": "2020-01-01T00:00:00Z"}',
        "field page is 5": '{"time": "2020-01-01T00:00:00Z", "page": 5}',
        "'noon' is not an ISO 8601 time": edit_line("noon", "a"),
        "field page has half a surrogate pair": '{"time": "2020-01-01", "page": "\\ud800"}',
    },
    "ad-events": {
        "not JSON": "{",
        "a JSON list instead of an object": "[1]",
        "ad 'ad-99' is in no campaign of --campaigns": event("u", "ad-99", "view", "1"),
        "field event_type is 'look', not one of view, click": event("u", "ad-1", "look", "1"),
        "'soon' is not a number of milliseconds": event("u", "ad-1", "view", '"soon"'),
        "field event_time is True": event("u", "ad-1", "view", "true"),
        "field event_time is None": event("u", "ad-1", "view", "null"),
        r"user 'u\tv' has a tab": event(r"u\tv", "ad-1", "view", "1"),
        "field user_id is '', not text": event("", "ad-1", "view", "1"),
    },
    "open-bandit": {
        "item '55' is not in the table of items": "2019-11-24 12:00:02+00:00,55,1,0,a,b,c,d",
        "column click is '2', not 0 or 1": "2019-11-24 12:00:02+00:00,4,1,2,a,b,c,d",
        "'never' is not an ISO 8601 time": "never,4,1,0,a,b,c,d",
        "2 columns instead of 8": "7,2019-11-24",
    },
    "debs-2014": {
        "6 columns instead of 7": "1,2,3,1,0,0",
        "column timestamp is 'x', not a whole number": "1,x,3,1,0,0,0",
        "column value is '-1', not a number from 0": "1,0,-1,1,0,0,0",
        "column value is 'nan', not a number": "1,0,nan,1,0,0,0",
        "column value is 2147484, above 2147483": "1,0,2147484,1,0,0,0",
        "column property is 2, above 1": "1,0,1,2,0,0,0",
        "column plug_id is 5, not below --plugs-per-household 5": "1,0,1,1,5,0,0",
        "column household_id is 2, not below --households-per-house 2": "1,0,1,1,0,2,0",
        "column house_id is 'h', not a whole number": "1,0,1,1,0,0,h",
    },
    "kdd-cup": {
        "43 columns instead of 42": connection() + ",more",
        "column duration is '-1', not a whole number from 0": connection(duration="-1"),
        "column land is 2, above 1": connection(land="2"),
        "column count is 40000, above 32767": connection(count="40000"),
        "column serror_rate is 1.01, not from 0 to 1": connection(serror_rate="1.01"),
        "column serror_rate is nan, not from 0 to 1": connection(serror_rate="nan"),
        "column serror_rate is 'x', not a number from 0 to 1": connection(serror_rate="x"),
        "column service is '', not a word without '/'": connection(service=""),
        "column label is empty": connection(label="."),
    },
    "linear-road": {
        "3 columns instead of 7 (Time VID Spd": "1 2 3",
        "8 columns instead of 7": "1 2 3 0 1 0 77 8",
        "column Time is 'x', not a whole number from 0": "x 2 3 0 1 0 77",
        "column VID is '-2'": "1 -2 3 0 1 0 77",
        "column VID is 2147483648, above 2147483647": "1 2147483648 3 0 1 0 77",
        "column Lane is 5, above 4": "1 2 3 0 5 0 77",
        "column Dir is 2, above 1": "1 2 3 0 1 2 77",
        "column Pos is 528000, above 527999": "1 2 3 0 1 0 528000",
        "4 columns instead of 9 (Type,Time,VID": "0,1,2,3",
        "column Type is 1, not one of 0, 2, 3, 4": "1,1,2,3,0,1,0,0,77",
        "column Seg is 100, above 99": "0,1,2,3,0,1,0,100,77",
        "column Seg is '' or '-1', not a whole number": "0,1,2,3,0,1,0,-1,77",
        "column Time is '1.5'": "0,1.5,2,3,0,1,0,1,77",
        "column Spd is 'nan'": "2,1,2,nan,0,1,0,1,77",
    },
    "retail": {
        f"column item is {shown}": f"5,1,{item},1,B"
        for item, shown in {
            **{text: repr(text) for text in ("x", "1.5", "-1", "٣", "0x1")},
            "": "''",
            "2147483648": "2147483648, above",
        }.items()
    },
    "tracebase": {
        "column 1s is '6a', not a whole number from 0": "01/01/2012 00:00:00;6a;1",
        "column 1s is '-1'": "01/01/2012 00:00:00;-1;1",
        "column 1s is ''": "01/01/2012 00:00:00;;1",
        "column 8s is '1.5'": "01/01/2012 00:00:00;1;1.5",
        "column 8s is 10000000000, above": "01/01/2012 00:00:00;1;10000000000",
        "column 8s is '\xb2'": "01/01/2012 00:00:00;1;\xb2",
        **{
            f"'{time}' is not of the form %d/%m/%Y %H:%M:%S": f"{time};1;1"
            for time in (
                "29/02/2011 00:00:00",
                "00/01/2012 00:00:00",
                "01/13/2012 00:00:00",
                "01/00/2012 00:00:00",
                "01/01/2012 24:00:00",
                "01/01/2012 00:60:00",
                "01-01-2012 00:00:00",
                "01/01/2012T00:00:00",
                "01/01/20x2 00:00:00",
            )
        },
    },
    "trades": {
        f"column price is {text!r}": f"1,{text},A"
        for text in ("", "x", "-1", "0", "0.001", "nan", "inf", "21474836.48")
    },
}
"""Bad rows of some kinds, by reason."""


@pytest.mark.parametrize(
    ("kind", "reason"), [(kind, reason) for kind, reasons in BAD.items() for reason in reasons]
)
def test_a_bad_row_is_shown_with_its_place_and_left_out(kind: str, reason: str, tmp_path: Path):
    file = raw_file(kind, tmp_path)
    text_file(file, *HEADERS.get(kind, ()), GOOD[kind], BAD[kind][reason], GOOD[kind])
    found, rows = rows_of(kind, file, **options_of(kind, tmp_path))
    assert (found.bad, len(rows)) == (1, 2)
    place = f"{file}:{len(HEADERS.get(kind, ())) + 2}: "
    assert found.bad_lines[0].startswith(place)
    assert reason in found.bad_lines[0]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("debs-2014", {"houses": 0}, "--houses is 0; give 1 or more"),
        ("debs-2014", {"plugs-per-household": -1}, "--plugs-per-household is -1; give 1 to 10000"),
        ("debs-2014", {"plugs-per-household": 10_001}, "is 10001; give 1 to 10000"),
        ("debs-2014", {"slice-s": 12}, "--slice-s is 12; give 60 to 43200, the range of the query"),
        ("debs-2014", {"slice-s": 86_400}, "--slice-s is 86400; give 60 to 43200"),
        ("debs-2014", {"slice-s": 77}, "--slice-s: slice_s is 77, which does not divide a day"),
        ("debs-2014", {"ends": "plug"}, "--ends is 'plug'; give all or house"),
        ("kdd-cup", {"check-every": 0}, "--check-every is 0; give 1 or more"),
        ("open-bandit", {"campaign": "x"}, "--campaign is 'x'; give one of item_feature_0,"),
        ("open-bandit", {"location": "x"}, "--location is 'x'; give one of user_feature_0,"),
        ("retail", {"time": "noon"}, "--time is 'noon'; give one of iso, s"),
        ("retail", {"product-columns": "item=a,category=b"}, "--products, which is missing"),
        ("tracebase", {"mean": "2s"}, "--mean is '2s'; give 1s or 8s"),
        ("trades", {"time": "noon"}, "--time is 'noon'; give one of iso, s, ms"),
        ("trades", {"price-scale": 0.0}, "--price-scale is 0.0; give a number above 0"),
    ],
)
def test_a_setting_out_of_range_is_refused_at_once(
    kind: str, options: dict[str, Any], message: str, tmp_path: Path
):
    file = text_file(tmp_path / "rows", GOOD[kind])
    columns = RAW[kind][1].get("columns", {})
    with pytest.raises(DatasetError, match=re.escape(message)):
        import_kind(kind).complete(ImportOptions(files=(file,), columns=columns, settings=options))


@pytest.mark.parametrize(
    ("kind", "columns", "message"),
    [
        ("retail", {"ts": "time"}, "does not name the column of ticket, item, net_paid"),
        ("trades", {"ts": "1"}, "--columns does not name the column of price"),
    ],
)
def test_a_missing_column_is_refused_at_once(
    kind: str, columns: dict[str, str], message: str, tmp_path: Path
):
    file = text_file(tmp_path / "rows", GOOD[kind])
    with pytest.raises(DatasetError, match=message):
        import_kind(kind).complete(ImportOptions(files=(file,), columns=columns))
