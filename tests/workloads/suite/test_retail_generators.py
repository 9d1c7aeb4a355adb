"""Generated sales and clicks: addressable rows, and the shape of the published data model."""

from collections import Counter

import numpy as np
import pytest

from streamlab.workloads.datasets.random import draw
from streamlab.workloads.inputs.retail.parameters import midnight_ms
from streamlab.workloads.inputs.retail.scale import popular_ids, sizes_of
from streamlab.workloads.inputs.retail.schema import HOUR_MS, PAGES
from streamlab.workloads.model import Columns
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import columns_of, generated

SALES, CLICKS = "declining_categories", "cart_abandonment"
ONCE = {"scale": 10_000.0, "visits_per_hour": 30}
"""So many customers that a user hardly has two visits, of which few are under way at a time."""

FIRST_MS = midnight_ms("2001-09-02")


def table(name: str, events: int, **given: object) -> Columns:
    return columns_of(generated(workload(name), given, events, seed=5))


def shares(values: np.ndarray) -> dict[int, float]:
    found, count = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), (count / len(values)).tolist(), strict=True))


SOLD, CLICKED = 600_000, 152 * 4000


@pytest.fixture(scope="module")
def sold() -> Columns:
    return table(SALES, SOLD, orders_per_hour=20_000)


@pytest.fixture(scope="module")
def clicked() -> Columns:
    return table(CLICKS, CLICKED)


class TestSales:
    def test_orders_have_1_to_14_lines_each_number_as_often(self, sold: Columns):
        _, lines = np.unique(sold["ticket"], return_counts=True)
        assert len(lines) == SOLD / 7.5
        found = shares(lines)
        assert sorted(found) == list(range(1, 15))
        assert all(share == pytest.approx(1 / 14, rel=0.05) for share in found.values())
        # Neighbours in a pair are opposite; pairs do not depend on each other.
        assert abs(np.corrcoef(lines[:-2:2], lines[2::2])[0, 1]) < 0.02

    def test_lines_of_an_order_are_together_at_one_time_in_one_store(self, sold: Columns):
        new = np.flatnonzero(np.diff(sold["ticket"], prepend=-1))
        assert len(new) == len(np.unique(sold["ticket"]))
        for name in ("ts", "store"):
            assert np.array_equal(sold[name][new][sold["ticket"]], sold[name])

    def test_event_time_begins_on_the_first_day_at_the_requested_rate(self, sold: Columns):
        assert sold["ts"][0] == FIRST_MS
        hours = (sold["ts"][-1] - FIRST_MS) / HOUR_MS
        assert hours == pytest.approx(SOLD / 7.5 / 20_000, rel=1e-3)
        assert table(SALES, 9, first_day="1970-01-02")["ts"][0] == 86_400_000

    def test_40_percent_of_items_are_popular_and_5_fixed(self, sold: Columns):
        items = sold["item"]
        assert items.min() >= 0 and items.max() == 17_999
        uniform = 0.55 / 18_000
        fixed = sum(share for item, share in shares(items).items() if 10_000 <= item <= 10_003)
        assert fixed == pytest.approx(0.05 + 4 * uniform, rel=0.03)
        often = {item for item, share in shares(items).items() if share > 5 * uniform}
        popular_share = np.isin(items, list(often - set(range(10_000, 10_004)))).mean()
        # Shares are so high within 2.5 deviations, where 99 % of the normal distribution lies.
        assert popular_share == pytest.approx(0.4, rel=0.1)
        assert 150 < len(often) < 330

    def test_categories_and_stores_are_even(self, sold: Columns):
        by_item = {}
        for item, category in zip(sold["item"].tolist(), sold["category"].tolist(), strict=True):
            assert by_item.setdefault(item, category) == category
        categories = shares(np.array(list(by_item.values())))
        assert sorted(categories) == list(range(1, 11))
        assert all(share == pytest.approx(0.1, rel=0.02) for share in categories.values())
        assert [by_item[item] for item in range(10_000, 10_004)] == [1, 2, 3, 4]
        stores = shares(sold["store"])
        assert sorted(stores) == list(range(12))
        assert all(share == pytest.approx(1 / 12, rel=0.06) for share in stores.values())

    def test_amounts_are_those_of_the_price_formula(self, sold: Columns):
        paid, quantity = sold["net_paid"], sold["quantity"]
        assert paid.min() == 0 and quantity.min() == 1 and quantity.max() == 100
        each = paid / quantity
        assert each.max() < 20_000
        # Wholesale 50.50, times 1.5, times 0.5, and a tenth of it as coupons.
        assert each.mean() == pytest.approx(5050 * 1.5 * 0.5 * 0.9, rel=0.02)

    def test_sizes_grow_with_the_root_of_the_scale(self):
        made_of = sizes_of(25.0)
        assert (made_of.items, made_of.customers, made_of.stores) == (90_000, 500_000, 60)
        assert (made_of.items_deviation, made_of.customers_deviation) == (180, 1200)
        big = table(SALES, 60_000, scale=25.0)
        assert big["store"].max() == 59 and 85_000 < big["item"].max() < 90_000


class TestClicks:
    def test_a_tenth_of_the_rows_are_sales_of_1_to_14_items_at_one_time(self, clicked: Columns):
        sold = clicked["sale"] > 0
        assert sold.mean() == 15 / 152
        sale, lines = np.unique(clicked["sale"][sold], return_counts=True)
        assert len(sale) == 2 * CLICKED / 152
        found = shares(lines)
        assert sorted(found) == list(range(1, 15))
        assert all(share == pytest.approx(1 / 14, rel=0.12) for share in found.values())
        for name in ("ts", "user"):
            by_sale = {}
            pairs = zip(clicked["sale"][sold].tolist(), clicked[name][sold].tolist(), strict=True)
            assert all(by_sale.setdefault(number, value) == value for number, value in pairs)

    def test_of_ten_visits_four_are_of_unknown_users(self, clicked: Columns):
        looked = clicked["sale"] == 0
        # Of 137 clicks, 128 are of visitors, half of whom are unknown.
        assert (clicked["user"][looked] == 0).mean() == pytest.approx(64 / 137, rel=0.03)
        assert (clicked["user"][~looked] > 0).all()
        assert clicked["user"].max() <= 100_000

    def test_buyers_are_half_uniform_half_popular(self, clicked: Columns):
        first = np.unique(clicked["sale"], return_index=True)[1][1:]
        often = Counter(clicked["user"][first].tolist())
        # Popular buyers are some thousand of 100,000; the others hardly come twice.
        most = sum(count for _, count in often.most_common(2400))
        assert most / len(first) > 0.45
        assert len(often) > 0.45 * len(first)

    def test_views_are_uniform_and_purchases_are_as_in_stores(self, clicked: Columns):
        sold = clicked["sale"] > 0
        fixed = (clicked["item"] >= 10_000) & (clicked["item"] <= 10_003)
        assert fixed[sold].mean() == pytest.approx(0.05, rel=0.1)
        assert fixed[~sold].mean() == pytest.approx(4 / 18_000, rel=0.3)
        assert np.array_equal(clicked["category"], 1 + clicked["item"] % 10)
        pages = shares(clicked["page"])
        assert sorted(pages) == list(range(len(PAGES)))
        assert all(share == pytest.approx(1 / 7, rel=0.02) for share in pages.values())

    def test_gaps_within_a_visit_are_up_to_twice_the_mean(self):
        clicked = table(CLICKS, 152 * 3000, **ONCE)
        looked = (clicked["sale"] == 0) & (clicked["user"] > 0)
        order = np.argsort(clicked["user"][looked], kind="stable")
        user, ts = clicked["user"][looked][order], clicked["ts"][looked][order]
        gap = np.diff(ts)[np.diff(user) == 0] / 1000
        near = gap[gap < 4900]
        assert len(near) > 0.9 * len(gap)
        assert near.mean() == pytest.approx(2400, rel=0.03)
        # A triangle from 0 to 4,800 s: an eighth is above an hour.
        assert (near > 3600).mean() == pytest.approx(1 / 8, abs=0.02)

    def test_visitors_make_11_to_21_clicks_and_buyers_3_to_6_more(self):
        clicked = table(CLICKS, 152 * 3000, **ONCE)
        first = np.unique(clicked["sale"], return_index=True)[1][1:]
        user, sales = np.unique(clicked["user"][first], return_counts=True)
        buyers, several = user[sales == 1], user[sales > 1]
        looked = (clicked["sale"] == 0) & (clicked["user"] > 0)
        user, count = np.unique(clicked["user"][looked], return_counts=True)
        # Visits that are cut at either end of the input, and users who come again, are few, but
        # for popular buyers.
        of_buyers = shares(count[np.isin(user, buyers)])
        assert sum(of_buyers.get(n, 0) for n in (3, 4, 5, 6)) > 0.9
        assert all(of_buyers[n] == pytest.approx(0.24, abs=0.04) for n in (3, 4, 5, 6))
        of_visitors = shares(count[~np.isin(user, buyers) & ~np.isin(user, several)])
        assert sum(of_visitors.get(n, 0) for n in range(11, 22)) > 0.9
        assert all(of_visitors[n] == pytest.approx(1 / 11, abs=0.03) for n in range(11, 22))

    def test_a_buyer_looks_around_before_the_purchase(self):
        clicked = table(CLICKS, 152 * 1000, **ONCE)
        bought = {}
        for row in np.flatnonzero(clicked["sale"] > 0).tolist():
            bought.setdefault(int(clicked["user"][row]), row)
        looked = Counter()
        for row in np.flatnonzero(clicked["sale"] == 0).tolist():
            user = int(clicked["user"][row])
            looked[user] += user in bought and row < bought[user]
        before = [looked[user] for user, row in bought.items() if row > 152 * 200]
        assert np.mean([n >= 3 for n in before]) > 0.95

    def test_rows_come_at_the_requested_rate(self):
        clicked = table(CLICKS, 152 * 100, visits_per_hour=500)
        hours = (clicked["ts"][-1] - FIRST_MS) / HOUR_MS
        assert hours == pytest.approx(100 * 10 / 500, rel=0.01)


def test_popular_ids_are_normal_on_a_fixed_permutation():
    ids = popular_ids(draw(1, 0, 0, 0, 200_000), 18_000, 60)
    place = (ids * pow(1_000_003, -1, 18_000)) % 18_000 - 9_000
    assert place.mean() == pytest.approx(0, abs=0.6)
    assert place.std() == pytest.approx(60, rel=0.01)
    assert (np.abs(place) <= 60).mean() == pytest.approx(0.6867, abs=0.01)
