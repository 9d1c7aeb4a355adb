import pytest

from streamlab.lab.errors import EnergyError
from streamlab.lab.measure.energy.choose import NAMES, by_name, choose, probe
from streamlab.lab.measure.energy.provider import Unusable
from tests.lab.measure.energy.scripted import Scripted, steady


def provider(name, watts=None, **fields):
    readings = steady(watts or {}, 1, hz=50)[:2]
    return Scripted(name=name, readings=readings, **fields)


def no_pause(seconds):
    assert seconds == 0.02


def test_the_first_provider_that_really_counts_is_chosen_and_all_are_reported():
    found = choose(
        providers=[
            provider("pyrapl", reason="PyRAPLCantRecordEnergyConsumption"),
            provider("powercap", {"package-0": 0.0, "core-0": 5.0}),
            provider("second", {"package-0": 5.0, "dram-0": 0.0}),
            provider("perf", {"package-0": 5.0}),
        ],
        pause=no_pause,
    )
    assert (found.name, found.reason) == ("second", None)
    assert [report.name for report in found.reports] == ["pyrapl", "powercap", "second", "perf"]
    assert found.reports[1].reason == "package-0: the counters stand still"
    assert found.reports[1].counting == ("core-0",)
    assert found.reports[2].static == ("dram-0",)
    assert found.reports[3].reason is None


def test_none_is_chosen_with_the_reason_of_every_provider():
    found = choose(
        providers=[
            provider("pyrapl", reason="no counter"),
            provider("powercap", reason="denied"),
        ],
        pause=no_pause,
    )
    assert (found.name, found.reason) == ("none", "pyrapl: no counter; powercap: denied")
    opened = by_name(found.name, found.reason).open()
    assert opened == Unusable(reason="pyrapl: no counter; powercap: denied")


def test_only_a_named_provider_is_probed():
    providers = [
        provider("powercap", {"package-0": 5.0}),
        provider("perf", reason="no PMU"),
    ]
    found = choose("perf", providers=providers, pause=no_pause)
    assert (found.name, found.reason) == ("none", "perf: no PMU")
    assert choose("powercap", providers=providers, pause=no_pause).name == "powercap"


def test_provider_none_probes_nothing():
    assert choose("none", providers=[]).reason == "switched off"


def test_every_name_makes_its_provider_and_an_unknown_one_is_an_error():
    for name in NAMES[1:]:
        assert by_name(name).name == name
    assert NAMES == ("auto", "pyrapl", "powercap", "perf", "none")
    for ask in (by_name, choose):
        with pytest.raises(EnergyError, match="'rapl'; expected one of auto, pyrapl, powercap"):
            ask("rapl")


def test_a_probe_closes_what_it_opened():
    made = provider("x", {"package-0": 5.0})
    assert probe(made, pause=no_pause).counting == ("package-0",)
    assert made.closed == 1
