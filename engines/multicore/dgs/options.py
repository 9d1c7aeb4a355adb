"""How DGS programs are run: the options of variant `dgs`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engines.multicore import _core
from engines.multicore.run.settings import OwnOptions, wrong_name
from workloads.optimizers import DEFAULT, names


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsOptions(OwnOptions):
    """Options of a run.

    Attributes:
        gather: without a load the first worker may do the work of all, where it is seen to be
            quicker than synchronizing with them: docs/decisions/0014-gathered-places.md.
        handover: without a load, of streams that only their own worker reads: `direct` takes
            events from the columns, `ring` puts each block through a ring and stamps it:
            docs/decisions/0018-direct-handover.md.
        optimizer: who chooses the synchronization plan (`workloads.optimizers`).
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "gather": bool,
        "handover": str,
        "optimizer": str,
    }

    gather: bool = True
    handover: str = _core.HANDOVERS[0]
    optimizer: str = DEFAULT

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        return wrong_name("handover", _core.HANDOVERS, self.handover) or wrong_name(
            "optimizer", names(), self.optimizer
        )
