"""Random tests draw an eighth of their examples, and all of them in `make test-all`."""

from hypothesis import settings

from tests.examples import examples


def test_an_eighth_is_drawn_unless_nothing_is_left_out(request):
    assert examples(300) == (36 if request.config.option.markexpr else 300)
    assert examples(1) == 1


def test_an_example_may_take_its_time():
    assert settings.default.deadline is None
