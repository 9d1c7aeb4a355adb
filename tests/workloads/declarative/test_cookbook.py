"""Every program of the cookbook gives the answer that its page shows, on the reference engine and on multicore.

Other tests compare the forms of these programs with pandas: test_forms, test_chains, test_bounded_fields, test_keys,
test_join_values and test_table_joins.
"""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from streamlab.lab.cli.table import print_columns
from streamlab.workloads.datasets.builder import ensure
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.decoded_answer import decode_answer
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload
from tests.examples_folder import EXAMPLES
from tests.workloads.declarative.declared_runs import answer_of

DOCS = EXAMPLES.parent / "docs"
MAX_LINES = 15
ARRIVAL = "Arrival time"
"""The recipe without an answer; tests/lab/runner/test_answer.py runs it."""
OUTPUTS = {"Busiest stations, a chain with two outputs": "busiest"}
"""The output whose answer a page shows."""


def sections(page: str) -> tuple[str, dict[str, str]]:
    """Return the text above the first recipe of a page, and the recipes by title."""
    head, *parts = re.split(r"^## ", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return head, {part.partition("\n")[0]: part for part in parts}


PAGES = {page: sections(page) for page in ("cookbook.md", "cookbook/joins.md")}
RECIPES = [(page, title) for page, (_, recipes) in PAGES.items() for title in recipes]


def blocks(text: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name == language]


def load(page: str, title: str, folder: Path) -> Workload:
    """Write the program of a recipe and its input to a folder; return the workload."""
    head, recipe = PAGES[page][0], PAGES[page][1][title]
    (imports,), (program,) = blocks(head, "python"), blocks(recipe, "python")
    assert len([line for line in program.splitlines() if line.strip()]) <= MAX_LINES
    (folder / "rides.csv").write_bytes((EXAMPLES / "cookbook" / "rides.csv").read_bytes())
    files = re.findall(r"^`(\S+)`:\n\n```\n(.*?)^```$", head + recipe, re.DOTALL | re.MULTILINE)
    for name, content in files:
        (folder / name).write_text(content)
    (folder / "recipe.py").write_text(f"{imports}\n{program}")
    return workload(":".join([str(folder / "recipe.py"), *filter(None, [OUTPUTS.get(title)])]))


def shown(subject: Workload, folder: Path, rows: int) -> str:
    """Return the output of `lab answer --head`."""
    dataset = ensure(subject, {}, 0, 1, catalog=Catalog(root=folder / "catalogue"))
    answer = {name: values[:rows] for name, values in subject.oracle(dataset.load()).items()}
    text = io.StringIO()
    print_columns(decode_answer(subject, dataset, answer), Console(file=text, width=200))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize(("page", "title"), [each for each in RECIPES if each[1] != ARRIVAL])
def test_a_recipe_gives_the_answer_of_its_page(page, title, tmp_path):
    subject = load(page, title, tmp_path)
    answer = answer_of(subject, tmp_path, workers=(2,))
    expected = blocks(PAGES[page][1][title], "")[-1]
    rows = expected.count("\n") - 1
    assert 0 < rows <= len(answer)
    assert shown(subject, tmp_path, rows) == expected
