"""The figures of Viper: their experiments, and what they say of runs whose numbers are known."""

import pytest

from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_JUDGED,
    REPRODUCED,
    SHAPE_ONLY,
    conclude,
)
from streamlab.lab.figures.viper.determinism import FORMS, NATIVE, STORM, degrees, label
from streamlab.results.schema import columns_of
from tests.lab.figures.claims import cells_of, outcomes

TWO = Options(cores=2)
QUICK = Options(cores=2, quick=True)
WORKLOADS = {"4a": "linear_road_pos_rep", "4b": "linear_road_new_seg"}
NUMBERS = ["4a", "4b"]


@pytest.fixture
def layered(row, make_run):
    """The runs of a figure: CL by OL in throughput, latency and energy; watts if there are any."""

    def make(number, gain=1.4, late=0.8, used=0.6, watts=None, options=QUICK, status="ok"):
        rows = {STORM: [], NATIVE: []}
        for injectors in degrees(options):
            for instances in degrees(options):
                for layer, form in FORMS.items():
                    # The native engine's are drawn and not judged: theirs are nobody's quotients.
                    merged = layer == "CL" and (injectors > 1 or instances > 1)
                    few = injectors == 1
                    times = (1.0 + (gain - 1) / 2 if few else gain) if merged else 1.0
                    rows[form.variant].append(
                        row(
                            f"{WORKLOADS[number]}@i{injectors}",
                            form.variant,
                            instances,
                            label=label(layer),
                            rate=5e5 * times,
                            status=status,
                            latency_p50_ns=round(1e7 * (late if merged else 1.0)),
                            power_w=None if watts is None else watts * (used if merged else 1.0),
                            energy_j_per_1000=None if watts is None else 0.25,
                            counters={
                                "graph_cpu_s_per_mtuple": 0.2 * (used if merged else 1.0),
                                "switches_per_mtuple": 500.0 if merged else 5000.0,
                                "threads": injectors + 2 * instances,
                            },
                        )
                    )
        return make_run(rows[STORM], "storm"), make_run(rows[NATIVE], "native")

    return make


@pytest.mark.parametrize("number", NUMBERS)
def test_the_published_quotients_reproduce_the_figure_where_power_is_measured(layered, number):
    outcome = find(f"viper:{number}").outcome(QUICK, layered(number, watts=120.0))
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    labels = {text.get_text() for axes in outcome.draw().axes for text in axes.texts}
    assert {"power (RAPL), W", "energy of a tuple (RAPL), mJ"} <= labels
    measured = outcome.numbers["CL, 2 injectors"]["energy_mj_per_tuple"]
    assert {spread["median"] for spreads in measured.values() for spread in spreads} == {0.25}


@pytest.mark.parametrize("number", NUMBERS)
def test_without_a_counter_cpu_time_is_drawn_and_says_so(layered, number):
    outcome = find(f"viper:{number}").outcome(QUICK, layered(number))
    assert outcomes(outcome, "CL's CPU time a tuple") == {MET}
    assert outcomes(outcome, "CL's power") == {NOT_JUDGED}
    assert {claim.measured for claim in outcome.claims if "CL's power" in claim.text} == {""}
    assert conclude(outcome.claims).verdict == SHAPE_ONLY
    assert any("no energy counter" in note for note in outcome.notes)
    labels = {text.get_text() for axes in outcome.draw().axes for text in axes.texts}
    assert "CPU-seconds per million tuples" in labels
    assert not any("RAPL" in label for label in labels)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"gain": 0.8}, "lowest of all that merge"),
        ({"gain": 3.0}, "highest of all"),
        ({"late": 1.5}, "CL's latency"),
        ({"used": 1.2}, "CL's power by OL's with several injectors"),
        ({"used": 0.3}, "CL's power by OL's with several injectors"),
    ],
)
def test_other_quotients_miss_their_claim(layered, number, change, part):
    outcome = find(f"viper:{number}").outcome(QUICK, layered(number, watts=120.0, **change))
    assert MISSED in outcomes(outcome, part)
    if part != "highest of all" and change != {"used": 0.3}:
        assert conclude(outcome.claims).verdict == CONTRADICTED


def test_columns_of_one_engine_have_one_scale(layered):
    axes = find("viper:4a").outcome(QUICK, layered("4a")).draw().axes
    assert len(axes) == 6 * 4
    for row in zip(*(axes[column::6] for column in range(6)), strict=True):
        for columns in (row[:2], row[2:]):
            assert len({round(each.get_ylim()[1], 6) for each in columns}) == 1


def test_a_full_figure_has_the_sixteen_configurations_of_the_paper():
    assert degrees(TWO) == (1, 2, 4, 6)
    assert degrees(Options(cores=2, workers=(1, 3))) == (1, 3)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("stage", "engine", "cells"), [(0, "storm", 32), (1, "multicore", 64)])
def test_every_configuration_is_run(number, stage, engine, cells):
    found = cells_of(f"viper:{number}", TWO, runs=(None,) * stage)
    assert len(found) == cells
    assert {cell.engine for cell in found} == {engine}
    assert {cell.entry.params["streams"] for cell in found} == {1, 2, 4, 6}
    # The paper hands over single tuples; Storm always does.
    assert {cell.batch for cell in found} == {None if engine == "storm" else 1}


@pytest.mark.parametrize("number", NUMBERS)
def test_storms_forms_are_judged_and_the_native_engines_only_drawn(make_run, layered, number):
    storm, native = layered(number, watts=120.0)
    rows = [columns_of(trial) | {"throughput_eps": 1e9} for trial in native.rows]
    runs = storm, make_run(rows, "faster", repetitions=1)
    faster = find(f"viper:{number}").outcome(QUICK, runs)
    as_before = find(f"viper:{number}").outcome(QUICK, (storm, native))
    assert [c.measured for c in faster.claims] == [c.measured for c in as_before.claims]
    assert faster.numbers["CL, own, 2 injectors"] != as_before.numbers["CL, own, 2 injectors"]
    assert {(c.system.name, c.opponent.name) for c in faster.claims} == {("CL", "OL")}
    assert {c.system.variant for c in faster.claims} == {STORM}
