"""Renders synchronization plans as indented text and as SVG."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode
from streamlab.workloads.model.picture import Arrow, Box, Picture, pictures_svg

MAX_TREES = 6
"""Largest number of keys whose trees are shown separately; more keys are grouped by tree shape."""

MAX_NAMES = 4
"""Largest number of stream names in one label; further names are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeView:
    """Holds a tree to show: the tree of one key, or the shape that many keys share."""

    title: str
    root: PlanNode


def select_trees(plan: Plan) -> tuple[tuple[TreeView, ...], str]:
    """Return the trees to show, the most frequent shapes first, and a line about the remaining shapes."""
    if not plan.program.keyed:
        return tuple(TreeView(title="", root=tree.root) for tree in plan.trees), ""
    if plan.alphabet.keys <= MAX_TREES:
        pairs = sorted(
            ((key, tree.root) for tree in plan.trees for key in tree.keys.tolist()),
            key=lambda pair: pair[0],
        )
        return tuple(TreeView(title=f"key {key}", root=root) for key, root in pairs), ""
    trees = sorted(plan.trees, key=lambda tree: -len(tree.keys))
    shown, hidden = trees[:MAX_TREES], trees[MAX_TREES:]
    keys = sum(len(tree.keys) for tree in hidden)
    rest = f"and {len(hidden)} more shapes for {keys:,} keys" if hidden else ""
    return tuple(
        TreeView(title=f"{len(tree.keys):,} keys, one tree each", root=tree.root) for tree in shown
    ), rest


def heading(plan: Plan) -> str:
    """Return a line that summarizes the plan."""
    used_workers = len({node.worker for tree in plan.trees for node in tree.root.walk()} - {-1})
    line = f"plan for {plan.program.name}: {plan.workers} {_plural(plan.workers, 'worker')}"
    if used_workers < plan.workers:
        line += f" ({used_workers} with work)"
    if plan.program.keyed:
        keys, shapes = plan.alphabet.keys, len(plan.trees)
        line += f", {keys:,} {_plural(keys, 'key')} in {shapes} {_plural(shapes, 'shape')}"
    return line


def across_lines(plan: Plan) -> list[str]:
    """Return the nodes above the trees in words, one line for each `across`."""
    lines = []
    for across in plan.program.across:
        scope = "every key"
        if across.group is not None:
            groups = len(set(across.groups(plan.alphabet.keys).tolist()))
            scope = f"the keys of a group, {groups:,} {_plural(groups, 'group')}"
        lines.append(f"above the trees: {', '.join(across.kinds)} of {scope} ({across.name})")
    return lines


def tag_lines(plan: Plan, tags: Iterable[ImplTag]) -> list[str]:
    """Return tags in words, one line for each kind, e.g. `view: view-0, view-1`."""
    by_kind: dict[int, list[str]] = {}
    for tag in sorted(tags):
        by_kind.setdefault(tag.kind, []).append(plan.streams[tag.stream])
    lines = []
    for kind, names in by_kind.items():
        hidden_names = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        lines.append(f"{plan.program.kinds[kind]}: {', '.join(names[:MAX_NAMES])}{hidden_names}")
    return lines


def plan_text(plan: Plan) -> str:
    """Return the plan as indented text, parents above their children."""
    trees, rest = select_trees(plan)
    lines = [heading(plan), *across_lines(plan)]
    for tree in trees:
        depth = 0
        if tree.title:
            lines.append(tree.title)
            depth = 1
        lines += _text(plan, tree.root, depth)
    return "\n".join([*lines, rest] if rest else lines)


def _text(plan: Plan, node: PlanNode, depth: int) -> Iterator[str]:
    tags = "; ".join(tag_lines(plan, node.tags)) or "no events, joins and forks only"
    if node.children:
        place = f" on worker {node.worker}" if node.worker >= 0 else ""
        yield f"{'  ' * depth}join/fork{place}  {node.state}  {tags}"
    else:
        waits = "; ".join(tag_lines(plan, node.ordering))
        order = f"  (in order at {waits})" if waits else ""
        yield f"{'  ' * depth}worker {node.worker}   {node.state}  {tags}{order}"
    for child in node.children:
        yield from _text(plan, child, depth + 1)


def plan_svg(plan: Plan) -> str:
    """Return the plan as SVG text, parents above their children; the same plan gives the same text."""
    trees, rest = select_trees(plan)
    head = [heading(plan), *across_lines(plan), *([rest] if rest else [])]
    return pictures_svg([_tree_picture(plan, tree) for tree in trees], head)


def _tree_picture(plan: Plan, tree: TreeView) -> Picture:
    boxes: list[Box] = []
    arrows: list[Arrow] = []

    def add(node: PlanNode, level: int, parent: int | None) -> None:
        place = len(boxes)
        name = f"{node.state}, joined" if node.children else f"{node.state}, worker {node.worker}"
        lines = (name, *tag_lines(plan, node.tags))
        boxes.append(Box(lines=lines, level=level, is_source=not node.children))
        if parent is not None:
            arrows.append(Arrow(source=parent, target=place, lines=()))
        for child in node.children:
            add(child, level + 1, place)

    add(tree.root, 0, None)
    return Picture(
        title=tree.title, boxes=tuple(boxes), arrows=tuple(arrows), answers=(), answer=""
    )


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
