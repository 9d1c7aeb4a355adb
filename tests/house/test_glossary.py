"""The glossary is sorted and has one entry for each term, with a source."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LISTS = ("Running and measuring", "The programming models")


def entries(title: str) -> list[list[str]]:
    text = (DOCS / "glossary.md").read_text()
    part = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


@pytest.mark.parametrize("title", LISTS)
def test_terms_are_sorted_and_come_once(title):
    terms = [entry[0].lower() for entry in entries(title)]
    assert terms == sorted(set(terms), key=lambda term: re.sub(r"[^a-z0-9 ,]", "", term))


@pytest.mark.parametrize("title", LISTS)
def test_every_term_has_at_most_two_sentences_and_a_source(title):
    for term, meaning, source in entries(title):
        assert meaning.endswith("."), term
        assert len(re.findall(r"\.(?: |$)", meaning)) <= 2, term
        assert re.search(r"`[^`]+/[^`]+`|\]\([^)]+\)|\*\w+", source), f"{term}: paper or file"


def test_every_paper_that_the_glossary_names_is_introduced():
    text = (DOCS / "glossary.md").read_text()
    introduced = set(re.findall(r"\*([^*]+)\* is ", text))
    assert set(re.findall(r"\*([^*|]+)\*", text)) <= introduced
