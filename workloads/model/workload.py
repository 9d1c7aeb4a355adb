"""A workload: what is computed on which input, engine-neutrally, with an independent oracle."""

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
"""What a workload computes, in one of the programming models."""

ParamValue = int | float | str
Params = Mapping[str, ParamValue]

ORACLE, REFERENCE = "oracle", "reference engine"
"""What an answer is compared with: an oracle that shares no code with an engine, or else the
reference engine's answer, in which an error of the program itself is as in every other."""

LARGEST_WHOLE = 2**63 - 1
"""The largest whole number of a parameter without a bound of its own; columns are int64."""


def fields_read(program: Program) -> dict[str, ColumnType]:
    """Return the fields that a program reads of its events, without `ts`, and their types."""
    fields: dict[str, ColumnType] = {
        name: program.event[name] for name in program.event.names or ()
    }
    if isinstance(program, Query):
        lists = program.operators[0].lists
        fields |= {name: ListType(dtype) for name, dtype in lists.items()}
    return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a generator: its default (whose type it must have) and its meaning."""

    default: ParamValue
    help: str
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """One physical stream that the generator makes, or an import must provide.

    Attributes:
        name: unique within the workload, e.g. `view-0`.
        kinds: names of the kinds that occur in it.
        fields: structured dtype of its payload columns.
        events: number of events for the given parameters and size.
        lists: element dtypes of its list-valued payload columns (`ListColumn`).
    """

    name: str
    kinds: tuple[str, ...]
    fields: np.dtype[np.void]
    events: int
    lists: tuple[tuple[str, np.dtype[Any]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputType:
    """The data-trace type of the output (Data-Trace Types, section 3.1).

    Attributes:
        kinds: names of the output kinds.
        depends: symmetric relation on output tags.
        kind_field: output field that holds the kind's index; None when there is one kind.
        key_field: output field that holds the key; None when there are no keys.
        sorted: whether records leave in order of their timestamps, which is then checked beside
            `depends`; ties are free.
        delay: how much later than the event that caused it an output may be timed, for a cut at a
            multiple of `grid`; 0 for outputs that are caused by the watermark.
        grid: cuts of the input must be multiples of this, in event time.
        tolerances: by how much float fields may differ, by name; others are equal bit for bit where
            the model fixes the order of operations, else within a derived bound (`floats`).
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
    """What a workload computes for given query parameters."""

    program: Program
    output: OutputType
    oracle: Callable[[Input], Columns]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A workload, found by `streamlab.workloads.registry`.

    Attributes:
        name: by meaning, e.g. `page_view_join`.
        title: one line for people.
        paper: where it is defined, e.g. `flumina 4.1`.
        program: its program.
        output: the data-trace type of its output.
        parameters: what the generator takes.
        keys: number of keys for given parameters. Nothing calls it, `streams` or `generate` where
            there is a `source`.
        streams: the physical streams for given parameters and a total number of events
            (approximate: the sizes in the returned specs are what will be made).
        generate: `generate(params, seed, streams, index, begin, end)` returns rows [begin, end) of
            stream `index` as columns `ts`, `tag` (only when the stream has several tags) and
            payload, a `ListColumn` for each of the spec's lists. A pure function of its arguments:
            any split into row ranges gives the same stream, on any machine.
        oracle: the expected output in input order; sequential, obvious, and independent of any
            engine.
        generator_version, oracle_version: raised when their results change.
        query: parameters of what is computed (a window's size), where the input does not depend on
            them.
        bind: the program, output and oracle for complete query parameters; None without any. It
            must be a module's function: the oracle cache finds its source by it.
        query_params: the values that `program`, `output` and `oracle` are for.
        input: name of the input that it takes, by which datasets are kept; None: its own name. All
            workloads of one input have the same parameters, generator, kinds and streams.
        small: the generator parameters of a small input that has answers, where it has none by
            default; for tests.
        small_events: number of its events, where it must be more than a few thousand.
        reference: by which another process finds it (`streamlab.workloads.registry`, which sets it); empty:
            by its name.
        source: where its input comes from instead of a generator: a `Source` of
            `streamlab.workloads.datasets.user_input`, of which this knows nothing; None: from its generator.
        checked_by: what `oracle` is: ORACLE, or REFERENCE.
        unfit: `unfit(query, dataset)` says why a `streamlab.workloads.datasets.dataset.Dataset` cannot be its
            input for complete query parameters, with the remedy; "" when it can. None: it always
            can.
        limits: limits on the input; beyond one, a number that it computes does not fit its field.
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

    def code(self) -> str:
        """Return a hash, in hex, of what it computes, what it is checked with, and its own input.

        That is the function which makes its input; of a table the dataset's id tells.
        """
        made_by = getattr(self.source, "function", None)
        return code_of(self.program, self.output, self.oracle, made_by)

    @property
    def found_by(self) -> str:
        """What `streamlab.workloads.registry` finds it by."""
        return self.reference or self.name

    @property
    def input_name(self) -> str:
        """Whose datasets it takes."""
        return self.input or self.name

    def bound(self, given: Mapping[str, object]) -> "Workload":
        """Return the workload for query parameters: the given ones, the others by default.

        Raises:
            ModelError: an unknown name, a value of the wrong type, or one out of range.
        """
        values = self._complete("query parameter", self.query, given)
        if self.bind is None:
            return self
        made = self.bind(values)
        return replace(
            self,
            program=made.program,
            output=made.output,
            oracle=made.oracle,
            limits=made.limits,
            query_params=values,
        )

    def params(self, given: Mapping[str, object]) -> dict[str, ParamValue]:
        """Return all parameters: the given ones checked and converted, the others by default.

        Raises:
            ModelError: an unknown name, a value of the wrong type, or one out of range.
        """
        return self._complete("parameter", self.parameters, given)

    def _complete(
        self, what: str, parameters: Mapping[str, Parameter], given: Mapping[str, object]
    ) -> dict[str, ParamValue]:
        unknown = sorted(set(given) - set(parameters))
        if unknown:
            raise ModelError(
                f"workload {self.name} has no {what} {', '.join(unknown)}; "
                f"it has {', '.join(parameters) or 'none'}"
            )
        return {
            name: _convert(f"workload {self.name}, {what} {name}", parameter, given.get(name))
            for name, parameter in parameters.items()
        }


def _convert(where: str, parameter: Parameter, given: object) -> ParamValue:
    if given is None:
        return parameter.default
    wanted = type(parameter.default)
    if not isinstance(given, int | float | str) or isinstance(given, bool):
        raise ModelError(f"{where}: expected {wanted.__name__}, got {given!r}")
    try:
        value = wanted(given)
    except (ValueError, OverflowError):
        raise ModelError(f"{where}: expected {wanted.__name__}, got {given!r}") from None
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):  # nan is beyond no bound
        raise ModelError(f"{where}: must be finite, got {value!r}")
    if wanted is int and isinstance(given, float) and given != value:
        raise ModelError(f"{where}: expected a whole number, got {given!r}")
    minimum, maximum = parameter.minimum, parameter.maximum
    if wanted is int:
        minimum = -LARGEST_WHOLE if minimum is None else minimum
        maximum = LARGEST_WHOLE if maximum is None else maximum
    if minimum is not None and value < minimum:
        raise ModelError(f"{where}: must be at least {minimum}, got {value!r}")
    if maximum is not None and value > maximum:
        raise ModelError(f"{where}: must be at most {maximum}, got {value!r}")
    return value
