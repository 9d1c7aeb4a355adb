"""Tests leave the user's own datasets and runs alone."""

from streamlab.workloads.default_folders import catalogue, runs


def test_outside_a_checkout_tests_keep_things_below_their_own_folder(
    tmp_path, tmp_path_factory, monkeypatch
):
    for name in ("LAB_DATA", "LAB_RUNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for place in (catalogue(), runs()):
        assert place.path.is_relative_to(tmp_path_factory.getbasetemp())
