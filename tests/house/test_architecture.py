"""docs/architecture.md and its picture agree with the code."""

import ast
import functools
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"
TOOL = "tools/architecture.py"
REMEDY = f"draw it again with: python3 {TOOL}"
CONCEPTS = 30

tool = runpy.run_path(str(ROOT / TOOL))


@functools.cache
def code() -> Any:
    """What the picture has to say."""
    return tool["content_of_tree"](ROOT)


def section(title: str) -> str:
    found = re.search(
        rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", DOCUMENT.read_text(), flags=re.M | re.S
    )
    assert found, f"{DOCUMENT.name} has no section {title!r}"
    return found[1]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def coded(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def defined(file: Path) -> set[str]:
    """Return what a file defines: functions and classes, those in classes and of C++ included."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        kinds = ast.FunctionDef | ast.ClassDef
        return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)}
    functions = re.findall(
        r"^(?!.*\b(?:return|if|while)\b)[ \w:<>*&~\[\],]*?\b(\w+)\([^;]*$", text, flags=re.M
    )
    declared = re.findall(r"^[ \w:<>*&\[\],]+ \**&?(\w+)\([^;]*;", text, flags=re.M)
    classes = re.findall(r"\b(?:class|struct) (?:alignas\(\w+\) )?(\w+)", text)
    return {*functions, *declared, *classes}


def test_the_picture_agrees_with_imports_and_needs():
    drawn = tool["content_of_picture"]((ROOT / tool["PICTURE"]).read_text(encoding="utf-8"))
    assert code().units - drawn.units == set(), f"not in the picture; {REMEDY}"
    assert drawn.units - code().units == set(), f"in the picture, not in the code; {REMEDY}"
    assert code().arrows - drawn.arrows == set(), f"not in the picture; {REMEDY}"
    assert drawn.arrows - code().arrows == set(), f"in the picture, not in the code; {REMEDY}"


def test_an_import_makes_an_arrow_and_one_against_the_others_is_set_apart():
    a, b, c = "lab/a", "lab/b", "lab/c"
    kept, against = tool["layered"]({(a, b): 3, (b, c): 2, (a, c): 1, (c, a): 1})
    assert kept == {(a, b), (b, c)}, "a to c follows from the others"
    assert against == {(c, a)}


def test_the_picture_of_a_small_tree_has_its_imports_needs_and_includes(tmp_path):
    files = {
        "lab/cli/run.py": "from streamlab.engines.multicore import _core\nfrom streamlab.lab.errors import LabError\n",
        "lab/errors.py": "import json\n",
        "engines/multicore/bindings/dgs.cc": '#include "dgs/run.h"\n#include <span>\n',
        "engines/multicore/core/dgs/run.h": "",
        "engines/multicore/core/run/run.h": "",
        "CMakeLists.txt": "lab_family(run)\nlab_family(dgs NEEDS run)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    core, bindings = "engines/multicore/core", "engines/multicore/bindings"
    assert dict(tool["needs"](tmp_path)) == {
        ("lab/cli", bindings): 1,
        ("lab/cli", "lab/*.py"): 1,
        (bindings, f"{core}/dgs"): 1,
        (f"{core}/dgs", f"{core}/run"): 1,
    }


def test_every_folder_of_the_packages_has_a_sentence():
    told = {name.rstrip("/") for row in rows("Folders") for name in coded(row[0])}
    units = {unit.removesuffix("/*.py") for unit in code().units}
    assert units - told == set(), "folders without a sentence in docs/architecture.md"


def test_every_path_in_the_document_is_there():
    paths = [name for name in coded(DOCUMENT.read_text()) if "/" in name and " " not in name]
    assert [name for name in paths if not list(ROOT.glob(name))] == []
    assert paths


@pytest.mark.parametrize("row", rows("One event's way"), ids=lambda row: row[0])
def test_every_step_of_the_way_happens_where_the_document_says(row):
    _, what, where, names = row
    assert what
    (file,) = coded(where)
    lost = set(coded(names)) - defined(ROOT / file)
    assert lost == set(), f"{file} does not define them"
    assert coded(names)


def test_the_steps_are_numbered_in_order():
    assert [row[0] for row in rows("One event's way")] == [
        str(number) for number in range(1, len(rows("One event's way")) + 1)
    ]


def test_where_is_tells_of_at_least_thirty_concepts_each_with_a_path():
    concepts = rows("Where is")
    assert len({row[0] for row in concepts}) >= CONCEPTS
    assert [row[0] for row in concepts if not any("/" in name for name in coded(row[1]))] == []
