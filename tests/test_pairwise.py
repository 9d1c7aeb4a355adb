from itertools import combinations, product

import pytest

from tests.pairwise import covering, spread

pytest_plugins = ["pytester"]
SQUARE = list(product(range(4), range(4), range(4)))


@pytest.mark.parametrize("strength", [1, 2, 3])
@pytest.mark.parametrize("rows", [SQUARE, SQUARE[::3], [(1, 2)], []])
def test_all_that_any_row_holds_is_in_a_chosen_row(rows, strength):
    chosen = [rows[index] for index in covering(rows, strength)]
    expected, found = (
        {held for row in some for held in combinations(enumerate(row), min(strength, len(row)))}
        for some in (rows, chosen)
    )
    assert found == expected


def test_few_rows_are_chosen_and_always_the_same():
    assert len(covering(SQUARE, 1)) == 4
    assert len(covering(SQUARE)) <= 24
    assert covering(SQUARE) == covering(SQUARE)


def test_some_of_a_list_lie_evenly_and_begin_with_the_first():
    def of(number, rows):
        return spread(number, [(row,) for row in range(rows)])

    assert of(3, 9) == {0, 3, 6}
    assert of(5, 9) == {0, 1, 3, 5, 7}
    assert of(4, 2) == {0, 1}


@pytest.mark.parametrize("number", [1, 2, 4, 6, 12])
@pytest.mark.parametrize("sizes", [(6, 2), (2, 6), (4, 3), (3, 2, 2)])
def test_some_of_a_product_have_as_many_values_as_so_many_can(number, sizes):
    rows = list(product(*map(range, sizes)))
    chosen = [rows[index] for index in spread(number, rows)]
    assert len(chosen) == number
    assert rows[0] in chosen
    for place, size in enumerate(sizes):
        assert len({row[place] for row in chosen}) == min(number, size)


@pytest.mark.parametrize(
    ("marker", "kept"), [("pairwise(strength=1)", 4), ("pairwise", 16), ("some(3)", 3)]
)
def test_left_out_parts_are_marked_and_stay(pytester, marker, kept):
    pytester.makeconftest(
        """
        import pytest
        from tests.pairwise import mark_left_out

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection_modifyitems(items):
            mark_left_out(items)
        """
    )
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.{marker}
        @pytest.mark.parametrize("a", range(4))
        @pytest.mark.parametrize("b", range(4))
        @pytest.mark.parametrize("c", range(1))
        def test_product(a, b, c):
            pass

        def test_other():
            pass
        """
    )
    found = pytester.runpytest("-q", "-m", "not full", "-p", "no:cacheprovider")
    found.assert_outcomes(passed=kept + 1, deselected=16 - kept)
    pytester.runpytest("-q", "-p", "no:cacheprovider").assert_outcomes(passed=17)
