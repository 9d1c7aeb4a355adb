"""Implements optimizer `leaf-per-stream`: a leaf for each stream, whatever the number of workers."""

from dataclasses import replace

from streamlab.workloads.model.dgs.optimizer import choose_plan, reading_streams
from streamlab.workloads.model.dgs.plan import PlanNode
from streamlab.workloads.optimizers.request import Choice, PlanRequest


def leaf_per_stream(request: PlanRequest) -> Choice:
    """Give each stream a leaf, and assign leaves to workers in turn.

    This is the plan of `by_stream` for one worker per stream (DGS paper, appendix B: "a separate
    worker for each input stream"), on fewer workers with several leaves each. Neighbours in a tree are on
    different workers. So every level of the tree hands over between workers, and the plan shows the cost
    of a deep tree.
    """
    leaves = len(reading_streams(request.program, request.streams))
    plan = choose_plan(
        request.program, request.alphabet, request.streams, max(request.workers, leaves)
    )
    trees = tuple(
        replace(tree, root=_assign_leaves(tree.root, request.workers)) for tree in plan.trees
    )
    return Choice(plan=replace(plan, trees=trees, workers=request.workers))


def _assign_leaves(node: PlanNode, workers: int) -> PlanNode:
    if not node.children:
        return replace(node, worker=node.worker % workers)
    return replace(node, children=tuple(_assign_leaves(child, workers) for child in node.children))
