"""Defines the options of the variants `vsn`, `sn` and `sn-map`."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.elastic.controller import Settings, make_controller
from streamlab.engines.multicore.run.settings import VariantOptions, choice, option
from streamlab.workloads.model import Operator

FUSED, OPERATOR10 = JOIN_FORMS = ("fused", "operator10")


@dataclass(frozen=True, slots=True, kw_only=True)
class OplusOptions(VariantOptions):
    """Options of a run of operators O+.

    Attributes:
        shared_nothing: whether each instance has its own queues and state, instead of a shared log
            and state.
        tuple_buffer: log implementation, `order` or `scalegate`.
        max_instances: number of threads, at least the maximum of active instances. None means
            `workers`, or the controller's max if it is higher. With several operators, thread i
            runs instance i of each.
        controller: options of an elasticity controller; None keeps the number of instances.
        downstream: number of readers after the last operator, one thread each. All read its outputs
            in order, from one log or, shared-nothing, from their own queues; latency ends there.
            0 collects outputs where they are emitted.
        link_rows: number of rows, a power of two, that an instance may be ahead in a log after an
            operator; further rows wait in memory. None means the core's default. Tests lower it; a
            task cannot set it.
        join_form: execution of joins. `operator10` calls f_MK, f_U and f_S with stored tuples by
            key, as STRETCH's Operator 10. `fused` runs only the predicate, in a loop over the
            columns of all pairs, and stores nothing.
        map_instances: number of map instances in front of shared-nothing instances; 0 means
            `workers`; None means no map stage.
    """

    shared_nothing: bool = False
    tuple_buffer: str = choice(_core.TUPLE_BUFFERS)
    max_instances: int | None = option(None, int)
    controller: Mapping[str, object] | None = option(None, dict)
    downstream: int = option(0)
    link_rows: int | None = None
    join_form: str = choice(JOIN_FORMS)
    map_instances: int | None = None

    def maps(self, workers: int) -> int:
        """Return the number of map instances; 0 means no map stage."""
        return 0 if self.map_instances is None else self.map_instances or workers

    def fuses(self, operator: Operator) -> bool:
        """Return whether an operator is a join that runs over columns instead of by key."""
        return operator.join is not None and self.join_form == FUSED

    def settings(self) -> Settings | None:
        """Return the settings of the elastic loop; None without a controller.

        Raises:
            UnsupportedError: an option of the controller is invalid.
        """
        return None if self.controller is None else make_controller(self.controller)[1]

    def threads(self, workers: int) -> int:
        """Return the number of threads for instances."""
        if self.max_instances is not None:
            return self.max_instances
        settings = self.settings()
        if settings is None or settings.maximum is None:
            return workers
        return max(workers, settings.maximum)

    def check(self) -> str | None:
        """Return why a value is invalid, or None."""
        try:
            self.settings()
        except UnsupportedError as error:
            return str(error)
        return check_downstream(self.downstream) or VariantOptions.check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStageOptions(OplusOptions):
    """Options of a run with a map stage, which has a fixed number of instances."""

    map_instances: int | None = 0

    @classmethod
    def kinds(cls) -> Mapping[str, type[object]]:
        """Return the types of the options that a task may set, by name."""
        return {"tuple_buffer": str, "map_instances": int, "downstream": int}


def check_downstream(readers: int) -> str | None:
    """Return why the number of downstream readers is invalid, or None."""
    if 0 <= readers <= _core.MOST_DOWNSTREAM:
        return None
    return f"downstream must be between 0 and {_core.MOST_DOWNSTREAM}, got {readers}"


def check_instances(workers: int, options: OplusOptions) -> str | None:
    """Return why the initial or the maximum number of instances is invalid, or None."""
    most = options.threads(workers)
    if not workers <= most <= _core.MOST_WORKERS:
        return (
            f"max_instances must be between workers ({workers}) and {_core.MOST_WORKERS}, "
            f"got {most}"
        )
    settings = options.settings()
    if settings is not None and max(settings.minimum, settings.maximum or 0) > most:
        return (
            f"controller {settings.kind}: min is {settings.minimum} and max is {settings.maximum}, "
            f"but the run has threads for {most} instances; raise max_instances"
        )
    return None
