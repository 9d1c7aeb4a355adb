"""Defines the options of the variants `vsn`, `sn` and `sn-map`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.elastic.controller import Settings, make_controller
from streamlab.engines.multicore.oplus.elastic.script import Script
from streamlab.engines.multicore.run.settings import CompiledOptions
from streamlab.workloads.model import Operator

Readers = Annotated[int, Meta(ge=0, le=_core.MAX_DOWNSTREAM)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OplusOptions(CompiledOptions):
    """Options of variants `vsn` and `sn` (docs/engines/multicore.md).

    Attributes:
        tuple_buffer: implementation of the ordered log.
        max_instances: number of threads, and maximum number of active instances; thread i runs instance i of each
            operator. None for `workers`, or the controller's max if it is higher.
        controller: options of the elastic controller; None for a fixed number of instances.
        downstream: number of threads that read the outputs.
        join_form: whether a join of all pairs runs over columns, or by key like other operators.
    """

    tuple_buffer: Literal["order", "scalegate"] = "order"
    max_instances: int | None = None
    controller: dict[str, object] | None = None
    downstream: Readers = 0
    join_form: Literal["fused", "operator10"] = "fused"

    def __post_init__(self) -> None:
        self.settings_of_controller()

    def fuses(self, operator: Operator) -> bool:
        """Return whether an operator is a join that runs over columns instead of by key."""
        return operator.join is not None and self.join_form == "fused"

    def settings_of_controller(self) -> Settings | None:
        """Return the settings of the elastic loop; None without a controller.

        Raises:
            OptionError: an option of the controller is invalid.
        """
        return None if self.controller is None else make_controller(self.controller)[1]

    def threads(self, workers: int) -> int:
        """Return the number of threads for instances."""
        if self.max_instances is not None:
            return self.max_instances
        settings = self.settings_of_controller()
        return max(workers, (settings and settings.max) or workers)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStageOptions(CompiledOptions):
    """Options of variant `sn-map`; `map_instances` 0 means `workers`."""

    tuple_buffer: Literal["order", "scalegate"] = "order"
    map_instances: int = 0
    downstream: Readers = 0


def check_instances(workers: int, options: OplusOptions) -> str | None:
    """Return why the initial or the maximum number of instances is invalid, or None."""
    max_instances = options.threads(workers)
    if not workers <= max_instances <= _core.MAX_WORKERS:
        return f"max_instances must be between workers ({workers}) and {_core.MAX_WORKERS}, got {max_instances}"
    if options.controller is None:
        return None
    controller, settings = make_controller(options.controller)
    if max(settings.min, settings.max or 0) > max_instances:
        return (
            f"controller {settings.kind}: min is {settings.min} and max is {settings.max}, "
            f"but the run has threads for {max_instances} instances; raise max_instances"
        )
    if isinstance(controller, Script) and controller.max_index() >= max_instances:
        return (
            f"controller {settings.kind}: a step names instance {controller.max_index()}, "
            f"but the run has instances 0 to {max_instances - 1}; raise max_instances"
        )
    return None
