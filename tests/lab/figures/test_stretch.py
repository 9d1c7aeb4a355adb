"""The figures of STRETCH: their experiments, and what they say of runs whose numbers are known."""

import dataclasses

import pytest

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.experiment import REPETITIONS
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import find
from streamlab.lab.figures.stretch import phases, steps
from streamlab.lab.figures.verdict import (
    CONTRADICTED,
    MET,
    MISSED,
    NOT_JUDGED,
    REPRODUCED,
    SHAPE_ONLY,
    conclude,
)
from tests.lab.figures.claims import cells_of, judged, planned
from tests.lab.figures.sample_trials import joins

TWO = Options(cores=2)
COUNTS = {"wordcount": 1.17, "paircount@L": 2.37, "paircount@M": 3.37, "paircount@H": 3.83}
LATENCY = {"wordcount": 0.06, "paircount@L": 0.11, "paircount@M": 0.06, "paircount@H": 0.06}


@pytest.fixture
def counts(row, make_run):
    """Both runs of figure 6 with given quotients of VSN by SN."""

    def make(gains=COUNTS, late=LATENCY, workers=(1, 2), sn_status="ok"):
        rates, latencies = [], []
        for place, key in enumerate(COUNTS):
            for n in workers:
                base = 1e6 / (place + 1) * n
                vsn, sn, own = ("multicore/vsn", "flink/automatic", "multicore/sn-map")
                # Two map instances are better than one; what is best of all is on no side.
                cells = {(vsn, "scalegate"): (1, late[key]), (own, None): (2, 0.01)}
                cells |= {(vsn, "order"): (9, 0.001)}
                cells |= {(sn, "m1"): (0.7 / gains[key], 2), (sn, "m2"): (1 / gains[key], 1)}
                for (variant, label), (share, delay) in cells.items():
                    status = sn_status if variant == sn else "ok"
                    batch = 1 if label == "scalegate" else 64
                    rates.append(
                        row(
                            key,
                            variant,
                            n,
                            rate=base * share,
                            status=status,
                            label=label,
                            batch=batch,
                        )
                    )
                    latencies.append(
                        row(key, variant, n, rate=1.0, load="at70-1", label=label, batch=batch,
                            status=status, latency_p50_ns=round(delay * 1e8))
                    )  # fmt: skip
        return make_run(rates, "rates"), make_run(latencies, "latencies")

    return make


@pytest.mark.parametrize(
    ("gains", "verdict", "ratio", "order"),
    [
        (COUNTS, REPRODUCED, MET, MET),
        ({key: 1 + (gain - 1) / 3 for key, gain in COUNTS.items()}, SHAPE_ONLY, MISSED, MET),
        (dict.fromkeys(COUNTS, 0.5), CONTRADICTED, MISSED, MISSED),
    ],
)
def test_figure_6_is_judged_by_the_quotients(counts, gains, verdict, ratio, order):
    outcome = find("stretch:6").outcome(TWO, counts(gains))
    assert conclude(outcome.claims).verdict == verdict
    claims = judged(outcome)
    assert claims["paircount H: VSN/SN ratio of throughput"] == ratio
    assert claims["paircount H: VSN is not slower than SN"] == order
    assert verdict != REPRODUCED or set(claims.values()) == {MET}


def test_wrong_answers_have_no_quotient_and_are_named(counts):
    outcome = find("stretch:6").outcome(TWO, counts(sn_status="wrong_output"))
    assert judged(outcome)["paircount L: VSN/SN ratio of throughput"] == NOT_JUDGED
    assert any("flink/automatic/w1/b64/m1 has no number: wrong_output" in n for n in outcome.notes)


def test_without_flink_figure_6_judges_vsn_alone_and_no_system_of_this_lab_in_its_place(counts):
    outcome = find("stretch:6").outcome(TWO, counts(sn_status="unsupported"))
    alone = {claim.text for claim in outcome.claims if claim.outcome == MET}
    assert alone == {"VSN throughput falls from wordcount to paircount L, M and H"}
    others = [claim for claim in outcome.claims if claim.text not in alone]
    assert {(claim.outcome, claim.measured) for claim in others} == {(NOT_JUDGED, "")}
    legends = {text.get_text() for legend in outcome.draw().legends for text in legend.get_texts()}
    assert {
        "VSN",
        "lab: map stage",
        "lab: VSN on its own log",
    } <= legends and "SN (Flink)" not in legends


def test_the_latency_stage_offers_70_percent_of_each_cells_own_rate(counts):
    plan, matrix = planned("stretch:6", TWO, counts()[:1])
    assert len(plan.only) == len(matrix.loads) == 40
    offers = [offer for load in matrix.loads for offer in load.offers]
    rates = {name: load.rate_eps for name, load in offers}
    assert rates["at70-1"] == pytest.approx(0.7e6)
    assert "wordcount/multicore/vsn/w1/b1/scalegate/at70-1" in plan.only
    for _, load in offers:
        assert (load.warm_up_s + load.window_s) * load.rate_eps <= 0.9 * 1_000_000 * 1.01


@pytest.mark.parametrize(
    ("number", "cells", "own_log"),
    # Flink has a map instance for each core; figure 8 has a form of one thread alone.
    [("6", 4 * 2 * (2 + 2 + 2 + 1), 4 * 2), ("7", 2 * 4, 2), ("8", 5 * 2 + 1, 2)],
)
def test_systems_of_the_paper_run_on_scale_gate_a_tuple_at_a_time(number, cells, own_log):
    made = cells_of(f"stretch:{number}", TWO)
    assert len(made) == len({cell.id for cell in made}) == cells
    virtual = [cell for cell in made if cell.variant == "vsn"]
    gated = [cell for cell in virtual if cell.options.get("tuple_buffer") == "scalegate"]
    assert {cell.batch for cell in gated} == {1}
    assert {cell.batch for cell in virtual if cell not in gated} == {64}
    assert len(virtual) - len(gated) == own_log


@pytest.mark.parametrize("number", ["T4", "9", "10", "11", "12", "13", "16", "19"])
def test_elastic_figures_run_the_published_form_alone(row, make_run, number):
    runs = []
    for _ in find(f"stretch:{number}").stages:
        for cell in cells_of(f"stretch:{number}", TWO, tuple(runs)):
            assert cell.variant in ("vsn", "adhoc")
            assert (cell.batch, cell.options["tuple_buffer"]) == (1, "scalegate")
        runs.append(joins(row, make_run))


def test_a_latency_stage_without_any_rate_says_why(row, make_run):
    run = make_run([row("wordcount", "multicore/vsn", 1, status="crash", reason="boom")])
    with pytest.raises(FigureError, match="crash: boom"):
        find("stretch:6").stages[1].plan(TWO, (run,))


@pytest.mark.parametrize(("growth", "outcome"), [(2.0, MET), (1.7, MET), (1.3, MISSED)])
def test_growth_of_figure_8_is_judged_up_to_the_cores(row, make_run, growth, outcome):
    runs = joins(row, make_run, growth=growth), make_run([], "late")
    found = judged(find("stretch:8").outcome(TWO, runs))
    (linear,) = [text for text in found if "grow linearly" in text]
    assert found[linear] == outcome
    assert "1 to 2 instances" in linear


def test_growth_cannot_be_judged_on_one_core(row, make_run):
    runs = joins(row, make_run), make_run([], "late")
    outcome = find("stretch:8").outcome(Options(cores=1), runs)
    (claim,) = [c for c in outcome.claims if "grow linearly" in c.text]
    assert claim.outcome == NOT_JUDGED
    assert "within the 1 cores" in claim.reason


def test_the_coherent_rate_makes_the_comparisons_that_were_counted(row, make_run):
    found = steps.highest_eps((joins(row, make_run),), 15_000)
    assert found[1] == pytest.approx((2 * 4e9 / 15) ** 0.5)
    assert found[2] == pytest.approx((2 * 8e9 / 15) ** 0.5)


@pytest.mark.parametrize(
    ("direction", "start", "after"),
    [("provision", n, a) for n, a in ((1, 2), (5, 9), (9, 16), (18, 31), (30, 52), (40, 69))]
    + [("decommission", n, a) for n, a in ((5, 2), (9, 3), (18, 7), (30, 12), (40, 17), (60, 25))]
    + [("decommission", 70, 30), ("decommission", 2, 1)],
)
def test_the_rule_of_table_4_gives_its_numbers(direction, start, after):
    assert steps.expected_after(direction, start) == after


@pytest.fixture
def stepped(row, make_run, write_timeline, tmp_path):
    """Both runs of table IV and figures 9 and 10, with a chosen end of each reconfiguration."""

    def make(up=2, down=1, ms=0.4, cov=0.01):
        at_s = steps.SETTLED_S * steps.scale(TWO)
        rows = []
        for n, direction, after in ((1, "provision", up), (2, "decommission", down)):
            factor = steps.FACTORS[direction]
            for variant in ("multicore/vsn", "multicore/adhoc"):
                elastic = variant.endswith("vsn")
                most = factor if elastic or factor < 1 else 1.0 / 0.7
                late = 2.0 if elastic else 80.0
                files = write_timeline(
                    tmp_path / "steps",
                    f"{n}{direction}{variant[-3:]}",
                    seconds=2 * at_s,
                    rate=lambda t, most=most: 7000 * (1 if t < at_s else most),
                    instances=lambda t, n=n, a=after: n if t < at_s + 0.5 else a,
                    latency_ms=lambda t, late=late: 2.0 if t < at_s else late,
                    changes=[(1.0, 9.0, n, n), (at_s + 0.5, ms, n, after)] if elastic else [],
                    cov=cov,
                )
                rows.append(row(f"scale_join@n{n}", variant, n, load=f"{direction}-{n}", **files))
        return joins(row, make_run), make_run(rows, "steps", REPETITIONS)

    return make


def test_table_4_counts_the_first_change_after_the_step(stepped):
    outcome = find("stretch:T4").outcome(TWO, stepped())
    found = judged(outcome)
    assert found["provision from 1: instances after it"] == MET
    assert found["decommission from 2: there are fewer instances afterwards"] == MET
    assert found["provision from 5, 9, 18, 30, 40"] == NOT_JUDGED
    assert conclude(outcome.claims).verdict == SHAPE_ONLY
    assert outcome.numbers == {
        "provision": {"1": [2] * REPETITIONS},
        "decommission": {"2": [1] * REPETITIONS},
    }


def test_table_4_is_contradicted_when_nothing_is_provisioned(stepped):
    outcome = find("stretch:T4").outcome(TWO, stepped(up=1))
    assert conclude(outcome.claims).verdict == CONTRADICTED


@pytest.mark.parametrize(
    ("ms", "cov", "outcomes"),
    [(0.4, 0.01, (MET, MET)), (41.0, 0.01, (MISSED, MET)), (0.4, 0.03, (MET, MISSED))],
)
def test_figure_9_bounds_durations_and_imbalance(stepped, ms, cov, outcomes):
    spare_core = dataclasses.replace(TWO, cores=3, workers=(1, 2))
    found = judged(find("stretch:9").outcome(spare_core, stepped(ms=ms, cov=cov)))
    assert found["longest reconfiguration"] == outcomes[0]
    assert found["imbalance before a reconfiguration, at its most"] == outcomes[1]


def test_imbalance_is_not_judged_where_the_generator_has_no_core(stepped):
    found = judged(find("stretch:9").outcome(TWO, stepped(cov=0.3)))
    assert found["imbalance before a reconfiguration, at its most"] == NOT_JUDGED


def test_figure_10_sets_elastic_beside_static(stepped):
    outcome = find("stretch:10").outcome(TWO, stepped())
    assert set(judged(outcome).values()) == {MET}
    assert outcome.draw().axes


def test_the_steps_are_a_matrix_with_one_cell_a_start_and_a_static_one(row, make_run):
    plan, matrix = planned("stretch:9", TWO, (joins(row, make_run),))
    assert len(plan.only) == 4
    offers = dict(offer for load in matrix.loads for offer in load.offers)
    assert sorted(offers) == ["decommission-2", "provision-1"]
    assert offers["provision-1"].params["factor"] == pytest.approx(1.2 / 0.7)


def test_all_starts_of_table_4_run_where_the_cores_suffice_and_figure_10_shows_18():
    many = dataclasses.replace(TWO, cores=72)
    _, matrix = planned("stretch:T4", many)
    starts = sorted({n for entry in matrix.engines for n in entry.workers})
    assert {1, 5, 9, 18, 30, 40, 60, 70} <= set(starts)
    assert max(starts) == 72
    assert steps.starting_instances(dataclasses.replace(TWO, cores=8)) == (1, 2, 4, 5, 8)
    assert steps.starting_instances(dataclasses.replace(many, workers=(1, 3))) == (1, 3)
    shown = [
        steps.shown_start(dataclasses.replace(TWO, cores=n), "provision", starts)
        for n in (2, 9, 72)
    ]
    assert shown == [1, 4, 18]


@pytest.mark.parametrize(
    ("cores", "maps"), [(2, (1, 2)), (6, (1, 2, 4, 6)), (72, (1, 2, 4, 8, 16, 32, 36))]
)
def test_map_instances_of_figure_6_end_at_the_cores_or_the_papers_36(cores, maps):
    _, matrix = planned("stretch:6", dataclasses.replace(TWO, cores=cores))
    found = {
        entry.options["map_instances"]
        for entry in matrix.engines
        if "map_instances" in entry.options
    }
    assert tuple(sorted(found)) == maps


@pytest.mark.parametrize(("number", "stage"), [("9", 1), ("11", 1), ("13", 0)])
def test_an_operator_that_may_be_scaled_up_has_the_threads_for_it(row, make_run, number, stage):
    runs = (joins(row, make_run),) if stage else ()
    _, matrix = planned(f"stretch:{number}", TWO, runs)
    scaled = [entry.options for entry in matrix.engines if "controller" in entry.options]
    assert scaled
    for options in scaled:
        assert options["max_instances"] == options["controller"]["max"] == 2


def test_one_instance_alone_can_neither_grow_nor_shrink(row, make_run):
    with pytest.raises(FigureError, match="--workers 1,2"):
        find("stretch:9").stages[1].plan(
            Options(cores=2, workers=(1,)),
            (make_run([row("scale_join", "multicore/vsn", 1, rate=1.0, comparisons=10**9)]),),
        )


def test_phases_last_as_long_and_are_as_high_as_in_the_paper():
    for seed in (*phases.SEEDS_11, *phases.SEEDS_16, *phases.SEEDS_19):
        found = phases.phases(seed, 1.0, 8000.0)
        assert sum(phase.length_s for phase in found) == pytest.approx(1200)
        assert all(100 <= phase.length_s <= 300 for phase in found[:-1])
        assert all(500 <= phase.rate_eps <= 8000 for phase in found)
        short = phases.phases(seed, 0.1, 8000.0)
        assert sum(phase.length_s for phase in short) == pytest.approx(120)


@pytest.mark.parametrize("number", ["11", "16", "19"])
def test_the_phases_are_input_that_is_replayed(row, make_run, number):
    plan, matrix = planned(f"stretch:{number}", TWO, (joins(row, make_run),))
    assert {load.arrival for entry in matrix.loads for _, load in entry.offers} == {"replay"}
    for entry in plan.tree["workload"]:
        length_s = phases.length_s(phases.scale(TWO))
        assert entry["params"]["rates"].startswith("phases(")
        assert entry["events"] <= 2 * entry["params"]["left_eps"] * length_s


@pytest.fixture
def abrupt(row, make_run, write_timeline, tmp_path):
    """Both runs of figure 11; instances follow the rate, or stand still."""

    def make(follow=True, latency=lambda t: 3.0, seed=phases.SEEDS_11[0]):
        rates = joins(row, make_run)
        top = phases.top_eps(TWO, (rates,))
        share = phases.scale(TWO)
        planned = phases.phases(seed, share, top)

        def rate(t):
            left = t
            for phase in planned:
                if left < phase.length_s:
                    return phase.rate_eps
                left -= phase.length_s
            return planned[-1].rate_eps

        label = f"phases{seed}"
        starts = [sum(p.length_s for p in planned[:at]) for at in range(1, len(planned))]
        files = write_timeline(
            tmp_path / "phases",
            label,
            seconds=phases.length_s(share),
            rate=rate,
            instances=lambda t: 2 if follow and rate(max(0, t - 0.4)) > 0.7 * top else 1,
            latency_ms=latency,
            changes=[(at + 0.4, 0.5, 1, 2) for at in starts],
        )
        one = row(f"scale_join@{label}", "multicore/vsn", 1, load=label, **files)
        return rates, make_run([one], "phases", REPETITIONS)

    return make


@pytest.mark.parametrize(
    ("number", "seeds"),
    [("11", phases.SEEDS_11), ("12", phases.SEEDS_11), ("19", phases.SEEDS_19)],
)
def test_executions_whose_instances_follow_the_rate_are_reproduced(abrupt, number, seeds):
    outcome = find(f"stretch:{number}").outcome(TWO, abrupt(seed=seeds[0]))
    assert set(judged(outcome).values()) == {MET}, outcome.claims
    assert outcome.draw().axes


@pytest.mark.parametrize("number", ["11", "12"])
def test_executions_whose_instances_stand_still_contradict(abrupt, number):
    outcome = find(f"stretch:{number}").outcome(TWO, abrupt(follow=False))
    assert conclude(outcome.claims).verdict == CONTRADICTED


def test_long_spikes_are_missed_claims(abrupt):
    outcome = find("stretch:11").outcome(
        TWO, abrupt(latency=lambda t: 100.0 if 20 < t < 25 else 3.0)
    )
    found = judged(outcome)
    assert found["longest time with latency above 60 ms"] == MISSED
    assert found["mean latency, at most"] == MET


def test_a_day_is_reproduced_unless_it_is_slow_and_not_judged_where_nothing_is_reconfigured(
    row, make_run, write_timeline, tmp_path
):
    def make(ms, name, instances=2):
        files = write_timeline(
            tmp_path / name,
            "day",
            seconds=100,
            rate=lambda t: 15_200 if 40 <= t < 41 else 300,
            instances=lambda t: instances if 40 <= t < 41 else 1,
            latency_ms=lambda t: ms,
            changes=[(40, 0.5, 1, instances), (41, 0.5, instances, 1)],
        )
        return (
            make_run(
                [row("nyse_hedge@day", "multicore/vsn", 1, load="day", **files)], name, REPETITIONS
            ),
        )

    fast = find("stretch:13").outcome(TWO, make(1.0, "fast"))
    assert set(judged(fast).values()) == {MET}
    slow = judged(find("stretch:13").outcome(TWO, make(5.0, "slow")))
    assert slow["mean latency of the day, at most"] == MISSED
    assert slow["mean latency around the peak, at most"] == MET
    alone = find("stretch:13").outcome(TWO, make(1.0, "alone", instances=1))
    assert set(judged(alone).values()) == {NOT_JUDGED}
    verdict = conclude(alone.claims)
    assert verdict.text == NOT_JUDGED
    assert "reconfigurations in every trial: 0, at least 1 needed" in verdict.reason


@pytest.mark.parametrize("number", ["6", "7", "8", "9", "10", "11", "12", "13", "16", "19"])
def test_instances_publish_into_a_log_that_a_downstream_reader_reads(row, make_run, number):
    figure = find(f"stretch:{number}")
    stages = range(len(figure.stages) if number not in "678" else 1)
    for stage in stages:
        _, matrix = planned(figure.id, TWO, (joins(row, make_run),)[:stage])
        operators = [one for one in matrix.engines if one.variants[0] in ("vsn", "sn")]
        assert operators
        assert all(one.options["downstream"] == 1 for one in operators)
