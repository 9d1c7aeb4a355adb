"""Defines the programming models: DGS programs, O+ queries, pipelines and dataflow graphs.

Also their common input: streams, tags and columns. A `Workload` holds a program, its input and its oracle.
"""

from streamlab.workloads.model.answers.floats import EXACT, Tolerance
from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.dgs.cross_key_events import Across
from streamlab.workloads.model.dgs.program import DGSProgram, ForkJoin, StateType
from streamlab.workloads.model.errors import ModelError, PlanError, ProgramError
from streamlab.workloads.model.operators.aggregates import aggregate, aggregate_plus, equi_join
from streamlab.workloads.model.operators.program import InputType, Operator, Query, Window, join
from streamlab.workloads.model.pipeline.program import (
    Pipeline,
    Stage,
    partitioned,
    stateful,
    stateless,
)
from streamlab.workloads.model.streams.lists import (
    ColumnType,
    ListColumn,
    ListType,
    column_type,
    type_of,
)
from streamlab.workloads.model.streams.stream import Block, Columns, Input, Stream
from streamlab.workloads.model.streams.tag import Alphabet, Tag
from streamlab.workloads.model.workload import (
    Bound,
    OutputType,
    Parameter,
    Params,
    Program,
    StreamSpec,
    Workload,
    fields_read,
)

__all__ = [
    "EXACT",
    "Across",
    "Alphabet",
    "Block",
    "Bound",
    "ColumnType",
    "Columns",
    "DGSProgram",
    "Dataflow",
    "ForkJoin",
    "Input",
    "InputType",
    "ListColumn",
    "ListType",
    "ModelError",
    "Operator",
    "OutputType",
    "Parameter",
    "Params",
    "Pipeline",
    "PlanError",
    "Program",
    "ProgramError",
    "Query",
    "Stage",
    "StateType",
    "Stream",
    "StreamSpec",
    "Tag",
    "Tolerance",
    "Window",
    "Workload",
    "aggregate",
    "aggregate_plus",
    "column_type",
    "equi_join",
    "fields_read",
    "join",
    "partitioned",
    "stateful",
    "stateless",
    "type_of",
]
