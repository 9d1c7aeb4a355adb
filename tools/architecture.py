"""Draws docs/images/architecture.svg from the code itself: `python3 tools/architecture.py`.

A unit is a folder, or the modules that lie directly in a package. Arrows say what needs what:
between Python units by their imports, between the folders of the C++ core by `lab_family(NAME NEEDS
...)` in CMakeLists.txt, from the bindings to the core by their includes. An arrow that others imply
is left out; one that closes a circle is dashed. `tests/house/test_architecture.py` compares units
and arrows of the picture with those of the code.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PICTURE = Path("docs/images/architecture.svg")
PACKAGES = ("lab", "reports", "results", "engines", "workloads")
NATIVE = "engines/multicore"
CORE, BINDINGS = f"{NATIVE}/core", f"{NATIVE}/bindings"
EXTENSION = f"{NATIVE}/_core"
"""What Python imports of the bindings; a built module, so no file of the tree."""

BOXES = {  # left, width, title, and the box above
    "lab": (20, 1140, "lab: runs trials, measures, judges", None),
    "reports": (20, 330, "reports: tables, figures, pages", "lab"),
    "results": (20, 330, "results: rows on disk, statistics", "reports"),
    "engines": (374, 352, "engines: the protocol, and who keeps it", "lab"),
    "workloads": (374, 352, "workloads: models, input, programs", "engines"),
    NATIVE: (750, 410, "engines/multicore: Python", "lab"),
    CORE: (750, 410, "engines/multicore/core: C++", NATIVE),
}
WIDTH = 1190
GAP, ROW, UNIT_HEIGHT, TITLE = 46, 66, 28, 44
PASSING = 0.3
"""Width of the gap that an arrow past a row has in it, in units."""

Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the picture says: its units, and its arrows, from what needs to what is needed."""

    units: frozenset[str]
    arrows: frozenset[Arrow]


def needs(root: Path) -> Counter[Arrow]:
    """Return in how many files each unit names each other: by import, NEEDS or include."""
    found: Counter[Arrow] = Counter()
    for package in PACKAGES:
        for file in sorted((root / package).rglob("[!_]*.py")):
            for target in {_unit_of_module(root, name) for name in _imported(file)} - {None}:
                found[_unit(file.relative_to(root)), str(target)] += 1
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    for name, needed in re.findall(r"^lab_family\((\w+)(?: NEEDS ([\w ]+))?\)", cmake, re.M):
        for other in needed.split():
            found[f"{CORE}/{name}", f"{CORE}/{other}"] += 1
    families = {path.name for path in (root / CORE).iterdir() if any(path.glob("*.h"))}
    for file in sorted((root / BINDINGS).glob("*.*")):
        included = re.findall(r'^#include "(\w+)/', file.read_text(encoding="utf-8"), re.M)
        for name in families.intersection(included):
            found[BINDINGS, f"{CORE}/{name}"] += 1
    return Counter({arrow: often for arrow, often in found.items() if arrow[0] != arrow[1]})


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _unit_of_module(root: Path, name: str) -> str | None:
    """Return the unit that an imported name lies in; None: it is none of this project's."""
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
    """Return the unit of a Python file: one folder deep, in the native engine two."""
    folders = file.parts[:-1]
    deep = 3 if folders[:2] == ("engines", "multicore") else 2
    unit = "/".join(folders[:deep])
    return f"{unit}/*.py" if len(folders) < deep else unit


def box_of(unit: str) -> str:
    """Return the box that a unit is drawn in."""
    if unit.startswith((CORE, BINDINGS)):
        return CORE
    if unit.startswith(f"{NATIVE}/"):
        return NATIVE
    return unit.split("/")[0]


def layered(arrows: Counter[Arrow]) -> tuple[set[Arrow], set[Arrow]]:
    """Return the arrows without circles, implied ones left out, and those that closed circles.

    Of a circle the arrow that stands for the fewest files gives way.
    """
    kept, against = dict(arrows), set()
    while circular := [arrow for arrow in kept if arrow[0] in _below(arrow[1], kept)]:
        least = min(circular, key=lambda arrow: (kept[arrow], arrow))
        against.add(least)
        del kept[least]
    for a, b in sorted(against, key=lambda arrow: (-arrows[arrow], arrow)):
        if a not in _below(b, kept):  # it gave way for a circle that another has opened
            against.remove((a, b))
            kept[a, b] = arrows[a, b]
    reduced = {
        (a, b) for a, b in kept if b not in _below(a, [other for other in kept if other != (a, b)])
    }
    return reduced, against


def _below(unit: str, arrows: Iterable[Arrow]) -> set[str]:
    found, todo = set(), [unit]
    pairs = list(arrows)
    while todo:
        at = todo.pop()
        new = {b for a, b in pairs if a == at} - found
        found |= new
        todo += new
    return found


def drawn(root: Path) -> Drawn:
    """Return what the picture of this tree has to say."""
    arrows = needs(root)
    units = {unit for arrow in arrows for unit in arrow}
    units -= {unit for unit in units if _is_empty(root, unit)}
    return Drawn(
        units=frozenset(units),
        arrows=frozenset(arrow for _, arrow in _all_arrows(arrows, units)),
    )


def _is_empty(root: Path, unit: str) -> bool:
    """Return whether a unit has nothing but the docstring of its package."""
    return unit.endswith("/*.py") and all(
        path.name == "__init__.py" for path in (root / unit).parent.glob("*.py")
    )


def _all_arrows(arrows: Counter[Arrow], units: set[str]) -> Iterator[tuple[str, Arrow]]:
    """Yield each arrow to draw with its kind: `box`, `unit` or `against`."""
    between: Counter[Arrow] = Counter()
    for (a, b), often in arrows.items():
        if box_of(a) != box_of(b):
            between[box_of(a), box_of(b)] += often
    reduced, against = layered(between)
    yield from (("box", arrow) for arrow in sorted(reduced))
    yield from (("against", arrow) for arrow in sorted(against))
    for box in BOXES:
        inside = Counter(
            {
                arrow: often
                for arrow, often in arrows.items()
                if {box_of(unit) for unit in arrow} == {box} and units.issuperset(arrow)
            }
        )
        reduced, against = layered(inside)
        yield from (("unit", arrow) for arrow in sorted(reduced))
        yield from (("against", arrow) for arrow in sorted(against))


def said(svg: str) -> Drawn:
    """Return what a picture says."""
    elements = list(ElementTree.fromstring(svg).iter())
    return Drawn(
        units=frozenset(e.attrib["data-unit"] for e in elements if "data-unit" in e.attrib),
        arrows=frozenset(
            (e.attrib["data-from"], e.attrib["data-to"])
            for e in elements
            if "data-from" in e.attrib
        ),
    )


def picture(root: Path) -> str:
    """Return the picture as SVG text."""
    arrows = needs(root)
    units = set(drawn(root).units)
    kinds = list(_all_arrows(arrows, units))
    layout = _layout(units, [arrow for kind, arrow in kinds if kind == "unit"])
    height = max(bottom for _, bottom in layout.boxes.values()) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        'font-family="sans-serif" font-size="14">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
        '<path d="M0 0 L8 4 L0 8 z" fill="context-stroke"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:g}" fill="white"/>',
        f'<text x="20" y="{height - 14:g}">An arrow leads from what needs to what is needed. '
        "Arrows that others imply are left out; a dashed one closes a circle.</text>",
    ]
    for box, (left, width, title, _) in BOXES.items():
        top, bottom = layout.boxes[box]
        lines.append(
            f'<rect x="{left}" y="{top:g}" width="{width}" height="{bottom - top:g}" rx="8" '
            f'fill="#f4f6f8" stroke="#888"/>'
            f'<text x="{left + 12}" y="{top + 24:g}" font-weight="bold">{escape(title)}</text>'
        )
    for kind, (a, b) in kinds:
        way = _between(a, b, layout) if a in BOXES else _inside(a, b, layout, direct=kind != "unit")
        lines.append(
            f'<path data-from="{a}" data-to="{b}" d="{way}" fill="none" {STYLES[kind]} '
            'marker-end="url(#head)"/>'
        )
    for unit, (x, y) in sorted(layout.places.items()):
        if unit in units:
            wide = max(70.0, 8.0 * len(_label(unit)) + 16)
            lines.append(
                f'<g data-unit="{unit}"><rect x="{x - wide / 2:g}" y="{y:g}" width="{wide:g}" '
                f'height="{UNIT_HEIGHT}" rx="5" fill="#e3eefb" stroke="#557"/><text x="{x:g}" '
                f'y="{y + 19:g}" text-anchor="middle">{escape(_label(unit))}</text></g>'
            )
    return "\n".join([*lines, "</svg>", ""])


STYLES = {
    "box": 'stroke="#333" stroke-width="3"',
    "unit": 'stroke="#667" stroke-width="1.2"',
    "against": 'stroke="#c60" stroke-width="1.2" stroke-dasharray="5 3"',
}

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand.

    Attributes:
        places: middle and top of each unit, and of the gap that an arrow has in a row it passes.
        boxes: top and bottom of each box.
        passed: the gaps of each such arrow, from above.
    """

    places: dict[str, Point]
    boxes: dict[str, Point]
    passed: dict[Arrow, list[str]]


def _label(unit: str) -> str:
    return unit if unit.endswith("*.py") else unit.rsplit("/", 1)[1]


def _layout(units: set[str], arrows: list[Arrow]) -> _Layout:
    """Place every unit one row below the lowest of those that need it, below their middle."""
    layout = _Layout(places={}, boxes={}, passed={})
    for box, (left, width, _, above) in BOXES.items():
        top = 20.0 if above is None else layout.boxes[above][1] + GAP
        rank = _ranks(sorted(unit for unit in units if box_of(unit) == box), arrows)
        needed_by: dict[str, list[str]] = {unit: [] for unit in rank}
        for a, b in [arrow for arrow in arrows if arrow[0] in rank]:
            gaps = [f"{a} to {b}, {row}" for row in range(rank[a] + 1, rank[b])]
            layout.passed[a, b] = gaps
            for one, other in zip([a, *gaps], [*gaps, b], strict=True):
                needed_by.setdefault(other, []).append(one)
            rank |= {gap: rank[a] + 1 + index for index, gap in enumerate(gaps)}
        rows = max(rank.values(), default=0) + 1
        for row in range(rows):
            _place_row([u for u in rank if rank[u] == row], needed_by, layout.places, left, width)
            for unit in [u for u in rank if rank[u] == row]:
                layout.places[unit] = (layout.places[unit][0], top + TITLE + row * ROW)
        layout.boxes[box] = (top, top + TITLE + (rows - 1) * ROW + UNIT_HEIGHT + 14)
    return layout


def _ranks(units: list[str], arrows: list[Arrow]) -> dict[str, int]:
    rank: dict[str, int] = {}
    while len(rank) < len(units):
        for unit in units:
            above = [a for a, b in arrows if b == unit]
            if all(other in rank for other in above):
                rank[unit] = max((rank[other] + 1 for other in above), default=0)
    return rank


def _place_row(
    row: list[str],
    needed_by: dict[str, list[str]],
    places: dict[str, Point],
    left: float,
    width: float,
) -> None:
    def wanted(unit: str) -> tuple[float, str]:
        above = [places[other][0] for other in needed_by[unit]]
        return (sum(above) / len(above) if above else left + width / 2, unit)

    ordered = sorted(row, key=wanted)
    shares = [PASSING if ", " in unit else 1.0 for unit in ordered]
    for index, unit in enumerate(ordered):
        share = (sum(shares[:index]) + shares[index] / 2) / sum(shares)
        places[unit] = (left + width * share, 0.0)


def _inside(a: str, b: str, layout: _Layout, *, direct: bool) -> str:
    """Return the way of an arrow between two units: down through its gaps, or straight there."""
    (ax, ay), (bx, by) = layout.places[a], layout.places[b]
    if direct:
        up = by <= ay
        start, end = ay if up else ay + UNIT_HEIGHT, by + UNIT_HEIGHT if up else by
        return f"M{ax + 12:g} {start:g} L{bx + 12:g} {end:g}"
    way, x, y = f"M{ax:g} {ay + UNIT_HEIGHT:g}", ax, ay + UNIT_HEIGHT
    for gap in [*layout.passed[a, b], b]:
        nx, ny = layout.places[gap]
        way += f" C{x:g} {y + 22:g} {nx:g} {ny - 22:g} {nx:g} {ny:g}"
        if gap != b:
            way += f" V{ny + UNIT_HEIGHT:g}"
        x, y = nx, ny + UNIT_HEIGHT
    return way


def _between(a: str, b: str, layout: _Layout) -> str:
    """Return the way of an arrow between two boxes."""
    (aleft, awidth, _, _), (bleft, bwidth, _, above) = BOXES[a], BOXES[b]
    (_, abottom), (btop, bbottom) = layout.boxes[a], layout.boxes[b]
    if above == a:
        return f"M{bleft + bwidth / 2:g} {abottom:g} V{btop:g}"
    if abottom < btop:  # past the boxes between, at the side
        right = max(aleft + awidth, bleft + bwidth)
        return (
            f"M{right - 30:g} {abottom:g} V{abottom + 16:g} H{right + 14:g} V{btop + 24:g} "
            f"H{bleft + bwidth:g}"
        )
    y = min(abottom, bbottom) - 24
    return (
        f"M{aleft:g} {y:g} H{bleft + bwidth:g}"
        if aleft > bleft
        else f"M{aleft + awidth:g} {y:g} H{bleft:g}"
    )


if __name__ == "__main__":
    out = ROOT / PICTURE
    out.write_text(picture(ROOT), encoding="utf-8")
    print(f"wrote {out.relative_to(ROOT)}", file=sys.stderr)
