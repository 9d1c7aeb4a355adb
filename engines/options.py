"""Checks a task's options against the dataclass that its variant declares in `Variant.options`.

The dataclass has a default for each option, and types that msgspec checks: a whole number, text or Boolean, a
`Literal` of choices, or `Annotated[int, Meta(ge=0)]` for a range. Its `__post_init__` raises ValueError for options
that exclude each other.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import inspect

from streamlab.engines.protocol import Engine, Task, Variant
from streamlab.workloads.name_suggestions import suggest_names

Options = TypeVar("Options")


class OptionError(ValueError):
    """An option is unknown, or no task can have its value; the message says what the variant expects."""


def check_options(engine: Engine, variant: Variant, options: Mapping[str, object]) -> None:
    """Check options that do not depend on the workload, the number of workers or the load.

    An adapter without `Variant.options` may have a method `wrong_options`, which returns the error's text.

    Raises:
        OptionError: an option is unknown, or no task can have its value.
    """
    if variant.options is None:
        if hasattr(engine, "wrong_options"):
            wrong = engine.wrong_options(variant.name, options)
        else:
            names = ", ".join(sorted(options))
            wrong = f"engine {engine.name} has no options, got {names}" if options else None
        if wrong is not None:
            raise OptionError(wrong)
        return
    types = get_type_hints(variant.options, include_extras=True)
    for name, value in options.items():
        if name not in types:
            raise OptionError(
                f"variant {variant.name} of {engine.name} has no option {name!r}; "
                f"{suggest_names(name, types)}"
            )
        try:
            msgspec.convert(value, types[name])
            valid = not isinstance(value, float) or math.isfinite(value)
        except msgspec.ValidationError:
            valid = False
        if not valid:
            expected = _in_words(inspect.type_info(types[name]))
            raise OptionError(f"option {name} is {value!r}; it must be {expected}")
    try:
        variant.options(**options)
    except ValueError as error:
        raise OptionError(str(error)) from error


def options_of(task: Task, variant_options: Callable[..., Options]) -> Options:
    """Return a task's options, which `check_options` accepts, as an instance of a variant's dataclass."""
    return variant_options(**task.options)


def _in_words(type_: Any) -> str:
    """Return the values of a type in words; None, a default that no matrix can write, is not mentioned."""
    match type_:
        case inspect.UnionType():
            return " or ".join(
                _in_words(part) for part in type_.types if not isinstance(part, inspect.NoneType)
            )
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, type_.values))}"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            number = "a whole number" if isinstance(type_, inspect.IntType) else "a number"
            if type_.gt is not None:
                return f"{number} above {type_.gt:g}"
            return number if type_.ge is None else f"{number} of at least {type_.ge:g}"
        case _:
            return "a text"
