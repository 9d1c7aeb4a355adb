"""Defines the options of the variant `dgs`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from streamlab.engines.multicore.run.settings import CompiledOptions, Natural, Positive
from streamlab.workloads.optimizers import DEFAULT, names


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsOptions(CompiledOptions):
    """Options of variant `dgs` (docs/engines/multicore.md).

    Attributes:
        form: this lab's form of a run, or the published one.
        gather: whether one worker may do all work where synchronizing costs more than it gains; None means True in
            this lab's form.
        handover: how workers pass states; None means "direct" in this lab's form.
        optimizer: name of the optimizer that chooses the plan.
        nodes: the worker where each stream arrives, see `PlanRequest.nodes`.
        adapt: whether the plan may change during the run.
        adapt_ms: time between two checks of the rates.
        checkpoint_every: number of cuts from one possible checkpoint to the next; 0 for no checkpoints.
        checkpoint_ms: minimum time between two checkpoints.
        checkpoint_folder: absolute path; empty for a folder that the trial deletes at its end.
    """

    form: Literal["own", "as-published"] = "own"
    gather: bool | None = None
    handover: Literal["direct", "ring"] | None = None
    optimizer: str = DEFAULT
    nodes: tuple[Natural, ...] = ()
    adapt: bool = False
    adapt_ms: Positive = 100
    checkpoint_every: Natural = 0
    checkpoint_ms: Natural = 100
    checkpoint_folder: str = ""

    def __post_init__(self) -> None:
        if self.optimizer not in names():
            raise ValueError(
                f"option optimizer is {self.optimizer!r}; it must be one of {', '.join(names())}"
            )
        if self.broker and (self.adapt or self.checkpoint_every or self.as_published):
            raise ValueError(
                "options adapt and checkpoint_every, and form = 'as-published', need the whole input in "
                "memory at the start; remove option broker"
            )
        own_options = {
            "gather": self.gather,
            "handover": self.handover,
            "adapt": self.adapt,
            "checkpoint_every": self.checkpoint_every,
        }
        if self.as_published and (chosen := [name for name, value in own_options.items() if value]):
            raise ValueError(
                f"option {chosen[0]} is this lab's addition, so form = 'as-published' does not "
                f"have it; remove {' and '.join(chosen)}, or form"
            )
        if self.checkpoint_folder and not self.checkpoint_every:
            raise ValueError(
                "option checkpoint_folder needs checkpoints, but checkpoint_every is 0; set it to 1 or "
                "more, or remove checkpoint_folder"
            )
        if self.checkpoint_folder and not Path(self.checkpoint_folder).is_absolute():
            raise ValueError(
                f"option checkpoint_folder is {self.checkpoint_folder!r}; trials run in another "
                "directory, so use an absolute path"
            )

    @property
    def as_published(self) -> bool:
        """Whether the run is in the published form."""
        return self.form == "as-published"

    def resolve(self, scratch: Path) -> Self:
        """Return the options for a trial: without a folder, checkpoints go to its scratch folder."""
        if not self.checkpoint_every or self.checkpoint_folder:
            return self
        return replace(self, checkpoint_folder=str(scratch / "checkpoints"))
