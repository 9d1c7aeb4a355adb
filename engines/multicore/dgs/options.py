"""How DGS programs are run: the options of variant `dgs`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import OwnOptions, wrong_name
from streamlab.workloads.optimizers import DEFAULT, names


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsOptions(OwnOptions):
    """Options of a run.

    Attributes:
        gather: without a load the first worker may do the work of all, where it is seen to be
            quicker than synchronizing with them: docs/decisions/0014-gathered-places.md.
        handover: without a load, of streams that only their own worker reads: `direct` takes
            events from the columns, `ring` puts each block through a ring and stamps it:
            docs/decisions/0018-direct-handover.md.
        mailbox: `horizon` or `tags`: whether keys that share a stream wait for each other where one
            synchronizes, or the mailbox puts the events of that one aside and goes on:
            docs/decisions/0029-mailboxes-by-tag.md.
        buffer_runs: by `tags`, how many runs of events a mailbox may have put aside, of 24 bytes
            each (1.6 MB); where they are used up, keys wait for each other again. Tests take fewer;
            a task cannot.
        optimizer: who chooses the synchronization plan (`streamlab.workloads.optimizers`).
        adapt: the plan may change while the run goes on, by measured rates, to what the optimizer
            chooses for these: docs/decisions/0030-adaptive-plans.md.
        adapt_ms: between two looks at the rates; a look takes 0.3 to 1 ms of a core, 25 with
            10,000 keys.
        checkpoint_every: a checkpoint may be written at every n-th event of the kinds that plans
            put at roots; 0: none is. One is not while another is being written: docs/recovery.md.
        checkpoint_ms: shortest time from one checkpoint to the next: each takes 1 to 2 ms of CPU
            time, so ten a second cost two cores 1 % at most.
        checkpoint_folder: where they are written, and where a run looks for one to go on from;
            empty: the trial's own folder, which goes with it.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "gather": bool,
        "handover": str,
        "mailbox": str,
        "optimizer": str,
        "adapt": bool,
        "adapt_ms": int,
        "checkpoint_every": int,
        "checkpoint_ms": int,
        "checkpoint_folder": str,
    }

    gather: bool = True
    handover: str = _core.HANDOVERS[0]
    mailbox: str = _core.MAILBOXES[0]
    buffer_runs: int = 1 << 16
    optimizer: str = DEFAULT
    adapt: bool = False
    adapt_ms: int = 100
    checkpoint_every: int = 0
    checkpoint_ms: int = 100
    checkpoint_folder: str = ""

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        return (
            wrong_name("handover", _core.HANDOVERS, self.handover)
            or wrong_name("mailbox", _core.MAILBOXES, self.mailbox)
            or wrong_name("optimizer", names(), self.optimizer)
            or self._wrong_adapting()
            or self._wrong_checkpoints()
        )

    def _wrong_adapting(self) -> str | None:
        if self.adapt and self.mailbox == "tags":
            return "option adapt needs mailbox = 'horizon': mailboxes by tag keep their plan"
        if self.adapt_ms < 1:
            return f"option adapt_ms is {self.adapt_ms}; expected milliseconds, at least 1"
        return None

    def _wrong_checkpoints(self) -> str | None:
        for name in ("checkpoint_every", "checkpoint_ms"):
            if (value := getattr(self, name)) < 0:
                return f"option {name} is {value}; it cannot be negative"
        if self.checkpoint_folder and not self.checkpoint_every:
            return (
                "option checkpoint_folder goes with checkpoint_every, which is 0, so that nothing "
                "would be written; give checkpoint_every = 1 or more"
            )
        if self.checkpoint_folder and not Path(self.checkpoint_folder).is_absolute():
            return (
                f"option checkpoint_folder is {self.checkpoint_folder!r}; trials run elsewhere, so "
                "give an absolute path"
            )
        return None
