"""Implements the communication optimizer of the DGS paper, appendix B."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.dependence import DependenceGraph
from streamlab.workloads.model.dgs.optimizer import grow
from streamlab.workloads.model.dgs.placement import MAX_SHAPES
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, PlanNode, Tree
from streamlab.workloads.model.dgs.stream_profile import within_keys
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.request import Choice, PlanRequest

INNER_NODES = (
    "form = 'as-published' runs inner nodes on these workers; "
    "in form 'own' the last worker below to arrive runs them"
)


def appendix_b(request: PlanRequest) -> Choice:
    """Keep events on the node where they arrive; synchronize on the rarest tags first.

    The optimizer works on each key's dependence graph. It removes the implementation tag with the
    lowest rate until the rest is disconnected. The removed tags become the inner node above the parts,
    which it then splits in the same way. Each tree node runs on the node (a worker) where its heaviest
    tag arrives; a tree node without tags runs on the worker of its first child. Inner nodes have a thread
    in form `as-published` only. Keys are independent, so a forest replaces the paper's root without tags.

    Keys whose tags have the same order of rates share a tree. If that gives more than `MAX_SHAPES`
    trees, all keys share the tree of the summed rates.
    """
    streams, workers = within_keys(request.program, request.streams), request.workers
    nodes = request.nodes or tuple(index % workers for index in range(len(streams)))
    tags = sorted(ImplTag(kind, i) for i, stream in enumerate(streams) for kind in stream.kinds)
    if not tags:
        return by_stream(request)
    rates = np.stack([streams[tag.stream].counts[:, tag.kind] for tag in tags], axis=1)
    shapes, shape_of = _by_rank(rates)
    if len(shapes) > MAX_SHAPES:
        shapes, shape_of = _by_rank(rates.sum(axis=0, keepdims=True))
        shape_of = np.zeros(len(rates), dtype=np.intp)
    worker_of = {tag: nodes[tag.stream] for tag in tags}
    trees: list[Tree] = []
    for index, ranks in enumerate(shapes.tolist()):
        rank_of = dict(zip(tags, ranks, strict=True))
        graph = DependenceGraph.from_rates(request.program, rank_of)
        root = grow(request.program, graph, worker_of, graph.split_by_tag)
        root = _place_inner(root, rank_of, worker_of)
        trees.append(Tree(root=root, keys=np.flatnonzero(shape_of == index).astype(np.int32)))
    return Choice(
        plan=Plan(
            program=request.program,
            alphabet=request.alphabet,
            streams=tuple(stream.name for stream in streams),
            workers=workers,
            trees=tuple(trees),
        ),
        reasons=(INNER_NODES,) if any(tree.root.children for tree in trees) else (),
    )


def _place_inner(
    node: PlanNode, rank_of: Mapping[ImplTag, int], worker_of: Mapping[ImplTag, int]
) -> PlanNode:
    """Place the inner nodes of a tree, whose leaves have workers."""
    if not node.children:
        return node
    children = tuple(_place_inner(child, rank_of, worker_of) for child in node.children)
    worker = children[0].worker
    if node.tags:
        worker = worker_of[max(node.tags, key=rank_of.__getitem__)]
    return replace(node, children=children, worker=worker)


def _by_rank(
    rates: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the distinct rankings of the tags by rate, and the index of each key's ranking.

    Only the order of rates matters. Ties are broken by tag.
    """
    order = np.argsort(rates, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    shapes, shape_of = np.unique(ranks, axis=0, return_inverse=True)
    return shapes, shape_of.reshape(-1)
