"""Defines typed dataflow: graphs of operators whose edges have data-trace types.

Source: Data-Trace Types for Distributed Stream Processing Systems (PLDI 2019), sections 3 and 4.
"""

from streamlab.workloads.model.dataflow.operators import (
    FlowOperator,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
)
from streamlab.workloads.model.dataflow.program import Dataflow, Flow, Vertex
from streamlab.workloads.model.dataflow.types import O, TraceType, U, of_events

__all__ = [
    "Dataflow",
    "Flow",
    "FlowOperator",
    "O",
    "OpKeyedOrdered",
    "OpKeyedUnordered",
    "OpStateless",
    "TraceType",
    "U",
    "Vertex",
    "of_events",
]
