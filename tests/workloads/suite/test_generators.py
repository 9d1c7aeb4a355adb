"""Laws of all generators: any rows alone, the declared columns, and rows that never change.

Also the parameters, of generators and queries, that workloads refuse.
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.workloads.datasets.cadence import rows_per_stream
from streamlab.workloads.model import Columns, ListColumn, ModelError
from streamlab.workloads.registry import workload
from tests.examples import examples
from tests.workloads.suite.ads_queries import SMALL as ADS
from tests.workloads.suite.streams import generated, in_order

FEW = st.integers(1, 5)
SYNCHRONIZED = {
    "event_window": "values_per_barrier",
    "fraud_detection": "transactions_per_rule",
    "keyed_counter": "increments_per_reset",
    "page_view_join": "views_per_update",
}
NYSE = {"seconds": 20, "mean_eps": 10, "peak_eps": 50}
RATES = {"left_eps": 700, "right_eps": 300, "rates": "step(400, 2000)"}
TWEETS = {"vocabulary": 40, "hashtags": 9, "hashtagged": 0.6}
GENERATORS: dict[str, tuple[dict[str, Any], int | None]] = {
    **{name: ({period: 3, "streams": FEW}, 5) for name, period in SYNCHRONIZED.items()},
    "forward": ({"rate_eps": 700, "streams": FEW}, 0),
    "scale_join": ({**RATES, "streams": FEW}, 0),
    "nyse_hedge": (NYSE, 1),
    "campaign_views": ({"skew": 0.7, "streams": FEW}, 0),
    "linear_road_pos_rep": ({"vehicles": 7, "streams": FEW}, 0),
    "parametric": ({"keys": 50, "sigma": 0.5, "streams": FEW}, 0),
    "sensor_interpolation": (
        {"plugs": 7, "streams": FEW, "gaps": st.sampled_from([0.0, 0.02, 0.9]), "gap_s": 5},
        0,
    ),
    "declining_categories": ({**workload("declining_categories").small, "streams": FEW}, 0),
    "cart_abandonment": ({**workload("cart_abandonment").small, "streams": FEW}, 0),
    "high_mobility_fraud": ({**workload("high_mobility_fraud").small, "streams": FEW}, 0),
    "smart_home": (
        {**workload("smart_home").small, "ends": st.sampled_from(["all", "house"])},
        None,
    ),
    "nexmark_q0": ({"streams": FEW, "rate": 100, "group": st.sampled_from([1, 10])}, 0),
    "wordcount": ({**TWEETS, "streams": FEW}, 4),
}
"""Parameters of a generator of each input, and by how many events it may exceed the number asked for."""


def params_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    values = GENERATORS[name][0].items()
    return st.fixed_dictionaries(
        {key: v if isinstance(v, st.SearchStrategy) else st.just(v) for key, v in values}
    )


def plain(columns: Columns) -> dict[str, list[Any]]:
    return {
        name: list(values.rows()) if isinstance(values, ListColumn) else values.tolist()
        for name, values in columns.items()
    }


@pytest.mark.parametrize("name", GENERATORS)
@settings(deadline=None, max_examples=examples(60))
@given(st.data(), st.integers(0, 900), st.integers(0, 300), st.integers(-9, 2**64))
def test_any_range_of_rows_can_be_made_alone(name: str, data, begin: int, length: int, seed: int):
    chosen = workload(name)
    params = chosen.params(data.draw(params_of(name)))
    specs = chosen.streams(params, 6000)
    index = data.draw(st.integers(0, len(specs) - 1))
    whole = chosen.generate(params, seed, specs, index, 0, 1200)
    part = chosen.generate(params, seed, specs, index, begin, begin + length)
    types = {key: values.dtype for key, values in whole.items()}
    assert {key: values.dtype for key, values in part.items()} == types
    assert plain(part) == {key: rows[begin : begin + length] for key, rows in plain(whole).items()}
    assert np.all(np.diff(whole["ts"]) >= 0)
    assert types.pop("ts") == np.int64
    assert types.pop("tag", np.int32) == np.int32
    fields = {key: specs[index].fields[key] for key in specs[index].fields.names or ()}
    assert types == fields | dict(specs[index].lists)


@pytest.mark.parametrize(
    "name", [name for name, (_, more) in GENERATORS.items() if more is not None]
)
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data(), events=st.sampled_from([0, 1, 151, 152, 999, 1000]))
def test_streams_have_the_requested_events(name: str, data, events: int):
    chosen, params = workload(name), data.draw(params_of(name))
    specs = chosen.streams(chosen.params(params), events)
    assert 0 <= sum(spec.events for spec in specs) - events <= (GENERATORS[name][1] or 0)
    assert [len(s) for s in generated(chosen, params, events, seed=1).streams] == [
        spec.events for spec in specs
    ]


@pytest.mark.parametrize("name", GENERATORS)
def test_seeds_make_different_data(name: str):
    chosen = workload(name)
    params = chosen.params({})
    specs = chosen.streams(params, 3000)
    one, two = (plain(chosen.generate(params, seed, specs, 0, 0, 1000)) for seed in (1, 2))
    assert one != two


@pytest.mark.parametrize("name", ["forward", "parametric"])
def test_ids_are_different_in_all_streams(name: str):
    data = generated(workload(name), {"streams": 3}, 1000, seed=1)
    ids = np.concatenate([stream.payload["id"] for stream in data.streams])
    assert len(set(ids.tolist())) == len(ids) == 1000


@pytest.mark.parametrize("name", SYNCHRONIZED)
def test_between_two_syncs_every_stream_has_exactly_one_period(name: str):
    data = generated(workload(name), {SYNCHRONIZED[name]: 7, "streams": 2}, 200, seed=3)
    since, syncs = 0, 0
    for _, kind, _, _ in in_order(data):
        if kind == 1:
            assert since == 14
            since, syncs = 0, syncs + 1
        else:
            since += 1
    assert syncs == 200 // 15


@pytest.mark.parametrize(("name", "key"), [("page_view_join", "pages"), ("keyed_counter", "keys")])
def test_one_key_needs_no_tag_and_several_do(name: str, key: str):
    chosen = workload(name)
    for keys, tagged in ((1, False), (5, True)):
        params = chosen.params({key: keys})
        specs = chosen.streams(params, 100)
        for index in range(len(specs)):
            columns = chosen.generate(params, 1, specs, index, 0, specs[index].events)
            assert ("tag" in columns) is tagged


@given(st.integers(0, 10**6), st.integers(1, 64), st.integers(1, 10**5))
def test_sizes_are_the_smallest_with_the_requested_events(events: int, streams: int, period: int):
    def total(rows: int) -> int:
        return streams * rows + rows // period

    found = rows_per_stream(events, streams, period)
    assert total(found) >= events
    assert found == 0 or total(found - 1) < events


@pytest.mark.parametrize(
    ("name", "params", "most"),
    [
        ("campaign_views", {"rate": 7}, 100),
        ("linear_road_pos_rep", {"vehicles": 11}, 100),
        ("declining_categories", {}, 500),
        ("cart_abandonment", {}, 3041),
        ("high_mobility_fraud", {"phones": 9}, 500),
    ],
)
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data(), streams=st.integers(2, 6), seed=st.integers(0, 2**64))
def test_several_streams_have_the_rows_of_one(name: str, params, most: int, data, streams, seed):
    def rows(count: int) -> Counter[tuple[Any, ...]]:
        found = generated(workload(name), {**params, "streams": count}, events, seed)
        assert found.events == events
        tables = [{"ts": stream.ts, **stream.payload} for stream in found.streams]
        return Counter(row for table in tables for row in zip(*plain(table).values(), strict=True))

    events = data.draw(st.integers(0, most))
    assert rows(streams) == rows(1)


KNOWN = """
page_view_join       100000 1   1000  1000 2 24838, 1001 48 5193, 1002 16 96914
page_view_join       100000 2      0  9999 1 46912, 19999 3 79881, 29999 5 35757
forward               10000 1   1000  20 2001 327437, 20 2003 894102, 20 2005 720349
scale_join            10000 1   1000  1000 3275 2484.0 0.7837939914315939 1, \
1001 8942 520.0 0.10589171713218093 1, 1002 7204 9692.0 0.40254174661822617 0
nyse_hedge            10000 1   1000  34204875 1 24348 24718, 34204881 8 36044 36501, \
34204893 5 23508 23649
campaign_views      1000000 1 100000  2000 676 99 223 0, 2000 307 44 777 1, 2000 324 15 620 0
linear_road_pos_rep  100000 1  10000  150000 0 1 33 1 3 0 73 388847, \
150000 0 3 24 1 1 0 30 163613, 150000 0 5 27 0 3 1 81 429468
parametric             1000 0    500  5 500 23504 860645161, 5 501 44279 920624941, \
5 502 39049 29767066
sensor_interpolation 100000 1  10000  40 941 1 235 58 1, 40 943 3 235 58 0, 40 945 5 236 59 1
declining_categories   1003 0   1000  999388804788 133 15878 9 0 33 118536, \
999388804788 133 13584 5 0 92 59776, 999388804788 133 13147 8 0 94 68714
cart_abandonment       1003 0   1000  999389786842 16868 4350 0 1 6, \
999389787828 0 10472 0 3 1, 999389788815 3890 16514 0 5 3
high_mobility_fraud    1000 0    500  500 264 1 7881 706363 882154 88035 165667 470710, \
501 19 8 96048 383932 692110 81788 681323 739144, \
502 417 7 83097 648581 675931 85870 493772 275405
"""
"""Workload, events, stream, first row, and three rows of seed 42."""
UNUSUAL = {
    "page_view_join": {"skew": 1.2, "pages": 50},
    "campaign_views": {"skew": 0.5},
    "parametric": {"sigma": 0.2},
}
"""Parameters of these rows that are not the defaults."""


@pytest.mark.parametrize("known", KNOWN.strip().splitlines(), ids=lambda line: line.split()[0])
def test_known_rows_stay_unchanged(known: str):
    """The generator's version must be raised when this changes: catalogues rely on it."""
    name, *numbers, rows = known.split(maxsplit=4)
    events, index, begin = map(int, numbers)
    params = workload(name).params(UNUSUAL.get(name, {}))
    specs = workload(name).streams(params, events)
    columns = plain(workload(name).generate(params, 42, specs, index, begin, begin + 3))
    found = zip(*columns.values(), strict=True)
    assert [" ".join(map(str, row)) for row in found] == rows.split(", ")


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("campaign_views", {"ads": 3}, "3 ads for 100 campaigns"),
        ("declining_categories", {"fixed_percent": 70}, "is 70 and popular_percent 40"),
        ("linear_road_pos_rep", {"vehicles": 2, "streams": 3}, "3 streams for 2 vehicles"),
        ("nyse_hedge", {"seconds": 60}, "no room for a peak of 7600"),
        ("scale_join", {"lowest": 5, "highest": 4}, "lowest is 5 and highest 4"),
        ("scale_join", {"fraction_bits": 11}, r"steps of 2\^-11 are not exact"),
        ("scale_join", {"rates": "often"}, "scale_join: rates is 'often'; expected steady"),
        ("sensor_interpolation", {"plugs": 2, "streams": 3}, "3 streams for 2 plugs"),
        ("smart_home", {"ends": "household"}, "ends is 'household'; give all or house"),
        ("smart_home", {"houses": 1}, "2 streams for 1 houses; give at most"),
        ("smart_home", {"slice_s": 7000}, "slice_s is 7000, which does not divide a day"),
    ],
)
def test_parameters_of_generators_that_make_no_sense_are_refused(name: str, params, message: str):
    with pytest.raises(ModelError, match=message):
        workload(name).streams(workload(name).params(params), 1000)


@pytest.mark.parametrize(
    ("name", "query", "message"),
    [
        (
            "items_sold_together",
            {"stores": "1;2"},
            "stores is '1;2'; give ids such as 1,2,3, or all",
        ),
        ("items_sold_together", {"most_items": 1}, "most_items: must be at least 2"),
        ("last_views_before_purchase", {"categories": ""}, "categories is ''"),
        (
            "declining_categories",
            {"first_day": "2001"},
            "first_day is '2001'; give a day such as 2001-09-02",
        ),
        ("nyse_hedge", {"lower": 2.0, "upper": 1.0}, "lower is 2.0 and upper 1.0"),
        ("wordcount", {"counting": "list"}, "counting is 'list'; give set or bag"),
        ("wordcount", {"wa_ms": 10, "ws_ms": 5}, "1 <= advance <= size"),
        ("smart_home", {"slice_s": 7000}, "slice_s is 7000, which does not divide a day"),
        *(
            (name, {"form": "fast"}, "form is 'fast'; give typed or handcrafted")
            for name in (*ADS, "sensor_interpolation", "smart_home_prediction")
        ),
        *(
            (name, query, "must be a multiple of markers_ms")
            for name, query in (
                ("campaign_views", {"markers_ms": 1000, "window_ms": 1500}),
                ("campaign_views", {"markers_ms": 1, "window_ms": 10_001}),
                ("campaign_views_tumbling", {"markers_ms": 20_000}),
                ("user_clusters", {"period_ms": 999}),
            )
        ),
        (
            "campaign_views",
            {"ads": 4, "campaigns": 3, "lookup": "oracle"},
            "lookup is 'oracle'; give memory or sqlite",
        ),
        (
            "user_activity",
            {"persist": "oracle"},
            "persist is 'oracle'; give none or sqlite",
        ),
        *(
            ("parametric", query, message)
            for query, message in (
                ({"operators": "sl,xx"}, "operators is 'sl,xx'; give one or more of sl, ps, sf"),
                ({"operators": ""}, "operators is ''"),
                ({"iterations": "1,2,3"}, "iterations is '1,2,3', with 3 entries for 2 operators"),
                (
                    {"iterations": "many"},
                    "iterations is 'many': 'many' is not a whole number below",
                ),
                ({"selectivity": "0"}, "'0' is neither a whole number above 0 nor a share between"),
                ({"selectivity": "1.5"}, "'1.5' is neither"),
                ({"selectivity": "2000"}, "4000000 copies of a record; the maximum is 1048576"),
                ({"state_bytes": "12"}, "12 is not a multiple of 8 from 8 to 65536"),
                ({"tuple_bytes": 36}, "tuple_bytes is 36; give a multiple of 8"),
                ({"tuple_bytes": 24}, "must be at least 32"),
                ({"partitioning": "key"}, "partitioning is 'key'; give range or hash"),
            )
        ),
    ],
)
def test_query_parameters_that_make_no_sense_are_refused(name: str, query, message: str):
    with pytest.raises(ModelError, match=message):
        workload(name).bound(query)
