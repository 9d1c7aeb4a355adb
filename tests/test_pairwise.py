from itertools import product

import pytest

from tests.pairwise import covering, pairs, pairwise

SQUARE = list(product(range(4), range(4), range(4)))


@pytest.mark.parametrize("rows", [SQUARE, SQUARE[::3], [(1, 2)], []])
def test_every_pair_that_any_row_holds_is_in_a_chosen_row(rows):
    chosen = [rows[index] for index in covering(rows)]
    wanted, found = ({pair for row in some for pair in pairs(row)} for some in (rows, chosen))
    assert found == wanted


def test_few_rows_are_chosen_and_always_the_same():
    assert len(covering(SQUARE)) <= 24
    assert covering(SQUARE) == covering(SQUARE)


def test_rows_that_are_not_chosen_are_marked_and_stay():
    made = pairwise(SQUARE)
    assert [param.values for param in made] == SQUARE
    quick = [param.values for param in made if not param.marks]
    assert quick == [SQUARE[index] for index in covering(SQUARE)]
