"""How operators O+ are run: the options of variants `vsn` and `sn`, and what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus.elastic.controller import Settings, make
from streamlab.engines.multicore.run.settings import OwnOptions, wrong_name
from streamlab.workloads.model import Operator

FUSED, OPERATOR10 = JOIN_FORMS = ("fused", "operator10")


@dataclass(frozen=True, slots=True, kw_only=True)
class OplusOptions(OwnOptions):
    """Options of a run.

    Attributes:
        shared_nothing: queues and a state for each instance, instead of one log and one state.
        tuple_buffer: which log: `order` or `scalegate`.
        max_instances: threads, at least as many as are ever active; None: as many as workers, or
            a controller's max. With several operators, thread i runs instance i of each.
        controller: options of an elasticity controller; None: the number of instances stays.
        downstream: readers behind the last operator, a thread each, which all take its outputs in
            order, out of one log, or, shared-nothing, out of queues of their own: latency ends
            there. 0: outputs are collected where they are emitted.
        link_rows: rows that an instance may be ahead in a log behind an operator, a power of
            two; what is beyond waits in memory. None: the core's default. Tests take fewer; a task
            cannot.
        join_form: how joins run. `operator10`: by their f_MK, f_U and f_S, with stored tuples by
            key, as STRETCH's Operator 10 does. `fused`: the predicate alone, in a loop over the
            columns of all pairs, with nothing stored.
        map_instances: of the map stage in front of shared-nothing instances; 0: as many as these;
            None: there is none.
    """

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "tuple_buffer": str,
        "max_instances": int,
        "controller": dict,
        "downstream": int,
        "join_form": str,
    }

    shared_nothing: bool = False
    tuple_buffer: str = _core.TUPLE_BUFFERS[0]
    max_instances: int | None = None
    controller: Mapping[str, object] | None = None
    downstream: int = 0
    link_rows: int | None = None
    join_form: str = FUSED
    map_instances: int | None = None

    def maps(self, workers: int) -> int:
        """Return how many map instances there are; 0: no map stage."""
        return 0 if self.map_instances is None else self.map_instances or workers

    def fuses(self, operator: Operator) -> bool:
        """Return whether an operator is a join that runs over columns; others run by key."""
        return operator.join is not None and self.join_form == FUSED

    def settings(self) -> Settings | None:
        """Return what the controller's options say of the loop; None without a controller.

        Raises:
            UnsupportedError: they are wrong.
        """
        return None if self.controller is None else make(self.controller)[1]

    def threads(self, workers: int) -> int:
        """Return for how many instances there are threads."""
        if self.max_instances is not None:
            return self.max_instances
        settings = self.settings()
        if settings is None or settings.maximum is None:
            return workers
        return max(workers, settings.maximum)

    def wrong(self) -> str | None:
        """Return what is wrong with the values, or None."""
        try:
            self.settings()
        except UnsupportedError as error:
            return str(error)
        return (
            wrong_downstream(self.downstream)
            or wrong_name("tuple_buffer", _core.TUPLE_BUFFERS, self.tuple_buffer)
            or wrong_name("join_form", JOIN_FORMS, self.join_form)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStageOptions(OplusOptions):
    """Options of a run with a map stage, whose number of instances stays."""

    KINDS: ClassVar[Mapping[str, type[object]]] = {
        "tuple_buffer": str,
        "map_instances": int,
        "downstream": int,
    }

    map_instances: int | None = 0


def wrong_downstream(readers: int) -> str | None:
    """Return what is wrong with the number of downstream readers, or None."""
    if 0 <= readers <= _core.MOST_DOWNSTREAM:
        return None
    return f"downstream must be between 0 and {_core.MOST_DOWNSTREAM}, got {readers}"


def wrong_number(workers: int, options: OplusOptions) -> str | None:
    """Return what is wrong with the number of instances at the start and at most, or None."""
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
            f"and there are threads for {most} instances; raise max_instances"
        )
    return None
