"""Defines workloads: a program, its input and an oracle, independent of any engine."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamlab.workloads.model.answers.floats import Tolerance
from streamlab.workloads.model.code.fingerprint import code_of
from streamlab.workloads.model.dataflow import Dataflow
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline.program import Pipeline
from streamlab.workloads.model.streams.limits import Limit
from streamlab.workloads.model.streams.lists import ColumnType, ListType
from streamlab.workloads.model.streams.stream import Block, Columns, Input
from streamlab.workloads.model.streams.tag import Tag

Program = DGSProgram | Query | Pipeline | Dataflow
"""The computation of a workload, in one of the programming models."""

ParamValue = int | float | str
Params = Mapping[str, ParamValue]

ORACLE, REFERENCE, INVARIANTS = "oracle", "reference engine", "invariants"
"""The source of the expected answer: an oracle that shares no code with an engine, the reference engine,
or totals over all windows. Every engine repeats an error of the program itself, so only an oracle
reveals it."""

LARGEST_WHOLE = 2**63 - 1
"""The largest value of an integer parameter that sets no maximum; columns are int64."""


def fields_read(program: Program) -> dict[str, ColumnType]:
    """Return the names and types of the event fields that a program reads, without `ts`."""
    fields: dict[str, ColumnType] = {
        name: program.event[name] for name in program.event.names or ()
    }
    if isinstance(program, Query):
        lists = program.operators[0].lists
        fields |= {name: ListType(dtype) for name, dtype in lists.items()}
    return fields


_MODELS = {
    DGSProgram: "a program with dependency-guided synchronization",
    Query: "a query of operators O+",
    Pipeline: "an ordered pipeline",
    Dataflow: "a typed dataflow graph",
}


def dgs_program(workload: "Workload") -> DGSProgram:
    """Return the DGS program of a workload.

    Raises:
        ModelError: The program is of another model.
    """
    if isinstance(workload.program, DGSProgram):
        return workload.program
    raise ModelError(
        f"workload {workload.name} is {_MODELS[type(workload.program)]}, not {_MODELS[DGSProgram]}: "
        "it has no synchronization plan"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a generator or a query; values must have the type of `default`."""

    default: ParamValue
    help: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """Describes one physical stream that the generator makes, or an import must provide.

    Attributes:
        name: Unique within the workload, e.g. `view-0`.
        kinds: Names of the kinds of its events.
        fields: Structured dtype of its payload columns.
        events: Number of events for the given parameters and size.
        lists: Element dtypes of its list-valued payload columns (`ListColumn`).
    """

    name: str
    kinds: tuple[str, ...]
    fields: np.dtype[np.void]
    events: int
    lists: tuple[tuple[str, np.dtype[Any]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputType:
    """Describes the data-trace type of the output (Data-Trace Types, section 3.1).

    Attributes:
        kinds: Names of the output kinds.
        depends: Symmetric relation on output tags.
        kind_field: Output field that holds the kind's index; None with a single kind.
        key_field: Output field that holds the key; None without keys.
        sorted: Whether records must also leave in timestamp order; ties may come in any order.
        delay: How much later than its causing event an output may be timed, if the input is cut at a
            multiple of `grid`; 0 for outputs that the watermark causes.
        grid: Cuts of the input must be multiples of this, in event time.
        tolerances: Allowed differences of float fields, by name. Other float fields must be equal bit
            for bit if the model fixes the order of operations, else within a derived bound (`floats`).
    """

    kinds: tuple[str, ...]
    depends: Callable[[Tag, Tag], bool]
    kind_field: str | None = None
    key_field: str | None = None
    sorted: bool = False
    delay: int = 0
    grid: int = 1
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Holds the program, output type, oracle, limits and declaration of a workload with bound query parameters."""

    program: Program
    output: OutputType
    oracle: Callable[[Input], Columns]
    limits: tuple[Limit, ...] = ()
    declaration: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Describes a workload; `streamlab.workloads.registry` finds them by name.

    Attributes:
        name: Descriptive name, e.g. `page_view_join`.
        title: One line for people.
        paper: Where it is defined, e.g. `flumina 4.1`.
        program: Its program.
        output: The data-trace type of its output.
        parameters: Parameters of the generator.
        keys: Number of keys for given parameters. With a `source`, nothing calls `keys`, `streams` or `generate`.
        streams: The physical streams for given parameters and an approximate total number of events;
            the returned specs hold the exact sizes.
        generate: `generate(params, seed, streams, index, begin, end)` returns rows [begin, end) of
            stream `index`. Its columns are `ts`, `tag` (only if the stream has several tags), the payload,
            and a `ListColumn` for each of the spec's lists. It must be a pure function of its arguments:
            any split into row ranges gives the same stream, on any machine.
        oracle: Computes the expected output, sequentially in the total order of the input; simple, and independent
            of any engine.
        generator_version, oracle_version: Increased whenever the results of `generate` or `oracle` change.
        query: Parameters of the computation that do not affect the input, such as a window size.
        bind: Makes the program, output and oracle for complete query parameters; None without parameters.
        query_params: The values for which `program`, `output` and `oracle` were made.
        input: Name of its input, under which datasets are stored; None means its own name. All
            workloads of one input have the same parameters, generator, kinds and streams.
        small: Generator parameters of a small input with a non-empty answer, if the defaults give an
            empty one; for tests.
        small_events: Number of events of that small input, if it needs more than a few thousand.
        reference: The file or `module:ATTRIBUTE` from which another process can load it;
            `streamlab.workloads.registry` sets it. Empty: another process loads it by its name.
        source: A `Source` of `streamlab.workloads.datasets.user_input` that replaces the generator; None
            means the generator. This package does not look inside.
        checked_by: The kind of `oracle`: ORACLE, REFERENCE, or INVARIANTS (it gives totals, see `totals_of`).
        unfit: `unfit(query, dataset)` returns why a `streamlab.workloads.datasets.dataset.Dataset` cannot
            be its input for complete query parameters, with the remedy; "" if it can. None accepts all.
        limits: Limits on the input; beyond a limit, a computed number overflows its field.
        declaration: A `Declaration` of `streamlab.workloads.declarative.declaration`, which says what the
            program computes. None if the program is written by hand. This package does not look inside.
    """

    name: str
    title: str
    paper: str
    program: Program
    output: OutputType
    parameters: Mapping[str, Parameter]
    keys: Callable[[Params], int]
    streams: Callable[[Params, int], tuple[StreamSpec, ...]]
    generate: Callable[[Params, int, tuple[StreamSpec, ...], int, int, int], Block]
    oracle: Callable[[Input], Columns]
    generator_version: int = 1
    oracle_version: int = 1
    query: Mapping[str, Parameter] = field(default_factory=dict)
    bind: Callable[[Params], Bound] | None = None
    query_params: Params = field(default_factory=dict)
    input: str | None = None
    small: Params = field(default_factory=dict)
    small_events: int = 0
    reference: str = ""
    source: Any = None
    checked_by: str = ORACLE
    unfit: Callable[[Params, Any], str] | None = None
    limits: tuple[Limit, ...] = ()
    declaration: Any = None

    def code(self) -> str:
        """Return a hash, in hex, of the program, the output type, the oracle and the input function.

        An input from a table is not part of the hash; the dataset's content id identifies it.
        """
        input_function = getattr(self.source, "function", None)
        return code_of(self.program, self.output, self.oracle, input_function)

    @property
    def registry_name(self) -> str:
        """The reference or name under which `streamlab.workloads.registry` finds it."""
        return self.reference or self.name

    @property
    def input_name(self) -> str:
        """The name under which its datasets are stored."""
        return self.input or self.name

    def bound(self, values: Mapping[str, object]) -> "Workload":
        """Return the workload for query parameters; missing ones take their defaults.

        Raises:
            ModelError: A name is unknown, or a value has the wrong type or is out of range.
        """
        complete = self._complete("query parameter", self.query, values)
        if self.bind is None:
            return self
        bound = self.bind(complete)
        return replace(
            self,
            program=bound.program,
            output=bound.output,
            oracle=bound.oracle,
            limits=bound.limits,
            declaration=bound.declaration or self.declaration,
            query_params=complete,
        )

    def params(self, values: Mapping[str, object]) -> dict[str, ParamValue]:
        """Return all parameters, checked and converted; missing ones take their defaults.

        Raises:
            ModelError: A name is unknown, or a value has the wrong type or is out of range.
        """
        return self._complete("parameter", self.parameters, values)

    def _complete(
        self, role: str, parameters: Mapping[str, Parameter], values: Mapping[str, object]
    ) -> dict[str, ParamValue]:
        unknown = sorted(set(values) - set(parameters))
        if unknown:
            raise ModelError(
                f"workload {self.name} has no {role} {', '.join(unknown)}; "
                f"it has {', '.join(parameters) or 'none'}"
            )
        return {
            name: _convert(f"workload {self.name}, {role} {name}", parameter, values.get(name))
            for name, parameter in parameters.items()
        }


def _convert(where: str, parameter: Parameter, raw: object) -> ParamValue:
    """Return a value as the parameter's type, within its limits; `where` is for messages."""
    if raw is None:
        return parameter.default
    kind = type(parameter.default)
    if not isinstance(raw, int | float | str) or isinstance(raw, bool):
        raise ModelError(f"{where}: expected {kind.__name__}, got {raw!r}")
    try:
        value = kind(raw)
    except (ValueError, OverflowError):
        raise ModelError(f"{where}: expected {kind.__name__}, got {raw!r}") from None
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):  # comparisons below accept nan
        raise ModelError(f"{where}: must be finite, got {value!r}")
    if kind is int and isinstance(raw, float) and raw != value:
        raise ModelError(f"{where}: expected a whole number, got {raw!r}")
    minimum, maximum = parameter.minimum, parameter.maximum
    if kind is int:
        minimum = -LARGEST_WHOLE if minimum is None else minimum
        maximum = LARGEST_WHOLE if maximum is None else maximum
    if minimum is not None and value < minimum:
        raise ModelError(f"{where}: must be at least {minimum}, got {value!r}")
    if maximum is not None and value > maximum:
        raise ModelError(f"{where}: must be at most {maximum}, got {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of one program, each a workload over its input, named `name.OUTPUT`.

    Attributes:
        name: Name of the program.
        workloads: The workloads, by the names of the outputs.
    """

    name: str
    workloads: Mapping[str, Workload]


@dataclass(frozen=True, slots=True)
class OpenDeclaration:
    """A declared window that lacks its result; as the decorator of a class, it returns a workload.

    Attributes:
        place: Place of the declaration, for messages.
        make: Returns the workload of a class.
    """

    place: str
    make: Callable[[type], Workload]

    def __call__(self, cls: type) -> Workload:
        """Return the workload of a class."""
        return self.make(cls)

    @property
    def error(self) -> str:
        """The error message if it is used as a workload."""
        return (
            f'{self.place} has no result; give result={{"rows": lab.count()}} or other aggregates, or write it '
            "as a decorator (@) above a class with add and result"
        )
