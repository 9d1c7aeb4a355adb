"""Implements the communication optimizer of the DGS paper, appendix B."""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.dgs.dependence import DependenceGraph
from streamlab.workloads.model.dgs.optimizer import grow
from streamlab.workloads.model.dgs.placement import MAX_SHAPES
from streamlab.workloads.model.dgs.plan import ImplTag, Plan, Tree
from streamlab.workloads.model.dgs.stream_profile import within_keys
from streamlab.workloads.optimizers.by_stream import by_stream
from streamlab.workloads.optimizers.request import Choice, PlanRequest


def appendix_b(request: PlanRequest) -> Choice:
    """Keep events on the node where they arrive; synchronize on the rarest tags first.

    The optimizer works on each key's dependence graph. It removes the implementation tag with the
    lowest rate until the rest falls apart. The removed tags become the inner node above the parts,
    which it then splits in the same way. A leaf runs on the node (a worker) where its heaviest tag
    arrives. Inner nodes have no thread of their own, so the paper's placement of them does not
    apply. Keys are independent: a forest replaces the paper's root without tags.

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
    trees = []
    for index, ranks in enumerate(shapes.tolist()):
        graph = DependenceGraph.of(request.program, dict(zip(tags, ranks, strict=True)))
        root = grow(request.program, graph, worker_of, graph.split_by_tag)
        trees.append(Tree(root=root, keys=np.flatnonzero(shape_of == index).astype(np.int32)))
    return Choice(
        plan=Plan(
            program=request.program,
            alphabet=request.alphabet,
            streams=tuple(stream.name for stream in streams),
            workers=workers,
            trees=tuple(trees),
        )
    )


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
