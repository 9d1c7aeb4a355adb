"""The table of the papers' parts: its places are in the tree, its reasons are given, its page is whole."""

import re
from pathlib import Path

import pytest

from streamlab.lab.figures.coverage import (
    HEADINGS,
    MISSING,
    PARTIAL,
    STATES,
    WORKS,
    Part,
    read_coverage,
    write_page,
)
from streamlab.results.errors import ResultsError

ROOT = Path(__file__).parents[3]
HEADER = "part,state,code,reason\n"


def defines(path: Path, symbol: str) -> bool:
    """Return whether a file defines a name; of other files than Python's, whether it has the word."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return bool(re.search(rf"^\s*(class|def) {symbol}\b|^(\w+, )*{symbol}\b.*=", text, re.M))
    return bool(re.search(rf"\b{symbol}\b", text))


@pytest.mark.parametrize("paper", HEADINGS)
def test_each_place_is_in_the_tree(paper):
    lost = []
    for part in read_coverage(paper):
        for place in part.code:
            name, _, symbol = place.partition(":")
            path = ROOT / name
            if not path.is_file() or (symbol and not defines(path, symbol)):
                lost.append(f"{part.name}: {place}")
    assert lost == []


def test_a_part_stands_once_in_its_paper():
    for paper in HEADINGS:
        names = [part.name for part in read_coverage(paper)]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Figure 1,partial,a.py,", "with the reason ''"),
        ("Figure 1,missing,,", "with the reason ''"),
        ("Figure 1,works,a.py,slow", "with the reason 'slow'"),
        ("Figure 1,works,,", "names no code"),
        ("Figure 1,partial,,slow", "names no code"),
        ("Figure 1,done,a.py,", "a state among works, partial, missing"),
        (",works,a.py,", "expected a name"),
    ],
)
def test_a_row_that_lacks_a_column_of_its_state_is_an_error_with_its_line(tmp_path, row, message):
    (tmp_path / "toy.csv").write_text(f"{HEADER}{row}\n", encoding="utf-8")
    with pytest.raises(ResultsError, match=r"toy\.csv, line 2: ") as error:
        read_coverage("toy", tmp_path)
    assert message in str(error.value)


def test_a_row_is_a_part_with_its_places(tmp_path):
    rows = f"{HEADER}Figure 1,missing,,no engine\nFigure 2,works,a.py:f; b.h,\n"
    (tmp_path / "toy.csv").write_text(rows, encoding="utf-8")
    assert read_coverage("toy", tmp_path) == (
        Part(name="Figure 1", state=MISSING, code=(), reason="no engine"),
        Part(name="Figure 2", state=WORKS, code=("a.py:f", "b.h"), reason=""),
    )


def test_the_page_has_every_part_and_counts_them():
    lines = list(write_page())
    for paper, heading in HEADINGS.items():
        parts = read_coverage(paper)
        counts = [sum(part.state == state for part in parts) for state in (WORKS, PARTIAL, MISSING)]
        assert f"| {heading} | {' | '.join(map(str, counts))} |" in lines
        begin = lines.index(f"## {heading}") + 4
        rows = lines[begin : begin + len(parts)]
        for row, part in zip(rows, parts, strict=True):
            cells = re.split(r"(?<!\\)\|", row)[1:-1]
            assert len(cells) == 4 and cells[1].strip() == part.state
            assert cells[0].replace("\\", "").strip() == part.name
    assert list(STATES) == [WORKS, PARTIAL, MISSING]
