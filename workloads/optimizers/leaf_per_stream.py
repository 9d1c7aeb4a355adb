"""A leaf for each stream, however few workers: plans as deep as streams are many."""

from dataclasses import replace

from streamlab.workloads.model.dgs.optimizer import choose_plan, reading_streams
from streamlab.workloads.model.dgs.plan import PlanNode
from streamlab.workloads.optimizers.request import Choice, PlanRequest


def leaf_per_stream(request: PlanRequest) -> Choice:
    """Give each stream a leaf of its own, on the workers in turn.

    The plan `by_stream` for a worker for each stream that leaves are placed with (DGS paper,
    appendix B: "a separate worker for each input stream"), of which each of the fewer there are has
    several leaves. Neighbours in a tree are different workers', so that levels hand over: it shows
    what depth takes.
    """
    leaves = len(reading_streams(request.program, request.streams))
    plan = choose_plan(
        request.program, request.alphabet, request.streams, max(request.workers, leaves)
    )
    trees = tuple(replace(tree, root=_dealt(tree.root, request.workers)) for tree in plan.trees)
    return Choice(plan=replace(plan, trees=trees, workers=request.workers))


def _dealt(node: PlanNode, workers: int) -> PlanNode:
    if not node.children:
        return replace(node, worker=node.worker % workers)
    return replace(node, children=tuple(_dealt(child, workers) for child in node.children))
