"""Draws docs/images/architecture.svg from the code: `python3 tools/architecture.py`; needs Graphviz.

A unit is a folder, or the modules directly in a package. Arrows show dependencies. Python units depend on
each other by imports, folders of the C++ core by `lab_family(NAME NEEDS ...)` in CMakeLists.txt, and the
bindings by includes. Arrows that others imply are left out; an arrow that closes a cycle is dashed.
`tests/house/test_architecture.py` compares the picture with the code.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PICTURE = Path("docs/images/architecture.svg")
PACKAGES = ("lab", "reports", "results", "engines", "workloads")
NATIVE = "engines/multicore"
CORE, BINDINGS = f"{NATIVE}/core", f"{NATIVE}/bindings"
EXTENSION = f"{NATIVE}/_core"
"""The module of the bindings; the build makes it, so no source file has this path."""

BOXES = {
    "lab": "lab: runs trials, measures, judges",
    "reports": "reports: tables, figures, pages",
    "results": "results: rows on disk, statistics",
    "engines": "engines: the protocol and its implementations",
    "workloads": "workloads: models, input, programs",
    NATIVE: "engines/multicore: Python",
    CORE: "engines/multicore/core: C++",
}
LEGEND = (
    "An arrow leads from what needs to what is needed. Arrows that others imply are left out; "
    "a dashed one closes a circle."
)
STYLES = {
    "box": 'color="#333333" penwidth=3',
    "unit": 'color="#666677"',
    "against": 'color="#cc6600" style=dashed constraint=false',
}

Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Content:
    """The units of a picture, and the arrows from a unit to the units that it needs."""

    units: frozenset[str]
    arrows: frozenset[Arrow]


def needs(root: Path) -> Counter[Arrow]:
    """Count, for each pair of units, the files of the first that depend on the second, by import, NEEDS or include."""
    arrows: Counter[Arrow] = Counter()
    for package in PACKAGES:
        for file in sorted((root / package).rglob("[!_]*.py")):
            for target in {_unit_of_module(root, name) for name in _imports_of(file)} - {None}:
                arrows[_unit(file.relative_to(root)), str(target)] += 1
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    for name, needs_text in re.findall(r"^lab_family\((\w+)(?: NEEDS ([\w ]+))?\)", cmake, re.M):
        for other_family in needs_text.split():
            arrows[f"{CORE}/{name}", f"{CORE}/{other_family}"] += 1
    families = {path.name for path in (root / CORE).iterdir() if any(path.glob("*.h"))}
    for file in sorted((root / BINDINGS).glob("*.*")):
        included_families = re.findall(r'^#include "(\w+)/', file.read_text(encoding="utf-8"), re.M)
        for name in families.intersection(included_families):
            arrows[BINDINGS, f"{CORE}/{name}"] += 1
    return Counter(
        {arrow: file_count for arrow, file_count in arrows.items() if arrow[0] != arrow[1]}
    )


def _imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _unit_of_module(root: Path, name: str) -> str | None:
    """Return the unit of an imported name; None for names of other projects."""
    parts = name.removeprefix("streamlab.").split(".")
    if parts[0] not in PACKAGES:
        return None
    if "/".join(parts[:3]) == EXTENSION:
        return BINDINGS
    while parts:
        path = Path(*parts)
        if (root / path).is_dir():
            return _unit(path / "__init__.py")
        if (root / path).with_suffix(".py").is_file():
            return _unit(path.with_suffix(".py"))
        parts.pop()
    return None


def _unit(file: Path) -> str:
    """Return the unit of a Python file: two folders deep, or three in the native engine."""
    folders = file.parts[:-1]
    depth = 3 if folders[:2] == ("engines", "multicore") else 2
    unit = "/".join(folders[:depth])
    return f"{unit}/*.py" if len(folders) < depth else unit


def box_of(unit: str) -> str:
    """Return the box in which a unit is drawn."""
    if unit.startswith((CORE, BINDINGS)):
        return CORE
    if unit.startswith(f"{NATIVE}/"):
        return NATIVE
    return unit.split("/")[0]


def layered(arrows: Counter[Arrow]) -> tuple[set[Arrow], set[Arrow]]:
    """Return the arrows of a graph without cycles and implied arrows, and the arrows that closed cycles.

    In each cycle, the arrow with the fewest files counts as the one that closes it.
    """
    acyclic, closing = dict(arrows), set()
    while circular := [arrow for arrow in acyclic if arrow[0] in _below(arrow[1], acyclic)]:
        weakest = min(circular, key=lambda arrow: (acyclic[arrow], arrow))
        closing.add(weakest)
        del acyclic[weakest]
    for a, b in sorted(closing, key=lambda arrow: (-arrows[arrow], arrow)):
        if a not in _below(b, acyclic):  # another removed arrow has opened the cycle
            closing.remove((a, b))
            acyclic[a, b] = arrows[a, b]
    reduced = {
        (a, b)
        for a, b in acyclic
        if b not in _below(a, [other for other in acyclic if other != (a, b)])
    }
    return reduced, closing


def _below(unit: str, arrows: Iterable[Arrow]) -> set[str]:
    """Return the units that arrows reach from `unit`, directly or through other units."""
    reachable, queue = set(), [unit]
    pairs = list(arrows)
    while queue:
        current = queue.pop()
        unseen = {b for a, b in pairs if a == current} - reachable
        reachable |= unseen
        queue += unseen
    return reachable


def content_of_tree(root: Path) -> Content:
    """Return the content that the picture of this tree must have."""
    arrows = needs(root)
    units = {unit for arrow in arrows for unit in arrow}
    units -= {unit for unit in units if _is_empty(root, unit)}
    return Content(
        units=frozenset(units),
        arrows=frozenset(arrow for _, arrow in _all_arrows(arrows, units)),
    )


def _is_empty(root: Path, unit: str) -> bool:
    """Return whether a unit has only a package's `__init__.py`."""
    return unit.endswith("/*.py") and all(
        path.name == "__init__.py" for path in (root / unit).parent.glob("*.py")
    )


def _all_arrows(arrows: Counter[Arrow], units: set[str]) -> Iterator[tuple[str, Arrow]]:
    """Yield each arrow to draw, with its kind: `box`, `unit` (both inside one box), or `against` (closes a cycle)."""
    box_arrows: Counter[Arrow] = Counter()
    for (a, b), file_count in arrows.items():
        if box_of(a) != box_of(b):
            box_arrows[box_of(a), box_of(b)] += file_count
    reduced, closing = layered(box_arrows)
    yield from (("box", arrow) for arrow in sorted(reduced))
    yield from (("against", arrow) for arrow in sorted(closing))
    for box in BOXES:
        unit_arrows = Counter(
            {
                arrow: file_count
                for arrow, file_count in arrows.items()
                if {box_of(unit) for unit in arrow} == {box} and units.issuperset(arrow)
            }
        )
        reduced, closing = layered(unit_arrows)
        yield from (("unit", arrow) for arrow in sorted(reduced))
        yield from (("against", arrow) for arrow in sorted(closing))


def content_of_picture(svg: str) -> Content:
    """Return the content of a picture: elements have the ids `unit UNIT` and `arrow UNIT UNIT`."""
    ids = [e.attrib.get("id", "").split(" ") for e in ElementTree.fromstring(svg).iter()]
    return Content(
        units=frozenset(words[1] for words in ids if words[0] == "unit"),
        arrows=frozenset((words[1], words[2]) for words in ids if words[0] == "arrow"),
    )


def picture(root: Path) -> str:
    """Return the picture as SVG text."""
    arrows, units = needs(root), content_of_tree(root).units
    kinds = list(_all_arrows(arrows, set(units)))
    sources = {a for kind, (a, _) in kinds if kind == "unit"}
    targets = {b for kind, (_, b) in kinds if kind == "unit"}
    lines = [
        "digraph {",
        f'graph [compound=true fontname="sans-serif" label="{LEGEND}"]',
        'node [shape=box style="rounded,filled" fillcolor="#e3eefb" fontname="sans-serif"]',
    ]
    top, bottom = {}, {}
    for box, title in BOXES.items():
        members = sorted(unit for unit in units if box_of(unit) == box)
        top[box] = next((unit for unit in members if unit not in targets), members[0])
        bottom[box] = next((unit for unit in members if unit not in sources), members[0])
        lines.append(f'subgraph "cluster {box}" {{ label="{title}" style=rounded bgcolor="#f4f6f8"')
        lines += [f'"{unit}" [id="unit {unit}" label="{_label(unit)}"]' for unit in members]
        lines.append("}")
    for kind, (a, b) in kinds:
        ends, clusters = f'"{a}" -> "{b}"', ""
        if a in BOXES:
            ends = f'"{bottom[a]}" -> "{top[b]}"'
            clusters = f'ltail="cluster {a}" lhead="cluster {b}"'
        lines.append(f'{ends} [id="arrow {a} {b}" {clusters} {STYLES[kind]}]')
    graph = "\n".join([*lines, "}"])
    return subprocess.run(
        ["dot", "-Tsvg"], input=graph, capture_output=True, text=True, check=True
    ).stdout


def _label(unit: str) -> str:
    return unit if unit.endswith("*.py") else unit.rsplit("/", 1)[1]


if __name__ == "__main__":
    out = ROOT / PICTURE
    out.write_text(picture(ROOT), encoding="utf-8")
    print(f"wrote {out.relative_to(ROOT)}", file=sys.stderr)
