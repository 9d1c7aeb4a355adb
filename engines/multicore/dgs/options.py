"""Defines the options of the variant `dgs`."""

from dataclasses import dataclass
from pathlib import Path

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import VariantOptions, check_name, choice, option
from streamlab.workloads.optimizers import DEFAULT, names


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsOptions(VariantOptions):
    """Options of a DGS run.

    Attributes:
        gather: whether, without a load, the first worker may take over all work when it measures
            that this is faster than synchronizing: docs/decisions/0014-gathered-places.md.
        handover: how, without a load, a worker reads streams that no other worker reads. `direct`
            reads events from the columns; `ring` passes each block through a ring and stamps it:
            docs/decisions/0018-direct-handover.md.
        mailbox: what happens to other keys of a stream while one key synchronizes. With `horizon`
            they wait; with `tags` the mailbox buffers the events of that key and continues:
            docs/decisions/0029-mailboxes-by-tag.md.
        buffer_runs: with `tags`, maximum number of buffered runs of events per mailbox, 24 bytes
            each (1.6 MB). A full buffer makes keys wait for each other again. Tests lower it; a
            task cannot set it.
        optimizer: name of the optimizer that chooses the plan (`streamlab.workloads.optimizers`).
        adapt: whether the plan may change during the run, to the optimizer's choice for the
            measured rates: docs/decisions/0030-adaptive-plans.md.
        adapt_ms: time between two checks of the rates. A check takes 0.3 to 1 ms of a core, 25 ms
            with 10,000 keys.
        checkpoint_every: write a checkpoint at most at every n-th event of the kinds that plans put
            at roots; 0 writes none. Checkpoints never overlap: docs/recovery.md.
        checkpoint_ms: minimum time between checkpoints. Each takes 1 to 2 ms of CPU time, so ten
            per second cost at most 1 % of two cores.
        checkpoint_folder: absolute path of the folder to write to and to resume from; empty means
            a folder that the trial deletes at its end.
    """

    gather: bool = option(True)
    handover: str = choice(_core.HANDOVERS)
    mailbox: str = choice(_core.MAILBOXES)
    buffer_runs: int = 1 << 16
    optimizer: str = option(DEFAULT)
    adapt: bool = option(False)
    adapt_ms: int = option(100)
    checkpoint_every: int = option(0)
    checkpoint_ms: int = option(100)
    checkpoint_folder: str = option("")

    def check(self) -> str | None:
        """Return why a value is invalid, or None."""
        return (
            VariantOptions.check(self)
            or check_name("optimizer", names(), self.optimizer)
            or self._check_adaptive()
            or self._check_checkpoints()
        )

    def _check_adaptive(self) -> str | None:
        if self.adapt and self.mailbox == "tags":
            return "option adapt needs mailbox = 'horizon': mailboxes by tag keep their plan"
        if self.adapt_ms < 1:
            return f"option adapt_ms is {self.adapt_ms}; expected milliseconds, at least 1"
        return None

    def _check_checkpoints(self) -> str | None:
        for name in ("checkpoint_every", "checkpoint_ms"):
            if (value := getattr(self, name)) < 0:
                return f"option {name} is {value}; it cannot be negative"
        if self.checkpoint_folder and not self.checkpoint_every:
            return (
                "option checkpoint_folder needs checkpoint_every, which is 0 (no checkpoints); give "
                "checkpoint_every = 1 or more"
            )
        if self.checkpoint_folder and not Path(self.checkpoint_folder).is_absolute():
            return (
                f"option checkpoint_folder is {self.checkpoint_folder!r}; trials run in another "
                "directory, so give an absolute path"
            )
        return None
