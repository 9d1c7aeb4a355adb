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
from streamlab.lab.figures.viper.determinism import degrees
from streamlab.results.schema import columns_of
from tests.lab.figures.claims import cells_of, outcomes

pytestmark = pytest.mark.usefixtures("opponents_are_here")
TWO = Options(cores=2)
QUICK = Options(cores=2, quick=True)
WORKLOADS = {"4a": "linear_road_pos_rep", "4b": "linear_road_new_seg"}
NUMBERS = ["4a", "4b"]


@pytest.fixture
def layered(row, make_run):
    """The run of a figure: CL by OL in throughput, latency and energy; watts if there are any."""

    def make(number, gain=1.4, late=0.8, used=0.6, watts=None, options=QUICK, status="ok"):
        rows = []
        for injectors in degrees(options):
            for instances in degrees(options):
                for layer in ("cl", "ol", "own-cl", "own-ol"):
                    # Own forms are drawn and not judged: theirs are nobody's quotients.
                    merged = layer == "cl" and (injectors > 1 or instances > 1)
                    few = injectors == 1
                    times = (1.0 + (gain - 1) / 2 if few else gain) if merged else 1.0
                    rows.append(
                        row(
                            f"{WORKLOADS[number]}@i{injectors}",
                            "multicore/layers",
                            instances,
                            label=layer,
                            rate=5e6 * times,
                            status=status,
                            latency_p50_ns=round(1e7 * (late if merged else 1.0)),
                            power_w=None if watts is None else watts * (used if merged else 1.0),
                            counters={
                                "graph_cpu_s_per_mtuple": 0.2 * (used if merged else 1.0),
                                "switches_per_mtuple": 500.0 if merged else 5000.0,
                                "threads": injectors + 2 * instances,
                            },
                        )
                    )
        return (make_run(rows),)

    return make


@pytest.mark.parametrize("number", NUMBERS)
def test_the_published_quotients_reproduce_the_figure_where_power_is_measured(layered, number):
    outcome = find(f"viper:{number}").outcome(QUICK, layered(number, watts=120.0))
    assert conclude(outcome.claims).verdict == REPRODUCED, outcome.claims
    assert outcome.draw().axes


@pytest.mark.parametrize("number", NUMBERS)
def test_without_a_counter_cpu_time_is_drawn_and_says_so(layered, number):
    outcome = find(f"viper:{number}").outcome(QUICK, layered(number))
    assert outcomes(outcome, "CL's CPU time a tuple") == {MET}
    assert outcomes(outcome, "CL's power") == {NOT_JUDGED}
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


def test_all_columns_of_a_row_have_one_scale(layered):
    axes = find("viper:4a").outcome(QUICK, layered("4a")).draw().axes
    for row in zip(*(axes[column::4] for column in range(4)), strict=True):
        assert len({round(each.get_ylim()[1], 6) for each in row}) == 1


def test_a_full_figure_has_the_sixteen_configurations_of_the_paper():
    assert degrees(TWO) == (1, 2, 4, 6)
    assert degrees(Options(cores=2, workers=(1, 3))) == (1, 3)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_configuration_is_run(number):
    cells = cells_of(f"viper:{number}", TWO)
    assert len(cells) == 64
    assert {cell.entry.params["streams"] for cell in cells} == {1, 2, 4, 6}
    assert {cell.batch for cell in cells} == {1}  # the paper hands over single tuples


@pytest.mark.parametrize("number", NUMBERS)
def test_published_forms_are_judged_and_own_ones_only_drawn(row, make_run, layered, number):
    runs = layered(number, watts=120.0)
    own = [
        columns_of(trial) | ({"throughput_eps": 1e9} if "own-" in trial.cell else {})
        for trial in runs[0].rows
    ]
    faster = find(f"viper:{number}").outcome(QUICK, (make_run(own, "faster", repetitions=1),))
    as_before = find(f"viper:{number}").outcome(QUICK, runs)
    assert [c.measured for c in faster.claims] == [c.measured for c in as_before.claims]
    assert faster.numbers["CL, own, 2 injectors"] != as_before.numbers["CL, own, 2 injectors"]
    assert {(c.system.name, c.opponent.name) for c in faster.claims} == {("CL", "OL")}
    assert all("Viper" in c.system.source for c in faster.claims)
