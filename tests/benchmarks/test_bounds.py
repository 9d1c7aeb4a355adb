"""The benchmark of checked indices: the number of checks, and equal answers."""

import pytest

from benchmarks import bounds


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("event_window", True),
        pytest.param("items_sold_together", False, marks=pytest.mark.full),  # many kernels
    ],
)
def test_a_trial_says_whether_checks_change_the_instructions(name, same, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bounds, "FEW_EVENTS", {name: 2_000})
    monkeypatch.setattr(bounds, "RUNS", 1)
    trial = bounds.try_out(name, tmp_path / "data", checked_first=True)
    assert trial.same == same
    assert trial.off_ns > 0 < trial.on_ns
    assert bounds.row(name, [trial]).endswith("same |" if same else "more |")


def test_checks_that_change_an_answer_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bounds, "FEW_EVENTS", {"event_window": 60_000})
    monkeypatch.setattr(bounds, "RUNS", 1)
    prepare = bounds.prepare

    def shifted(name, dataset, scratch, *, bounds):
        prepared = prepare(name, dataset, scratch, bounds=bounds)
        answer = prepared.answer
        prepared.answer = lambda: {key: rows + int(bounds) for key, rows in answer().items()}
        return prepared

    monkeypatch.setattr(bounds, "prepare", shifted)
    with pytest.raises(RuntimeError, match="event_window: checks change the answer"):
        bounds.try_out("event_window", tmp_path / "data", checked_first=False)
