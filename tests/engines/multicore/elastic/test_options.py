import tomllib

import pytest

from streamlab.engines.multicore.oplus.elastic.controller import Settings, make_controller, names
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.model import Model
from streamlab.engines.multicore.oplus.elastic.script import Script
from streamlab.engines.multicore.oplus.elastic.thresholds import Thresholds
from streamlab.engines.options import OptionError


def from_toml(text):
    return make_controller(tomllib.loads("controller = " + text)["controller"])


def test_a_table_of_a_matrix_makes_a_controller():
    controller, settings = from_toml(
        '{ kind = "thresholds", upper = 0.9, target = 0.7, lower = 0.4, min = 2, max = 8, '
        "period_ms = 50, from_s = 2 }"
    )
    assert controller == Thresholds(upper=0.9, target=0.7, lower=0.4)
    assert settings == Settings(kind="thresholds", min=2, max=8, period_ms=50, from_s=2)


def test_absent_keys_have_defaults():
    controller, settings = from_toml('{ kind = "model" }')
    assert isinstance(controller, Model)
    assert settings == Settings(kind="model", min=1, max=None, period_ms=100.0, from_s=0.0)
    assert isinstance(from_toml('{ kind = "script", steps = [[0, 2], [1.5, 1]] }')[0], Script)
    assert isinstance(from_toml('{ kind = "script", steps = [[0, [3, 1]]] }')[0], Script)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "controller: option kind is missing"),
        (
            '{ kind = "magic" }',
            "kind 'magic' does not exist; expected one of model, script, thresholds",
        ),
        ('{ kind = "model", min = 0 }', "controller model: option min is 0; it must be a whole"),
        ('{ kind = "model", max = true }', "max is True"),
        ('{ kind = "model", min = 3, max = 2 }', "max is 2, below min, which is 3"),
        (
            '{ kind = "model", period_ms = 0.5 }',
            "period_ms is 0.5; it must be a number of at least",
        ),
        ('{ kind = "model", period_ms = inf }', "period_ms is inf"),
        ('{ kind = "model", target = 0.7 }', "controller model: it has no option 'target'; there"),
        ('{ kind = "model", upper = "high" }', "option upper is 'high'; it must be a number"),
        ('{ kind = "model", upper = 0.7, lower = 0.8 }', "lower, upper are 0.8, 0.7; expected 0 <"),
        ('{ kind = "model", ahead_s = 0 }', "ahead_s is 0; it must be a number above 0"),
        ('{ kind = "thresholds", target = 0.95 }', "lower, target, upper are 0.45, 0.95, 0.9"),
        ('{ kind = "thresholds", removal = "all" }', "it must be one of table, text"),
        ('{ kind = "script" }', "controller script: option steps is missing"),
        (
            '{ kind = "script", steps = [] }',
            r"steps is \[\]; it must be a list of \[a number of at least 0, a whole number of at",
        ),
        ('{ kind = "script", steps = [[1, 2], [1, 3]] }', "1 s comes after 1 s"),
        ('{ kind = "script", steps = [[1, 2.0]] }', r"steps is \[\[1, 2.0\]\]"),
        ('{ kind = "script", steps = [[1, [-1]]] }', r"steps is \[\[1, \[-1\]\]\]"),
        ('{ kind = "script", steps = [[1, []]] }', "steps: at 1 s, the set of instances is empty"),
        ('{ kind = "script", steps = [[1, [2, 2]]] }', "steps: at 1 s, instance 2 occurs twice"),
    ],
)
def test_a_bad_option_is_refused_with_its_name_value_and_remedy(text, message):
    with pytest.raises(OptionError, match=message):
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
    with pytest.raises(OptionError, match=r"spare is 0\.5; it must be a whole"):
        from_toml('{ kind = "all", spare = 0.5 }')


@pytest.mark.usefixtures("plugin")
def test_an_entry_point_that_does_not_load_says_so():
    with pytest.raises(OptionError, match=r"gone: greedy_controllers:Gone does not load"):
        from_toml('{ kind = "gone" }')
