"""The published numbers, as facts with their place, and the claims on them."""

import pytest

from streamlab.lab.figures.paper import Paper
from streamlab.lab.figures.systems import SYSTEM_COLUMNS, published_systems
from streamlab.reports.published import published
from streamlab.reports.published.claims import CLAIM_COLUMNS, published_claims
from streamlab.reports.published.facts import COLUMNS
from streamlab.results.errors import ResultsError


@pytest.mark.parametrize(
    ("paper", "figures"),
    [
        ("stretch", "6 7 8 T4 9 10 11 12 13 16 19"),
        ("ordered", "8 9 10 11 12 13 14"),
        ("viper", "4a 4b"),
        ("datatrace", "4 6"),
        ("flumina", "4 6 8 10 T1 A1 A2"),
    ],
)
def test_every_published_number_has_a_place_a_unit_and_a_source(paper, figures):
    facts = list(published(paper))
    assert {fact.figure for fact in facts} == set(figures.split())
    for fact in facts:
        assert fact.source and fact.unit, fact
        assert paper == "stretch" or (fact.source.startswith("section ") and fact.panel), fact
        assert "nan" not in fact.text and "inf" not in fact.text


def test_the_quotients_of_viper_are_those_of_its_rates_and_watts():
    def one(quantity, series, x):
        return published("viper").one(figure="4a", quantity=quantity, series=series, x=x)

    for quantity in ("throughput", "power"):
        for x in ("1", "several"):
            ratio = one(quantity, "CL/OL", x).low
            above, below = one(quantity, "CL", x).low, one(quantity, "OL", x).high
            assert ratio == pytest.approx(above / below, abs=1e-3), (quantity, x)


def test_the_quotients_of_figure_6_are_those_of_the_percentages():
    ratios = {
        (fact.panel, fact.quantity): (fact.low, fact.source)
        for fact in published("stretch").of(figure="6")
    }
    assert len(ratios) == 8
    for (_, quantity), (ratio, source) in ratios.items():
        percent = int(source.partition(": ")[2].partition(" %")[0])
        assert ratio == pytest.approx(1 + percent / 100), (quantity, source)


def test_one_refuses_to_choose():
    facts = published("stretch")
    assert facts.one(figure="9", series="all", quantity="duration").high == 40
    with pytest.raises(ResultsError, match="2 published numbers"):
        facts.one(figure="7", series="SN", quantity="throughput")
    with pytest.raises(ResultsError, match="0 published numbers"):
        facts.one(figure="99")


def test_numbers_are_written_with_relation_and_unit():
    facts = published("stretch")
    assert facts.one(figure="9", series="all", quantity="duration").text == "at most 40 ms"
    assert facts.one(figure="7", panel="latency", series="SN").text == "at least 100 ms"
    assert facts.one(figure="16", quantity="rate").text == "500 to 8,000 t/s"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("6,p,s,q,,2,1,ms,value,here", "low <= high"),
        ("6,p,s,q,,x,1,ms,value,here", "could not convert"),
        ("6,p,s,q,,1,1,ms,perhaps,here", "relation among"),
        ("6,p,s,q,,1,1,ms,value,", "a source"),
    ],
)
def test_a_malformed_row_is_named(tmp_path, row, message):
    (tmp_path / "bad.csv").write_text(f"{','.join(COLUMNS)}\n{row}\n")
    with pytest.raises(ResultsError, match=rf"bad.csv, line 2: .*{message}"):
        published("bad", tmp_path)


def test_a_paper_without_numbers_and_a_table_with_other_columns_are_refused(tmp_path):
    with pytest.raises(ResultsError, match="cannot read published numbers"):
        published("nothing", tmp_path)
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ResultsError, match="columns are"):
        published("odd", tmp_path)


@pytest.mark.parametrize("paper", ["stretch", "ordered", "viper", "datatrace", "flumina", "lab"])
def test_every_claim_has_systems_words_and_a_fact_that_is_there(paper):
    systems = published_systems(paper)
    for row in published_claims(paper):
        for side in (row.system, row.opponent):
            assert "{" in side or side in systems or not side, row
        assert row.fact or row.source, row
        if row.fact and "{" not in row.fact:
            for figure in row.figures:
                assert published(paper).one(**({"figure": figure} | row.fact_columns({}))), row
    names = [(figure, row.claim) for row in published_claims(paper) for figure in row.figures]
    assert len(set(names)) == len(names)


def test_a_claim_that_a_figure_lacks_or_whose_words_are_missing_is_named():
    with pytest.raises(ResultsError, match="viper 4b has no claim 'speed'; it has: throughput of"):
        Paper(name="viper").pose("4b", "speed", None)
    with pytest.raises(ResultsError, match=r"viper.csv, line 2: .*unknown field 'section'"):
        Paper(name="viper").pose("4a", "throughput of all", None)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,c,t,p,s,,F,,nearly,,,,x", "a rule among near, at most"),
        ("1,c,t,p,s,,,,shape,,,,x", "a system"),
        ("1,c,t,p,s,,F,,shape,low,,,x", "could not convert"),
        ("1,c,t,p,s,panel,F,,shape,,,,x", "expected pairs such as"),
        ("1,c,t,p,s,,F,,shape,,,,x,more", "more values than the 13 columns"),
    ],
)
def test_a_malformed_claim_is_named(tmp_path, row, message):
    (tmp_path / "bad.csv").write_text(f"{','.join(CLAIM_COLUMNS)}\n{row}\n")
    with pytest.raises(ResultsError, match=rf"bad.csv, line 2: .*{message}"):
        published_claims("bad", tmp_path)


def test_a_bound_may_be_a_multiple_of_what_the_figure_measured(tmp_path):
    row = "1,c,t,p,s,,F,,shape,1,1.25 linear,,x"
    (tmp_path / "paper.csv").write_text(f"{','.join(CLAIM_COLUMNS)}\n{row}\n")
    (claim,) = published_claims("paper", tmp_path)
    assert claim.bound(claim.high, {"linear": 4.0}, 0.0) == 5.0
    assert claim.bound(claim.low, {}, 0.0) == 1.0 and claim.bound("", {}, 7.0) == 7.0


def test_a_system_that_cannot_be_is_named(tmp_path):
    (tmp_path / "bad.csv").write_text(f"{','.join(SYSTEM_COLUMNS)}\nF,F,s,a,,,,,\n")
    with pytest.raises(ResultsError, match=r"bad.csv, line 2: F has the variant ''"):
        published_systems("bad", tmp_path)
