import itertools

from hypothesis import given
from hypothesis import strategies as st

from streamlab.reports.figures.labels import spread

POSITIONS = st.lists(st.floats(0, 1, allow_nan=False), max_size=25)


@given(POSITIONS)
def test_labels_never_overlap_stay_in_range_and_keep_their_order(wanted):
    gap = 0.03
    placed = spread(wanted, gap=gap, low=0.0, high=1.0)
    ordered = sorted(placed)
    assert all(-1e-9 <= position <= 1 + 1e-9 for position in placed)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(ordered))
    by_wish = [placed[i] for i in sorted(range(len(wanted)), key=lambda i: wanted[i])]
    assert by_wish == ordered


def test_labels_that_have_room_do_not_move():
    assert spread([0.9, 0.1, 0.5], gap=0.1, low=0.0, high=1.0) == [0.9, 0.1, 0.5]


def test_two_labels_at_one_place_part_evenly():
    first, second = spread([0.5, 0.5], gap=0.2, low=0.0, high=1.0)
    assert (round(first, 9), round(second, 9)) == (0.4, 0.6)


def test_too_many_labels_share_the_range_evenly():
    placed = spread([0.5] * 5, gap=0.5, low=0.0, high=1.0)
    assert placed == [0.0, 0.25, 0.5, 0.75, 1.0]
