"""The five TPCx-BB queries against answers found by hand."""

from typing import Any

import pytest

from streamlab.workloads.inputs.retail.schema import AD, DAY_MS, DYNAMIC, ORDER
from streamlab.workloads.model import Input
from streamlab.workloads.registry import workload
from tests.workloads.suite.retail_inputs import clicks, sales
from tests.workloads.suite.streams import agreed, generated

TOGETHER, VIEWED = "items_sold_together", "items_viewed_together"
LAST, CARTS, TRENDS = "last_views_before_purchase", "cart_abandonment", "declining_categories"
NAMES = (TOGETHER, VIEWED, LAST, CARTS, TRENDS)


def answered(name: str, query: dict[str, object], data: Input) -> list[tuple[Any, ...]]:
    """Return the answer of the oracle, after comparing it with that of the program."""
    return agreed(workload(name).bound(query), data)


def test_a_pair_counts_once_a_ticket_in_the_hour_of_its_later_item():
    ticket = {"store": 10, "category": 2}
    data = sales(
        (0, {**ticket, "ticket": 1, "item": 5}),
        (1, {**ticket, "ticket": 1, "item": 3}),  # (3, 5)
        (2, {**ticket, "ticket": 1, "item": 5}),  # had
        (3, {**ticket, "ticket": 2, "item": 3}),
        (4, {**ticket, "ticket": 2, "item": 4}),  # (3, 4)
        (5, {**ticket, "ticket": 3, "item": 5}),
        (6, {**ticket, "ticket": 3, "item": 9, "store": 11}),  # another store
        (7, {**ticket, "ticket": 3, "item": 8, "category": 4}),  # another category
        (10, {**ticket, "ticket": 3, "item": 3}),  # (3, 5) in the next hour: ends the first
        (11, {**ticket, "ticket": 4, "item": 3}),
        (12, {**ticket, "ticket": 4, "item": 4}),
        (13, {**ticket, "ticket": 4, "item": 5}),  # (3, 5) again, (4, 5)
        (35, {**ticket, "ticket": 5, "item": 1}),
        (36, {**ticket, "ticket": 5, "item": 2}),  # ends the second hour; the third has nothing
    )
    query = {"hour_ms": 10, "more_than": 0}
    first = [(10, 0, 1, 3, 4, 1), (10, 0, 2, 3, 5, 1)]
    assert answered(TOGETHER, query, data) == [
        *first,
        (36, 10, 1, 3, 5, 2),
        (36, 10, 2, 3, 4, 1),
        (36, 10, 3, 4, 5, 1),
    ]
    assert answered(TOGETHER, {**query, "more_than": 1}, data) == [(36, 10, 1, 3, 5, 2)]
    assert answered(TOGETHER, {**query, "top": 1}, data) == [first[0], (36, 10, 1, 3, 5, 2)]
    # Of the fourth ticket, item 5 is the third: it no longer counts, and nor do its pairs.
    assert answered(TOGETHER, {**query, "most_items": 2}, data)[2:] == [
        (36, 10, 1, 3, 4, 1),
        (36, 10, 2, 3, 5, 1),
    ]


def test_a_session_ends_with_the_first_click_after_more_than_the_gap():
    data = clicks(
        (0, {"item": 7}),
        (10, {"item": 1}),  # as late as can be
        (10, {"item": 7}),
        (10, {"item": 8, "user": 0}),  # unknown
        (12, {"item": 1, "user": 2}),
        (21, {"item": 9}),  # ends {7, 1}: (1, 7)
        (23, {"item": 6, "user": 2}),  # ends {1}: no pair
        (32, {"item": 1}),  # ends {9}, without item 1
        (33, {"item": 4}),
        (34, {"item": 7}),
        (60, {"item": 3}),  # ends {1, 4, 7}: in hour 2, so hour 0 has a list now
    )
    query = {"item": 1, "gap_ms": 10, "hour_ms": 30}
    assert answered(VIEWED, query, data) == [(60, 0, 1, 1, 7, 1)]
    seen = [(0, 1), (1, 7), (20, 1), (21, 4), (22, 7), (40, 1)]
    seen += [(41, 4), (70, 2), (100, 1), (101, 4), (150, 2)]
    later = clicks(*[(ts, {"item": item}) for ts, item in seen])
    # Counts are those since the beginning; ties are in order of items.
    assert answered(VIEWED, {**query, "hour_ms": 10}, later) == [
        (40, 20, 1, 1, 7, 1),
        (70, 40, 1, 1, 7, 2),
        (70, 40, 2, 1, 4, 1),
        (150, 70, 1, 1, 4, 2),
        (150, 70, 2, 1, 7, 2),
    ]


def test_the_last_views_within_the_time_before_a_purchase_count():
    view, bought = {"category": 2}, {"item": 1, "sale": 5, "category": 1}
    data = clicks(
        (0, {**view, "item": 4}),
        (1, {**view, "item": 5}),
        (2, {**view, "item": 6, "category": 1}),  # another category
        (3, {**view, "item": 7, "user": 2}),  # another user
        (4, {**view, "item": 8, "sale": 4}),  # another purchase
        (5, {**view, "item": 4}),
        (11, bought),  # views of 5 and 4: that at 0 is the third, and too old
        (12, bought),  # only the view at 5 is recent enough; views may count again
        (13, {**bought, "user": 2}),
        (13, {**bought, "user": 0}),
        (20, {**view, "item": 9, "user": 3}),
        (20, {**bought, "user": 3}),  # ends the hours before
    )
    query = {"item": 1, "views": 2, "within_ms": 10, "categories": "2,3", "hour_ms": 1}
    # In turn, views of 5 and 4; of 4; of 7.
    assert answered(LAST, query, data) == [
        (12, 11, 1, 1, 4, 1),
        (12, 11, 2, 1, 5, 1),
        (13, 12, 1, 1, 4, 2),
        (13, 12, 2, 1, 5, 1),
        (20, 13, 1, 1, 4, 2),
        (20, 13, 2, 1, 5, 1),
        (20, 13, 3, 1, 7, 1),
    ]
    older = {**query, "views": 5, "within_ms": 11, "top": 1}
    assert answered(LAST, older, data)[:2] == [(12, 11, 1, 1, 4, 2), (13, 12, 1, 1, 4, 3)]


def test_a_ticket_ends_when_another_one_takes_its_place():
    ticket = {"store": 10, "category": 2}
    data = sales(
        (0, {**ticket, "ticket": 1, "item": 5}),
        (1, {**ticket, "ticket": 3, "item": 5}),  # odd as well
        (2, {**ticket, "ticket": 2, "item": 7}),
        (3, {**ticket, "ticket": 1, "item": 6}),  # ticket 1 once more, without its item 5
        (4, {**ticket, "ticket": 2, "item": 8}),  # (7, 8)
        (5, {**ticket, "ticket": 1, "item": 9}),  # (6, 9)
        (30, {**ticket, "ticket": 1, "item": 4}),  # (6, 4), (9, 4)
    )
    query = {"hour_ms": 10, "more_than": 0, "open_tickets": 2}
    assert answered(TOGETHER, query, data) == [(30, 0, 1, 6, 9, 1), (30, 0, 2, 7, 8, 1)]
    assert answered(TOGETHER, {**query, "open_tickets": 3}, data)[0] == (30, 0, 1, 5, 6, 1)


def test_as_many_open_tickets_as_by_default_answer_as_if_none_ever_ended():
    chosen = workload(TOGETHER)
    data = generated(chosen, {**chosen.small, "streams": 3}, 60_000, seed=5)
    assert answered(TOGETHER, {}, data) == answered(TOGETHER, {"open_tickets": 2**40}, data)


def test_a_cart_is_abandoned_when_a_dynamic_page_comes_after_the_last_order():
    pages = {
        1: [ORDER, DYNAMIC, AD],  # abandoned: 3 pages
        2: [DYNAMIC, ORDER],
        3: [AD, AD],
        4: [DYNAMIC],  # abandoned without any order: 1 page
        5: [DYNAMIC, ORDER, DYNAMIC, AD],  # abandoned: 4 pages
    }
    rows = [(0, {"user": user, "page": page}) for user, seen in pages.items() for page in seen]
    rows += [(1, {"user": 2, "page": DYNAMIC, "sale": 3}), (2, {"user": 0, "page": DYNAMIC})]
    rows += [(11, {"user": 1}), (12, {"user": 2}), (13, {"user": 4}), (14, {"user": 3})]
    rows += [(15, {"user": 5})]
    assert answered(CARTS, {"gap_ms": 10}, clicks(*rows)) == [
        (11, 1, 3, 3.0),
        (13, 2, 4, 2.0),
        (15, 3, 8, 8 / 3),
    ]


def test_a_category_is_reported_while_its_slope_is_not_above_zero():
    def day(number: int, paid: int, **more: int) -> tuple[int, dict[str, int]]:
        return number * DAY_MS, {"category": 3, "store": 10, "net_paid": paid, **more}

    data = sales(
        day(9, 999),  # before the year
        day(10, 40),
        day(10, 10),
        day(10, 1000, store=11),
        day(11, 70),  # ends day 0 with 50: one point
        day(13, 20),  # ends day 1 with 70: (0, 50), (1, 70) rise
        day(14, 5),  # ends day 3 with 20: (0, 50), (1, 70), (3, 20) fall
        day(14, 5, category=4),
        day(16, 7),  # after the year: ends day 4 with 5
        day(17, 1),
        day(17, 1, category=4),
    )
    query = {"stores": "10", "first_day": "1970-01-11", "days": 5}
    assert answered(TRENDS, query, data) == [
        (14 * DAY_MS, 3, 3, 3, 3 * 130 - 4 * 140, 3 * 10 - 4 * 4),
        (16 * DAY_MS, 3, 4, 4, 4 * 150 - 8 * 145, 4 * 26 - 8 * 8),
    ]
    flat = sales(day(10, 4), day(11, 4), day(12, 1))
    assert answered(TRENDS, query, flat) == [(12 * DAY_MS, 3, 1, 2, 0, 1)]


@pytest.mark.parametrize("name", NAMES)
def test_operators_are_those_of_the_papers_table(name: str):
    kinds = {"stateless": "SL", "partitioned": "PS", "stateful": "SF"}
    found = " ".join(kinds[stage.kind] for stage in workload(name).program.stages)
    assert (
        found
        == {
            TOGETHER: "SL PS PS SF",
            VIEWED: "SL PS SL PS SF",
            LAST: "SL PS PS SF",  # the list of all partitions takes one more
            CARTS: "SL PS SL SF",
            TRENDS: "SL SL PS",
        }[name]
    )
