"""Variant `dgs`."""

from engines.multicore.dgs.options import DgsOptions
from engines.multicore.dgs.run import DgsRun
from engines.multicore.run.family import Family, properties
from workloads.model import DGSProgram

DGS = Family(
    name="dgs",
    summary="synchronization plans over shared memory; programs with DGS",
    models=(DGSProgram,),
    run=DgsRun,
    own=DgsOptions,
    properties=properties(
        "the program does not mention the number of workers",
        "the plan, not the program, maps streams to workers",
        "only update, fork and join are used",
    ),
)
