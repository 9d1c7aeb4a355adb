"""Describes an operator O+ to the native core."""

from collections.abc import Sequence

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.kernels import OperatorKernels, TupleLayout, entry_bytes
from streamlab.engines.multicore.oplus.stored_tuples import stored_dtype
from streamlab.workloads.model import Operator
from streamlab.workloads.model.operators.program import SINGLE


def spec_of(
    operator: Operator,
    kernels: OperatorKernels,
    layouts: Sequence[TupleLayout],
    *,
    fused: bool,
    bag: bool = False,
) -> _core.OperatorSpec:
    """Return the core's description of an operator.

    Args:
        operator: the operator.
        kernels: its compiled functions.
        layouts: layouts of its streams; two for fused joins.
        fused: whether it is a join that runs over columns.
        bag: whether map instances in front of it keep repeated keys.
    """
    join: dict[str, int] = {}
    if fused:
        left, right = layouts
        join = {
            "match_by_left": kernels.match(left, right, by_left=True),
            "match_by_right": kernels.match(left, right, by_left=False),
            "emit_pairs": kernels.pairs(left, right),
        }
    return _core.OperatorSpec(
        name=operator.name,
        advance=operator.window.advance,
        size=operator.window.size,
        single=operator.window.type == SINGLE,
        inputs=len(operator.inputs),
        entry_bytes=entry_bytes(operator),
        buckets=operator.buckets,
        expire=0 if fused else kernels.expire(),
        max_outputs=operator.max_outputs,
        emits_on_update=operator.emits_on_update,
        bag=bag,
        stored_bytes=stored_dtype(operator).itemsize if operator.stores and not fused else 0,
        matches_stored=operator.join is not None and not fused,
        **join,
    )
