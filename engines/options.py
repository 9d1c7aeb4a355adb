"""Checks a task's options against the dataclass that its variant declares in `Variant.options`.

The dataclass has a default for each option, and types that msgspec checks. A type is a whole number, a text, a
Boolean, a `Literal` of choices, or `Annotated[int, Meta(ge=0)]` for a range. The dataclass's `__post_init__` raises
ValueError for options that exclude each other.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.inspect import (
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    NoneType,
    StrType,
    TupleType,
    UnionType,
    type_info,
)

from streamlab.engines.protocol import Engine, Task, Variant
from streamlab.workloads.name_suggestions import suggest_names

Options = TypeVar("Options")


class OptionError(ValueError):
    """An option is unknown, or no task can have its value; the message names the expected values."""


def check_options(engine: Engine, variant: Variant, options: Mapping[str, object]) -> None:
    """Check options that do not depend on the workload, the number of workers or the load.

    Raises:
        OptionError: an option is unknown, or no task can have its value.
    """
    if variant.options is not None:
        make_options(variant.options, options, f"variant {variant.name} of {engine.name}")
    elif options:
        names = ", ".join(sorted(options))
        raise OptionError(f"engine {engine.name} has no options, got {names}")


def make_options(
    create: Callable[..., Options], values: Mapping[str, object], owner: str
) -> Options:
    """Return an instance of a class whose arguments are options of `owner`.

    Raises:
        OptionError: an option is unknown, missing or of another type, or the class raises ValueError.
    """
    parameters = inspect.signature(create, eval_str=True).parameters
    for name, value in values.items():
        if name not in parameters:
            raise OptionError(f"{owner} has no option {name!r}; {suggest_names(name, parameters)}")
        annotation = parameters[name].annotation
        annotation = Any if annotation is inspect.Parameter.empty else annotation
        try:
            msgspec.convert(value, annotation)
            valid = not isinstance(value, float) or math.isfinite(value)
        except (msgspec.ValidationError, OverflowError):
            valid = False
        if not valid:
            expected = _in_words(type_info(annotation))
            raise OptionError(f"option {name} is {value!r}; it must be {expected}")
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise OptionError(f"option {name} is missing")
    try:
        return create(**values)
    except ValueError as error:
        raise OptionError(str(error)) from error


def options_of(task: Task, variant_options: Callable[..., Options]) -> Options:
    """Return a task's options, which `check_options` accepts, as an instance of a variant's dataclass."""
    return variant_options(**task.options)


def _in_words(type_: Any) -> str:
    """Return the values of a type in words, without None, which a matrix file cannot contain."""
    match type_:
        case UnionType():
            return " or ".join(
                _in_words(part) for part in type_.types if not isinstance(part, NoneType)
            )
        case LiteralType():
            return f"one of {', '.join(map(str, type_.values))}"
        case BoolType():
            return "true or false"
        case IntType() | FloatType():
            number = "a whole number" if isinstance(type_, IntType) else "a number"
            if type_.gt is not None:
                return f"{number} above {type_.gt:g}"
            if type_.le is not None:
                return f"{number} from {type_.ge:g} to {type_.le:g}"
            return number if type_.ge is None else f"{number} of at least {type_.ge:g}"
        case ListType():
            return f"a list of {_in_words(type_.item_type)}"
        case TupleType():
            return f"[{', '.join(map(_in_words, type_.item_types))}]"
        case DictType():
            return "a table"
        case StrType(min_length=1):
            return "a text that is not empty"
        case _:
            return "a text"
