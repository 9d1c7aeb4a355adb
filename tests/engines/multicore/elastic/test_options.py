import tomllib

import pytest

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore.oplus.elastic.controller import Settings, make_controller, names
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.model import Model
from streamlab.engines.multicore.oplus.elastic.script import Script
from streamlab.engines.multicore.oplus.elastic.thresholds import Thresholds


def from_toml(text):
    return make_controller(tomllib.loads("controller = " + text)["controller"])


def test_a_table_of_a_matrix_makes_a_controller():
    controller, settings = from_toml(
        '{ kind = "thresholds", upper = 0.9, target = 0.7, lower = 0.4, min = 2, max = 8, '
        "period_ms = 50, from_s = 2 }"
    )
    assert isinstance(controller, Thresholds)
    assert settings == Settings(
        kind="thresholds",
        minimum=2,
        maximum=8,
        period_ms=50.0,
        from_s=2.0,
        options={"upper": 0.9, "target": 0.7, "lower": 0.4},
    )


def test_what_is_not_said_has_defaults():
    controller, settings = from_toml('{ kind = "model" }')
    assert isinstance(controller, Model)
    assert (settings.minimum, settings.maximum, settings.period_ms) == (1, None, 100.0)
    assert settings.from_s == 0.0
    assert isinstance(from_toml('{ kind = "script", steps = [[0, 2], [1.5, 1]] }')[0], Script)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", "option controller is 5; expected a table"),
        ("{}", "kind is None; expected one of model, script, thresholds"),
        (
            '{ kind = "magic" }',
            "kind 'magic' does not exist; expected one of model, script, thresholds",
        ),
        ('{ kind = "model", min = 0 }', "controller model: min is 0; expected a whole number"),
        ('{ kind = "model", max = 1.5 }', "max is 1.5; expected a whole number"),
        ('{ kind = "model", max = true }', "max is True"),
        ('{ kind = "model", min = 3, max = 2 }', "max is 2, below min, which is 3"),
        ('{ kind = "model", period_ms = 0.5 }', "period_ms is 0.5; expected a number of at least"),
        ('{ kind = "model", period_ms = inf }', "period_ms is inf"),
        ('{ kind = "model", from_s = -1 }', "from_s is -1; expected a number of at least 0"),
        ('{ kind = "model", target = 0.7 }', r"option target \(= 0.7\) is unknown; it has upper, "),
        ('{ kind = "model", upper = "high" }', "option upper is 'high'; expected a finite number"),
        ('{ kind = "model", upper = nan }', "option upper is nan"),
        ('{ kind = "model", upper = 0.7, lower = 0.8 }', "lower, upper are 0.8, 0.7; expected 0 <"),
        ('{ kind = "model", ahead_s = 0 }', "ahead_s is 0; expected a number above 0"),
        ('{ kind = "model", hold_s = -1 }', "hold_s is -1; expected at least 0"),
        ('{ kind = "thresholds", target = 0.95 }', "lower, target, upper are 0.45, 0.95, 0.9"),
        ('{ kind = "thresholds", upper = 1.2 }', "are 0.45, 0.7, 1.2; expected 0 < lower"),
        ('{ kind = "thresholds", confirm_ms = -1 }', "confirm_ms is -1"),
        ('{ kind = "thresholds", removal = 5 }', "option removal is 5; expected a text"),
        ('{ kind = "thresholds", removal = "all" }', "removal is 'all'; expected text or table"),
        ('{ kind = "script" }', "controller script: option steps is missing"),
        ('{ kind = "script", steps = [] }', r"steps is \[\]; expected a list"),
        ('{ kind = "script", steps = [[1, 2], [1, 3]] }', "1 s comes after 1 s"),
        ('{ kind = "script", steps = [[1, 2], [2, 0]] }', r"step 2 is \[2, 0\]; expected"),
        ('{ kind = "script", steps = [[1, 2.0]] }', r"step 1 is \[1, 2.0\]"),
        ('{ kind = "script", steps = [5] }', "step 1 is 5"),
    ],
)
def test_a_bad_option_is_refused_with_its_name_value_and_remedy(text, message):
    with pytest.raises(UnsupportedError, match=message):
        from_toml(text)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install a distribution that brings controllers, as an index would."""
    module = (
        "from streamlab.engines.multicore.oplus.elastic.decision import Decision\n"
        "class All:\n"
        "    def __init__(self, *, spare: int = 0):\n"
        "        self.spare = spare\n"
        "    def decide(self, seen):\n"
        "        return Decision(instances=seen.maximum - self.spare, why='all')\n"
    )
    (tmp_path / "greedy_controllers.py").write_text(module)
    info = tmp_path / "greedy_controllers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: greedy-controllers\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[lab.controllers]\nall = greedy_controllers:All\ngone = greedy_controllers:Gone\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("plugin")
def test_a_controller_of_another_package_is_found_by_its_entry_point():
    assert names() == ("all", "gone", "model", "script", "thresholds")
    controller, _ = from_toml('{ kind = "all", spare = 2 }')

    class Seen:
        maximum = 8

    assert controller.decide(Seen()) == Decision(instances=6, why="all")
    with pytest.raises(UnsupportedError, match=r"spare is 0\.5; expected a whole"):
        from_toml('{ kind = "all", spare = 0.5 }')


@pytest.mark.usefixtures("plugin")
def test_an_entry_point_that_does_not_load_says_so():
    with pytest.raises(UnsupportedError, match=r"gone \(greedy_controllers:Gone\) does not load"):
        from_toml('{ kind = "gone" }')
