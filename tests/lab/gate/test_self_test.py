import numpy as np
import pytest

from lab.gate.self_test import Block, rate
from results.stats.decision import TWO_STAGE


def blocks(rng, count, *, sd, drift=0.0):
    """Rounds of a machine with log-normal noise and a drift that all arms share."""
    n = 2 * TWO_STAGE.n

    def arm(slower):
        return (1 + slower) * np.exp(rng.normal(0, sd, n) + np.linspace(0, drift, n))

    return [
        Block(same=(arm(0), arm(0)), planted={0.05: arm(0.05), 0.10: arm(0.10)})
        for _ in range(count)
    ]


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_a_quiet_machine_has_no_false_alarms_and_full_power(rng):
    found = rate(blocks(rng, 3, sd=0.005), TWO_STAGE, rng, deals=40)
    assert (found.rounds, found.alarms) == (3, 0)
    assert found.seen == {0.05: 3, 0.10: 3}
    assert found.resampled_alarms == 0
    assert found.resampled_seen[0.05] > 0.99
    assert found.noise < 0.01


def test_a_noisy_machine_loses_power_and_not_its_false_alarm_rate(rng):
    found = rate(blocks(rng, 6, sd=0.08), TWO_STAGE, rng, deals=40)
    assert found.resampled_alarms < 0.02
    assert found.resampled_seen[0.05] < 0.5
    assert found.noise > 0.05


def test_dealing_anew_agrees_with_many_real_rounds(rng):
    found = rate(blocks(rng, 12, sd=0.03), TWO_STAGE, rng, deals=40)
    # 0.85 by tools/gate_simulation.py; 12 rounds leave a wide margin.
    assert 0.6 < found.resampled_seen[0.05] <= 1
    assert found.resampled_alarms < 0.02
