"""`lab gate --self-test`: false alarms and detected slow-downs on made-up rounds of trials."""

import numpy as np
import pytest

from streamlab.lab.gate.power import Block, cost_gate, rate, status_gate
from streamlab.lab.gate.self_test import EXPERIMENTS
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix
from streamlab.lab.trial.spec import EngineTrial
from streamlab.results.stats.decision import TWO_STAGE, Rule
from streamlab.results.stats.methods import PAIRED

QUICK = Rule(draws=200)


def blocks(rng, count, *, sd, drift=0.0):
    """Return made-up rounds of trials: log-normal noise, and a drift that all arms share."""
    n = 2 * TWO_STAGE.n

    def arm(slower):
        return (1 + slower) * np.exp(rng.normal(0, sd, n) + np.linspace(0, drift, n))

    return [
        Block(same=(arm(0), arm(0)), planted={"5%": arm(0.05), "10%": arm(0.10)})
        for _ in range(count)
    ]


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_a_quiet_machine_has_no_false_alarms_and_full_power(rng):
    found = rate(blocks(rng, 20, sd=0.005), cost_gate(QUICK, rng))
    assert (found.rounds, found.alarms) == (20, 0)
    assert found.detected == {"5%": 20, "10%": 20}


def test_a_noisy_machine_loses_power_and_not_its_false_alarm_rate(rng):
    found = rate(blocks(rng, 40, sd=0.08), cost_gate(QUICK, rng))
    assert found.alarms <= 1
    assert found.detected["5%"] < 20


def test_pairs_have_full_power_where_both_members_share_the_noise(rng):
    n = 2 * TWO_STAGE.n

    def arms():
        shared = np.exp(rng.normal(0, 0.5, n))
        noise = np.exp(rng.normal(0, 0.01, (3, n)))
        return shared * noise[0], shared * noise[1], 1.1 * shared * noise[2]

    rounds = [
        Block(same=(old, new), planted={"late": late})
        for old, new, late in (arms() for _ in range(2))
    ]
    found = rate(rounds, cost_gate(QUICK, rng, PAIRED))
    assert (found.alarms, found.detected) == (0, {"late": 2})
    unpaired = rate(rounds, cost_gate(QUICK, rng))
    assert unpaired.detected == {"late": 0}


def test_a_worse_status_is_called_only_if_both_stages_show_it():
    n = TWO_STAGE.n
    ok, once, always = np.zeros(2 * n), np.repeat([0.0, 2.0], n), np.full(2 * n, 2.0)
    block = Block(same=(ok, ok), planted={"once": once, "always": always})
    found = rate([block], status_gate(TWO_STAGE))
    assert (found.alarms, found.detected) == (0, {"once": 0, "always": 1})


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_plant_is_a_field_of_a_trial_and_belongs_to_a_metric(experiment):
    assert len(expand(parse_matrix(experiment.matrix, "a test's matrix"))) == 1
    fields = {name for plant in experiment.plants.values() for name in plant}
    assert fields <= set(EngineTrial.__struct_fields__)
    assert {name for m in experiment.metrics for name in m.plants} == set(experiment.plants)
