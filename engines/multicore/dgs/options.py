"""How DGS programs are run: the options of variant `dgs`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from engines.multicore.run.settings import OwnOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class DgsOptions(OwnOptions):
    """Options of a run.

    Attributes:
        gather: without a load the first worker may do the work of all, where it is seen to be
            quicker than synchronizing with them: docs/decisions/0014-gathered-places.md.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {"gather": bool}

    gather: bool = True
