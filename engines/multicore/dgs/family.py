"""Defines the variant `dgs`, which runs DGS programs."""

from dataclasses import dataclass, replace

from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.settings import settings_of
from streamlab.engines.protocol import Prepared, Task
from streamlab.workloads.model import DGSProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class _DgsFamily(Family):
    """Writes checkpoints to the trial's scratch folder unless the task names a folder."""

    def prepare(self, task: Task) -> Prepared:
        """Load a task's input and create the run; see `Engine.prepare`."""
        options = DgsOptions.from_task(task.options)
        if options.checkpoint_every and not options.checkpoint_folder:
            options = replace(options, checkpoint_folder=str(task.scratch / "checkpoints"))
        return self.run(task.workload.program, task.dataset.load(), settings_of(task), options)


DGS = _DgsFamily(
    name="dgs",
    summary="synchronization plans over shared memory; programs with DGS",
    models=(DGSProgram,),
    run=DgsRun,
    options_type=DgsOptions,
    properties=properties(
        "the program does not mention the number of workers",
        "the plan, not the program, maps streams to workers",
        "only update, fork and join are used",
    ),
)
