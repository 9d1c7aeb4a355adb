"""The adapter of the multicore engine."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import ClassVar

from engines.conditions import BLOCK, MEMORY, Conditions
from engines.errors import UnsupportedError
from engines.multicore import _core
from engines.multicore.dgs.run import RING_BLOCKS, MulticoreRun
from engines.multicore.joins.run import JOINS, JoinRun, no_join
from engines.multicore.joins.run import properties as join_properties
from engines.multicore.layers.options import COMMUNICATION, layers_options
from engines.multicore.layers.options import KINDS as LAYERS_KINDS
from engines.multicore.layers.options import wrong_options as wrong_layers
from engines.multicore.layers.pipeline import LayersRun, depends_on_ties
from engines.multicore.layers.query import LayersQueryRun, no_graph
from engines.multicore.oplus.elastic.controller import Settings, make
from engines.multicore.oplus.run import OperatorRun, mixed
from engines.multicore.ordered.options import KINDS as PIPELINE_KINDS
from engines.multicore.ordered.options import pipeline_options, wrong_options
from engines.multicore.ordered.run import PipelineRun
from engines.protocol import Prepared, Property, Task, Variant
from workloads.model import DGSProgram, Pipeline, Program, Query

__all__ = ["MulticoreEngine", "MulticoreRun"]

DGS, VSN, SN, ORDERED, LAYERS = "dgs", "vsn", "sn", "ordered", "layers"
_PIPELINES = (ORDERED, LAYERS)
_QUERIES = {
    VSN: "virtual shared-nothing: instances share state and an ordered log; operators O+",
    SN: "shared-nothing: queues, copies and a state for each instance; operators O+",
    **JOINS,
}


def _variant(name: str, summary: str, *models: type[Program]) -> Variant:
    """Return a variant; one generator (core/run/generator.h) serves them all."""
    return Variant(
        name=name,
        summary=summary,
        uses_batch=True,
        takes_load=True,
        models=models,
        source="generator",
        conditions=Conditions(unit=BLOCK, origin=MEMORY),
    )


VARIANTS = (
    _variant(DGS, "synchronization plans over shared memory; programs with DGS", DGSProgram),
    *(_variant(name, summary, Query) for name, summary in _QUERIES.items()),
    _variant(ORDERED, "workers scheduled on operators, outputs in order; pipelines", Pipeline),
    _variant(
        LAYERS,
        "a thread for each instance, ordered by channels or operators; pipelines, operators O+",
        Pipeline,
        Query,
    ),
)
MAX_WORKERS = 64
LOAD_RING_BLOCKS = 1 << 14
"""With a load: small blocks come one by one, and a stream may wait long for another's heartbeat."""
LEAST_LOAD_RING_BLOCKS = 1 << 10
"""A full ring is looked at every 50 us: 64 blocks of one event were 0.2 to 1 M events/s."""
MAX_RING_BLOCKS = 1 << 20
CEILING_EVENTS = 20_000_000
"""Events for measuring the generator's ceiling: about a second at batch 1."""
_COMMON = {"pin": bool, "ring_blocks": int, "measure": bool}
_ELASTIC = {**_COMMON, "tuple_buffer": str, "max_instances": int, "controller": dict}
_OPTIONS: Mapping[str, Mapping[str, type[object]]] = {
    DGS: _COMMON,
    VSN: _ELASTIC,
    SN: _ELASTIC,
    ORDERED: {**_COMMON, **PIPELINE_KINDS},
    LAYERS: {**_COMMON, **LAYERS_KINDS},
    **dict.fromkeys(JOINS, _COMMON),
}
TUPLE_BUFFERS = ("order", "scalegate")


class MulticoreEngine:
    """Runs DGS programs, operators O+ and ordered pipelines natively on one machine's cores."""

    name: ClassVar[str] = "multicore"

    def version(self) -> str:
        """Return the version of the lab, of which the core is a part."""
        return version("stream-lab")

    def variants(self) -> tuple[Variant, ...]:
        """Return the variants; defaults: `dgs`, for queries `vsn`, for pipelines `ordered`."""
        return VARIANTS

    def wrong_options(self, variant: str, options: Mapping[str, object]) -> str | None:
        """Return what is wrong with options whatever they are used on, or None."""
        return _wrong_options(variant, options)

    def unsupported(self, task: Task) -> str | None:
        """Return why a task cannot run, or None."""
        if not 1 <= task.workers <= MAX_WORKERS:
            return f"workers must be between 1 and {MAX_WORKERS}, got {task.workers}"
        if task.variant not in _OPTIONS:
            return f"no variant {task.variant!r}; there are {', '.join(_OPTIONS)}"
        return (
            _wrong_program(task)
            or self.wrong_options(task.variant, task.options)
            or _wrong_sizes(task)
        )

    def properties(self, workload: str, variant: str) -> Mapping[str, Property]:
        """Return PIP1 to PIP3, which hold by construction of the models."""
        if variant in JOINS:
            return join_properties(variant)
        if variant == ORDERED:
            return {
                "PIP1": Property(holds=True, why="operators do not mention workers or partitions"),
                "PIP2": Property(holds=True, why="workers go to operators as they are needed"),
                "PIP3": Property(holds=True, why="the order is the runtime's; operators only emit"),
            }
        if variant == LAYERS:
            return {
                "PIP1": Property(holds=True, why="operators do not mention their instances"),
                "PIP2": Property(holds=True, why="channels, not operators, deal the records"),
                "PIP3": Property(holds=True, why="the engine merges; operators read one sequence"),
            }
        if variant != DGS:
            return {
                "PIP1": Property(holds=True, why="the operator does not mention its instances"),
                "PIP2": Property(holds=True, why="the mapping of buckets, not the operator, does"),
                "PIP3": Property(holds=True, why="only f_MK, f_U, f_O and f_S are used"),
            }
        return {
            "PIP1": Property(holds=True, why="the program does not mention the number of workers"),
            "PIP2": Property(holds=True, why="the plan, not the program, maps streams to workers"),
            "PIP3": Property(holds=True, why="only update, fork and join are used"),
        }

    def generator_ceiling_eps(self, variant: str, batch: int) -> float | None:
        """Return how many events/s the generator hands to a reader that only gives them back."""
        duration_ns, _ = _core.try_generator(CEILING_EVENTS, batch, 0.0)
        return CEILING_EVENTS / duration_ns * 1e9

    def prepare(self, task: Task) -> Prepared:
        """Load the input, plan, compile, and start the threads.

        Raises:
            UnsupportedError: see `unsupported`.
            EngineError: the program does not compile or its plan is not valid.
        """
        reason = self.unsupported(task)
        if reason is not None:
            raise UnsupportedError(reason)
        pin = task.options.get("pin")
        common = {
            "batch": task.batch,
            "pin": None if pin is None else bool(pin),
            "ring_blocks": _ring_blocks(task),
            "load": task.load,
            "measure": bool(task.options.get("measure", True)),
            "expected_outputs": task.expected_outputs,
        }
        if task.variant in JOINS:
            return JoinRun(
                task.variant,
                task.workload,
                task.dataset.load(),
                workers=task.workers,
                **common,  # type: ignore[arg-type]
            )
        program = task.workload.program
        if isinstance(program, DGSProgram):
            return MulticoreRun(
                task.workload,
                task.dataset.load(),
                workers=task.workers,
                **common,  # type: ignore[arg-type]
            )
        if task.variant == LAYERS:
            graph = {"workers": task.workers, "options": layers_options(task.options), **common}
            if isinstance(program, Pipeline):
                return LayersRun(program, task.dataset.load(), **graph)  # type: ignore[arg-type]
            return LayersQueryRun(program, task.dataset.load(), **graph)  # type: ignore[arg-type]
        if isinstance(program, Pipeline):
            return PipelineRun(
                program,
                task.dataset.load(),
                workers=task.workers,
                options=pipeline_options(task.options),
                **common,  # type: ignore[arg-type]
            )
        controller = task.options.get("controller")
        return OperatorRun(
            program,
            task.dataset.load(),
            instances=task.workers,
            most=_most_instances(task),
            shared_nothing=task.variant == SN,
            tuple_buffer=str(task.options.get("tuple_buffer", TUPLE_BUFFERS[0])),
            controller=controller if isinstance(controller, Mapping) else None,
            **common,  # type: ignore[arg-type]
        )


def _wrong_program(task: Task) -> str | None:
    if task.variant in JOINS:
        return no_join(task.workload, task.variant, task.workers)
    program = task.workload.program
    if task.variant == LAYERS and isinstance(program, Query):
        determinism = str(task.options.get("determinism", COMMUNICATION))
        return no_graph(program, task.workers, determinism) or _mixed(task)
    if isinstance(program, Pipeline) != (task.variant in _PIPELINES):
        if isinstance(program, Pipeline):
            return f"{task.workload.name} is an ordered pipeline; give variants = ['{ORDERED}']"
        other = DGS if isinstance(program, DGSProgram) else VSN
        return f"{task.workload.name} is no ordered pipeline; give variants = ['{other}']"
    if isinstance(program, Pipeline):
        if task.variant == ORDERED:
            return None
        return depends_on_ties(program, task.workload.output, task.workers)
    if task.variant == DGS and not isinstance(program, DGSProgram):
        return f"{task.workload.name} is a query of operators O+; give variants = ['{VSN}']"
    if task.variant != DGS and not isinstance(program, Query):
        return f"{task.workload.name} is a DGS program; give variants = ['{DGS}']"
    if task.variant == SN and isinstance(program, Query) and program.operators[0].join is not None:
        return (
            f"{task.workload.name} is a join of all pairs, whose window is the shared log; "
            "shared-nothing instances run keyed operators"
        )
    return _mixed(task) if isinstance(program, Query) else None


def _mixed(task: Task) -> str | None:
    for stream in task.dataset.streams:
        if len(stream.kinds) != 1:
            return mixed(stream.name)
    return None


def _wrong_options(variant: str, options: Mapping[str, object]) -> str | None:
    known = _OPTIONS[variant]
    for option, value in options.items():
        if option not in known:
            return f"variant {variant} has no option {option!r}; it has {', '.join(known)}"
        if type(value) is not known[option]:
            return f"option {option} takes {known[option].__name__}, got {value!r}"
    buffer = options.get("tuple_buffer", TUPLE_BUFFERS[0])
    if buffer not in TUPLE_BUFFERS:
        return f"tuple_buffer is one of {', '.join(TUPLE_BUFFERS)}, got {buffer!r}"
    blocks = options.get("ring_blocks", RING_BLOCKS)
    if not isinstance(blocks, int) or not 1 <= blocks <= MAX_RING_BLOCKS:
        return f"ring_blocks must be between 1 and {MAX_RING_BLOCKS}, got {blocks}"
    if variant == ORDERED:
        return wrong_options(options)
    if variant == LAYERS:
        return wrong_layers(options)
    if "controller" in options:
        try:
            make(options["controller"])
        except UnsupportedError as error:
            return str(error)
    return None


def _wrong_sizes(task: Task) -> str | None:
    if task.load is not None and not task.options.get("measure", True):
        return "measure = false is for catch-up: an offered load is there to be measured"
    blocks = _ring_blocks(task)
    if task.load is not None and blocks < LEAST_LOAD_RING_BLOCKS:
        return (
            f"ring_blocks must be at least {LEAST_LOAD_RING_BLOCKS} under a load, got {blocks}: "
            "the generator would wait for room, and the engine be blamed for it"
        )
    most = _most_instances(task)
    if not task.workers <= most <= MAX_WORKERS:
        return (
            f"max_instances must be between workers ({task.workers}) and {MAX_WORKERS}, got {most}"
        )
    settings = _settings(task)
    if settings is not None and max(settings.minimum, settings.maximum or 0) > most:
        return (
            f"controller {settings.kind}: min is {settings.minimum} and max is {settings.maximum}, "
            f"and there are threads for {most} instances; raise max_instances"
        )
    return None


def _ring_blocks(task: Task) -> int:
    default = RING_BLOCKS if task.load is None else LOAD_RING_BLOCKS
    given = task.options.get("ring_blocks", default)
    return given if isinstance(given, int) else default


def _settings(task: Task) -> Settings | None:
    """Return what the controller option says of the loop, which has been checked."""
    return make(task.options["controller"])[1] if "controller" in task.options else None


def _most_instances(task: Task) -> int:
    """Return for how many instances there are threads: by default as many as a controller's max."""
    given = task.options.get("max_instances")
    if isinstance(given, int):
        return given
    settings = _settings(task)
    if settings is None or settings.maximum is None:
        return task.workers
    return max(task.workers, settings.maximum)
