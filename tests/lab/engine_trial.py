"""Specifications of trials for tests."""

from typing import Any

from streamlab.lab.trial.spec import EngineTrial


def engine_trial(**fields: Any) -> EngineTrial:
    """Return a trial of the fake engine with one worker, or with other fields."""
    defaults: dict[str, Any] = {
        "engine": "fake",
        "variant": "correct",
        "workers": 1,
        "batch": 1,
        "options": {},
        "dataset": None,
    }
    return EngineTrial(**{**defaults, **fields})
