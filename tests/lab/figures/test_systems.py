"""Whose systems claims compare: no claim of any figure is hollow, and none pretends an opponent."""

from dataclasses import replace

import pytest

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.figure import Figure, Outcome
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need
from streamlab.lab.figures.record import JudgedFigure, as_markdown, claim_line
from streamlab.lab.figures.registry import PAPERS, figures
from streamlab.lab.figures.systems import System, absent
from streamlab.lab.figures.verdict import MET, NOT_COMPARABLE, conclude, describe_systems
from streamlab.reports.published import Facts
from streamlab.results.stats.estimates import Level
from tests.lab.figures.claims import hollow, hollow_claims
from tests.lab.figures.phenomena import Happening, runs_of

ONE = System(name="CL", source="paper, section 3", algorithm="ordered channels", variant="a/b")
OTHER = System(name="OL", source="paper, section 3", algorithm="merge operators", variant="a/c")
MISSING = System(
    name="OL",
    source="paper, in Storm",
    algorithm="queues in turn",
    engine="storm",
    absent="nobody built it",
    stand_in="merge operators of this lab",
)
CLAIM = PublishedClaim(text="CL by OL", published="higher", source="section 4")
OF_OTHERS = {"stretch:11", "stretch:12", "stretch:16", "stretch:19"}
"""Cannot be judged without a rate that an earlier run found; test_stretch looks at their claims."""


def told(figure, run, cores):
    try:
        return figure.outcome(Options(cores=cores), [run] * len(figure.stages))
    except FigureError:
        assert figure.id in OF_OTHERS
        return None


@pytest.mark.parametrize("cores", [2, 40])
def test_every_claim_of_every_figure_says_whose_systems_it_compares(make_run, cores):
    seen, nothing_measured = 0, make_run([])
    for figure in figures():
        if figure.id.partition(":")[0] not in PAPERS:
            continue  # of whoever installed it
        outcome = told(figure, nothing_measured, cores)
        if outcome is None:
            continue
        assert not hollow_claims(outcome), figure.id
        sides = [s for claim in outcome.claims for s in (claim.system, claim.opponent) if s]
        run_by = {side.variant for side in sides if not side.absent}
        assert run_by <= set(figure.needs), f"{figure.id} does not run {run_by}"
        seen += len(outcome.claims)
    assert seen > 100


ENGINES = ("beam", "flink", "heron", "kafka", "samza", "spark", "storm", "timely")
"""Names that a paper may call a system by, whose engine no other may stand for."""
WORDS = {
    "a tuple at a time": {"join_form": "tuples"},
    "stored tuples": {"join_form": "operator10"},
    "fused": {"join_form": "fused"},
    "by tiles": {"join_form": "tiles"},
    "a serial number for each operator": {"serials": "operator"},
    "a queue for each partition": {"worklist": "partitioned"},
    "one queue, and one for each": {"worklist": "hybrid"},
    "under a lock": {"reordering": "lock"},
    "without a lock": {"reordering": "nonblocking"},
    "current throughput next": {"scheduler": "ct"},
    "that has work next": {"scheduler": "lp"},
    "ScaleGate as channels": {"channels": "scalegate"},
    "one ScaleGate": {"tuple_buffer": "scalegate"},
    "dealt in turn": {"dealing": "turn"},
}
"""Words of an algorithm, and the engine options without which they are not true."""


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    """Each system of each figure, with the cells that the figure plans."""
    found = []
    for figure in figures():
        if figure.id.partition(":")[0] in PAPERS:
            options = Options(cores=3, workers=(1, 2), quick=True)
            runs = runs_of(figure, options, Happening(), tmp_path_factory.mktemp(figure.slug))
            cells = [cell for run in runs for cell in run.meta.recorded["planned"]]
            sides = {
                side.text: side
                for claim in figure.outcome(options, runs).claims
                for side in (claim.system, claim.opponent)
                if side is not None
            }
            found += [(figure.id, side, cells) for side in sides.values()]
    assert len(found) > 40
    return found


def test_a_system_named_after_an_engine_runs_on_that_engine_or_is_absent(systems):
    for figure_id, side, _ in systems:
        words = f"{side.name} {side.source} {side.algorithm}".lower()
        named_engines = {engine for engine in ENGINES if engine in words}
        assert named_engines <= {side.engine}, (figure_id, side.name)
        if side.engine:
            assert side.absent or side.variant.startswith(f"{side.engine}/"), (figure_id, side.name)
        if side.absent:
            assert not any(engine in side.stand_in.lower() for engine in ENGINES)


def test_the_words_of_a_system_are_true_of_the_variant_that_runs(systems):
    for figure_id, side, cells in systems:
        if side.absent:
            continue
        for words, options in WORDS.items():
            if words in side.algorithm:
                assert options.items() <= dict(side.options).items(), (figure_id, side.name, words)
        assert any(
            f"{cell.engine}/{cell.variant}" == side.variant
            and dict(side.options).items() <= dict(cell.options).items()
            for cell in cells
        ), f"{figure_id} runs no {side.name} with {dict(side.options)}"


@pytest.mark.parametrize(
    ("figure_id", "variants"),
    [
        ("viper:4a", {"storm/layers"}),
        ("viper:4b", {"storm/layers"}),
        ("datatrace:4", {"storm/typed", "storm/handcrafted"}),
        ("datatrace:6", {"storm/typed"}),
    ],
)
def test_storm_runs_both_sides_of_figures_on_storm(systems, figure_id, variants):
    assert {side.variant for of, side, _ in systems if of == figure_id} == variants


def test_a_system_of_an_engine_is_run_by_no_other():
    with pytest.raises(ValueError, match=r"is a system on flink, but a/b is not"):
        replace(ONE, engine="flink")
    with pytest.raises(ValueError, match="it needs no stand-in"):
        replace(ONE, stand_in="merge operators")
    assert replace(ONE, engine="flink", variant="flink/automatic").engine == "flink"


def test_two_names_of_one_algorithm_compare_nothing():
    again = replace(ONE, name="OL")
    assert "it compares nothing" in hollow("CL by OL", ONE, again)
    assert hollow("CL by OL", ONE, OTHER) is None
    assert hollow("CL's growth", ONE, None) is None


def test_a_claim_that_does_not_say_whose_it_is_is_refused():
    (claim,) = judge([CLAIM.at_least(Level((2.0, 2.0, 2.0)), 1.0)])
    assert ".between(system, opponent)" in hollow(claim.text, claim.system, claim.opponent)


def test_a_system_either_runs_here_or_is_absent():
    with pytest.raises(ValueError, match="exactly one of them"):
        replace(ONE, absent="and yet it runs")
    with pytest.raises(ValueError, match="exactly one of them"):
        replace(ONE, variant="")
    with pytest.raises(ValueError, match="lacks a name"):
        replace(ONE, algorithm="")


@pytest.mark.parametrize("sides", [(ONE, MISSING), (MISSING, ONE)])
def test_another_algorithm_says_nothing_of_an_absent_opponent(sides):
    values = Level((2.0,) * 8)
    (here,) = judge([CLAIM.between(ONE, OTHER).at_least(values, 1.0, "x")])
    (claim,) = judge([CLAIM.between(*sides).at_least(values, 1.0, "x")])
    assert here.outcome == MET
    assert claim.outcome == claim.indicates == NOT_COMPARABLE
    assert claim.reason == (
        "opponent absent: OL: nobody built it; with merge operators of this lab in its place: 2 x"
    )
    assert claim.measured == ""  # a number of another algorithm is none of this claim
    assert claim_line(claim).startswith("not comparable (opponent absent): CL by OL")
    found = conclude([claim, claim])
    assert (found.verdict, found.reason) == (
        NOT_COMPARABLE,
        "opponent absent: OL: nobody built it",
    )
    lacking = CLAIM.between(*sides).requiring(Need(quantity="energy counters", count=0))
    (claim,) = judge([lacking.at_least(values, 1.0, "x")])
    assert "in its place" not in claim.reason  # the number is not even of what the claim names


def test_an_absent_opponent_says_more_than_a_lack_of_cores():
    few = CLAIM.requiring(Need(quantity="cores", count=2, least=12))
    (claim,) = judge([few.between(ONE, MISSING).at_least(None, 1.0)])
    assert "nobody built it" in claim.reason
    (claim,) = judge([few.of(ONE).at_least(None, 1.0)])
    assert claim.reason == "cores: 2, at least 12 needed"
    assert claim_line(claim).startswith("not judged: ")


def test_the_record_names_both_sides_and_notes_explain_them():
    (claim,) = judge([CLAIM.between(ONE, MISSING).at_least(None, 1.0)])
    assert describe_systems([claim, claim]) == (
        "CL: ordered channels (paper, section 3).",
        "OL: queues in turn (paper, in Storm); absent: nobody built it; measured in its place, and "
        "not judged: merge operators of this lab.",
    )
    judged = JudgedFigure(
        figure=Figure(id="p:1", title="t", shows="s", needs=(), stages=(), outcome=None),
        options=Options(cores=2),
        runs=(),
        outcome=Outcome(claims=(claim,), notes=(), numbers={}, draw=None),
        verdict=conclude([claim]),
        facts=Facts(()),
    )
    page = as_markdown(judged, [])
    assert "| claim | of | against |" in page
    assert "| CL by OL | CL | OL | value | higher |  | not comparable (opponent absent) |" in page
    assert absent([ONE, None]) is None


def test_notes_on_systems_stand_below_the_others_and_cover_nothing():
    from streamlab.lab.figures.experiment import outcome
    from streamlab.reports.figures.paper import Line, Panel, Point

    panel = Panel(title="t", y_label="y", lines=[Line(name="l", points=[Point(1, 1, 1, 1)])])
    posed = [CLAIM.between(ONE, MISSING).at_least(None, 1.0)]
    canvas = outcome(posed, ("first note",), {}, "title", [[panel]]).draw()
    assert canvas.texts[-1].get_text().startswith("first note\nCL: ordered channels (paper")
    canvas.canvas.draw()
    boxes = [text.get_window_extent() for text in canvas.texts]
    boxes += [legend.get_window_extent() for legend in canvas.legends]
    boxes += [canvas.axes[0].get_window_extent()]
    assert min(box.y0 for box in boxes) >= 0
    overlaps = [
        (a, b)
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1 and a.x0 < b.x1 and b.x0 < a.x1
    ]
    assert not overlaps
