"""A workload: what is computed on which input, engine-neutrally, with an independent oracle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from workloads.model.errors import ModelError
from workloads.model.program import DGSProgram
from workloads.model.stream import Columns, Input
from workloads.model.tag import Tag

ParamValue = int | float | str
Params = Mapping[str, ParamValue]


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
    """

    name: str
    kinds: tuple[str, ...]
    fields: np.dtype[np.void]
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputType:
    """The data-trace type of the output (Data-Trace Types, section 3.1).

    Attributes:
        kinds: names of the output kinds.
        depends: symmetric relation on output tags.
        kind_field: output field that holds the kind's index; None when there is one kind.
        key_field: output field that holds the key; None when there are no keys.
    """

    kinds: tuple[str, ...]
    depends: Callable[[Tag, Tag], bool]
    kind_field: str | None = None
    key_field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A workload, found by `workloads.registry`.

    Attributes:
        name: by meaning, e.g. `page_view_join`.
        title: one line for people.
        paper: where it is defined, e.g. `flumina 4.1`.
        program: its DGS program.
        output: the data-trace type of its output.
        parameters: what the generator takes.
        keys: number of keys for given parameters.
        streams: the physical streams for given parameters and a total number of events
            (approximate: the sizes in the returned specs are what will be made).
        generate: `generate(params, seed, streams, index, begin, end)` returns rows [begin, end) of
            stream `index` as columns `ts`, `tag` (only when the stream has several tags) and
            payload. A pure function of its arguments: any split into row ranges gives the same
            stream, on any machine.
        oracle: the expected output in input order; sequential, obvious, and independent of any
            engine.
        generator_version, oracle_version: raised when their results change.
    """

    name: str
    title: str
    paper: str
    program: DGSProgram
    output: OutputType
    parameters: Mapping[str, Parameter]
    keys: Callable[[Params], int]
    streams: Callable[[Params, int], tuple[StreamSpec, ...]]
    generate: Callable[[Params, int, tuple[StreamSpec, ...], int, int, int], Columns]
    oracle: Callable[[Input], Columns]
    generator_version: int = 1
    oracle_version: int = 1

    def params(self, given: Mapping[str, object]) -> dict[str, ParamValue]:
        """Return all parameters: the given ones checked and converted, the others by default.

        Raises:
            ModelError: an unknown name, a value of the wrong type, or one out of range.
        """
        unknown = sorted(set(given) - set(self.parameters))
        if unknown:
            raise ModelError(
                f"workload {self.name} has no parameter {', '.join(unknown)}; "
                f"it has {', '.join(self.parameters)}"
            )
        return {
            name: _convert(f"workload {self.name}, parameter {name}", parameter, given.get(name))
            for name, parameter in self.parameters.items()
        }


def _convert(where: str, parameter: Parameter, given: object) -> ParamValue:
    if given is None:
        return parameter.default
    wanted = type(parameter.default)
    if not isinstance(given, int | float | str):
        raise ModelError(f"{where}: expected {wanted.__name__}, got {given!r}")
    try:
        value = wanted(given)
    except ValueError:
        raise ModelError(f"{where}: expected {wanted.__name__}, got {given!r}") from None
    if wanted is int and isinstance(given, float) and given != value:
        raise ModelError(f"{where}: expected a whole number, got {given!r}")
    if not isinstance(value, str):
        if parameter.minimum is not None and value < parameter.minimum:
            raise ModelError(f"{where}: must be at least {parameter.minimum}, got {value!r}")
        if parameter.maximum is not None and value > parameter.maximum:
            raise ModelError(f"{where}: must be at most {parameter.maximum}, got {value!r}")
    return value
