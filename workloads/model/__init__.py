"""The programming models: streams, data-trace types, and programs with DGS."""

from workloads.model.errors import ModelError, PlanError, ProgramError
from workloads.model.program import DGSProgram, ForkJoin, StateType
from workloads.model.stream import Columns, Input, Stream
from workloads.model.tag import Alphabet, Tag
from workloads.model.workload import OutputType, Parameter, Params, StreamSpec, Workload

__all__ = [
    "Alphabet",
    "Columns",
    "DGSProgram",
    "ForkJoin",
    "Input",
    "ModelError",
    "OutputType",
    "Parameter",
    "Params",
    "PlanError",
    "ProgramError",
    "StateType",
    "Stream",
    "StreamSpec",
    "Tag",
    "Workload",
]
