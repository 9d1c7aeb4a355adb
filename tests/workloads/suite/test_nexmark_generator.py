"""Compares Nexmark's generated events with the public definition of proportions and distributions."""

import numpy as np
import numpy.typing as npt
import pytest

from streamlab.workloads.datasets.tables.lateness import Lateness
from streamlab.workloads.inputs.nexmark.schema import (
    AUCTION,
    BID,
    CATEGORIES,
    CHANNELS,
    CITIES,
    FIELDS,
    FIRST_CATEGORY,
    FIRST_MS,
    HOT_CHANNELS,
    NAMES,
    PERSON,
    STATES,
    channel_name,
    letters,
    person_name,
)
from streamlab.workloads.model import Columns, ModelError
from streamlab.workloads.registry import workload
from tests.workloads.suite.streams import columns_of, generated

MANY = 1_000_000
SOURCE = workload("nexmark_q0")


def events(number: int, **params: object) -> Columns:
    """Return so many events in order of time, from one stream."""
    return columns_of(generated(SOURCE, {"streams": 1, **params}, number, seed=1))


def of_type(columns: Columns, kind: int) -> Columns:
    rows = np.flatnonzero(columns["type"] == kind)
    return {"number": rows, **{name: values[rows].astype(int) for name, values in columns.items()}}


@pytest.fixture(scope="module")
def many() -> Columns:
    return events(MANY)


def assert_uniform(values: npt.NDArray[np.int64], count: int) -> None:
    """Check that values are uniform in [0, count)."""
    assert values.min() >= 0
    assert values.max() < count
    found = np.bincount(values, minlength=count)
    mean = len(values) / count
    # Chi-squared of so many degrees of freedom: its mean and six standard deviations.
    assert ((found - mean) ** 2 / mean).sum() < count + 6 * np.sqrt(2 * count)


def assert_share(mask: npt.NDArray[np.bool_], share: float) -> None:
    """Check a probability, within six standard deviations."""
    assert abs(mask.mean() - share) < 6 * np.sqrt(share * (1 - share) / len(mask))


def assert_price(price: npt.NDArray[np.int64]) -> None:
    """Check that prices are 100 x 10^(6 u) for a uniform u."""
    assert_uniform((np.log10(price[price > 1000] / 100) / 6 * 60).astype(int) - 10, 50)
    assert_share(price <= 1000, 1 / 6)


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_others_bids(many: Columns):
    expected = [PERSON, AUCTION, AUCTION, AUCTION, *[BID] * 46] * (MANY // 50)
    assert many["type"].tolist() == expected
    assert many["ts"].tolist() == [FIRST_MS + event // 10 for event in range(MANY)]


def test_persons_and_auctions_are_numbered_from_1000(many: Columns):
    persons, auctions = of_type(many, PERSON)["person"], of_type(many, AUCTION)["auction"]
    assert persons.tolist() == list(range(1000, 1000 + MANY // 50))
    assert auctions.tolist() == list(range(1000, 1000 + MANY * 3 // 50))


def test_prices_are_powers_of_ten_with_a_uniform_exponent(many: Columns):
    bids, auctions = of_type(many, BID), of_type(many, AUCTION)
    assert_price(bids["price"])
    assert_price(auctions["price"])
    assert_price(auctions["reserve"] - auctions["price"])
    assert np.mean(bids["price"]) == pytest.approx(100 * (10**6 - 1) / (6 * np.log(10)), rel=0.01)


def test_half_of_the_bids_are_for_the_first_auction_of_the_latest_hundred(many: Columns):
    bids = of_type(many, BID)
    last = bids["number"] // 50 * 3 + 2
    auction = bids["auction"] - 1000
    steady = last >= 200
    is_hot = auction == last // 100 * 100
    # One of the other auctions is the hot one, unless that is older than these.
    assert_share(is_hot[steady], 0.5 + 0.5 / 111)
    others = steady & ~is_hot & (last % 100 == 50)
    assert_uniform((auction - last + 100)[others & (auction < last - 50)], 50)
    assert (auction - last)[others].min() == -100
    assert (auction - last)[others].max() == 10


def test_three_quarters_of_bidders_and_sellers_are_hot(many: Columns):
    for kind, member in ((BID, 1), (AUCTION, 0)):
        found = of_type(many, kind)
        last = found["number"] // 50
        person = found["person"] - 1000
        steady = last >= 1000
        is_hot = person == last // 100 * 100 + member
        assert_share(is_hot[steady], 0.75 + 0.25 / 1010)
        assert_uniform((person - last + 999)[steady & ~is_hot & (person < last - 100)], 899)
        assert (person - last)[steady & ~is_hot].max() == 10


def test_an_auction_lasts_up_to_twice_the_time_in_which_a_hundred_open():
    auctions = of_type(events(MANY // 4, rate=100), AUCTION)
    length = auctions["expires"] - auctions["ts"]
    assert_uniform((length - 1) // 833, 40)
    assert length.min() >= 1
    assert length.max() <= 2 * 1666 * 10


def test_categories_places_names_and_channels_are_uniform(many: Columns):
    persons, auctions, bids = (of_type(many, kind) for kind in (PERSON, AUCTION, BID))
    assert_uniform(auctions["category"] - FIRST_CATEGORY, CATEGORIES)
    assert_uniform(persons["state"], len(STATES))
    assert_uniform(persons["city"], len(CITIES))
    assert_uniform(persons["name"], NAMES)
    for texts in (auctions["name"], bids["extra"]):
        assert_uniform(texts // 26 % 26, 26)
        assert_uniform(texts // 26**5, 26)
    is_hot = bids["channel"] < len(HOT_CHANNELS)
    assert_share(is_hot, 0.5)
    assert_uniform(bids["channel"][is_hot], len(HOT_CHANNELS))
    assert_uniform(bids["channel"][~is_hot] - len(HOT_CHANNELS), CHANNELS)


def test_fields_of_other_types_are_zero(many: Columns):
    has = {
        PERSON: {"person", "name", "city", "state"},
        AUCTION: {"person", "auction", "price", "reserve", "expires", "category", "name"},
        BID: {"person", "auction", "price", "channel", "extra"},
    }
    for kind, names in has.items():
        found = of_type(many, kind)
        others = set(FIELDS.names or ()) - names - {"type"}
        assert not any(found[name].any() for name in others)


def test_events_of_a_group_are_as_late_as_their_order_of_reading_makes_them():
    made = events(7000, rate=100, group=20)
    number = np.arange(7000)
    read = number // 20 * 20 + number * 953 % 20
    expected = np.zeros(7000, np.int64)
    expected[read] = Lateness(bound=None).measure(made["ts"][read])
    assert made["late_by"].tolist() == expected.tolist()
    assert 100 < made["late_by"].max() < 200
    with pytest.raises(ModelError, match="give no multiple of 953"):
        events(10, group=1906)


def test_numbers_stand_for_texts():
    assert person_name(NAMES - 1) == "Walter Noris"
    assert [channel_name(number) for number in (0, 4)] == ["Google", "channel-0"]
    assert letters(2 + 26 * 25) == "czaaaa"
