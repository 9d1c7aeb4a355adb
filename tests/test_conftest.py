"""tests/conftest.py sets the number of random examples, and keeps the user's datasets and runs out of tests."""

from hypothesis import settings

from streamlab.workloads.default_folders import catalogue, runs
from tests.examples import examples


def test_an_eighth_is_drawn_unless_nothing_is_left_out(request):
    assert examples(300) == (36 if request.config.option.markexpr else 300)
    assert examples(1) == 1


def test_an_example_may_take_its_time():
    assert settings.default.deadline is None


def test_outside_a_checkout_tests_keep_things_below_their_own_folder(
    tmp_path, tmp_path_factory, monkeypatch
):
    for name in ("LAB_DATA", "LAB_RUNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for place in (catalogue(), runs()):
        assert place.path.is_relative_to(tmp_path_factory.getbasetemp())
