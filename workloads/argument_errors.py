"""Reports misspelt or missing arguments of the functions that users call from Python, with a remedy."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import ParamSpec, TypeVar

from streamlab.workloads.name_suggestions import suggest_names

P = ParamSpec("P")
R = TypeVar("R")


def check_arguments(
    error: type[Exception], keywords: Sequence[Parameter] = (), about: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that makes a function of `lab` raise `error` if its arguments do not fit.

    Args:
        error: an exception type of the lab's error tree.
        keywords: parameters that the function takes by `**`. `help` lists them.
        about: text about these parameters, appended to the docstring.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        declared = signature(function)
        named = [p for p in declared.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        complete = declared.replace(parameters=[*named, *keywords])

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                complete.bind(*args, **kwargs)
            except TypeError as type_error:
                name = function.__name__
                if name == "__init__":
                    name = function.__qualname__.split(".")[-2]
                mistake = _describe_mistake(complete, args, kwargs) or f"{type_error};"
                raise error(
                    f"lab.{name}: {mistake} `help(lab.{name})` shows all arguments"
                ) from None
            return function(*args, **kwargs)

        checked.__signature__ = complete  # type: ignore[attr-defined]  # for `help`
        checked.__doc__ = f"{cleandoc(function.__doc__ or '')}\n{about}"
        return checked

    return decorate


def _describe_mistake(
    complete: Signature, args: Sequence[object], kwargs: Iterable[str]
) -> str | None:
    """Return the first unknown, missing or wrongly positional argument, with the remedy; None if there is none."""
    parameters = complete.parameters
    for name in kwargs:
        if name not in parameters:
            remedy = suggest_names(name, parameters)
            return f"there is no argument {name!r}; {remedy}{'' if remedy.endswith('?') else ';'}"
    positional = [name for name, p in parameters.items() if p.kind is not Parameter.KEYWORD_ONLY]
    if len(args) > len(positional):
        if not parameters:
            return f"it takes no arguments, got {len(args)};"
        return f"only {', '.join(positional) or 'none'} may be positional, got {len(args)} values;"
    present = {*positional[: len(args)], *kwargs}
    missing = [
        n for n, p in parameters.items() if p.default is Parameter.empty and n not in present
    ]
    return f"{missing[0]} is missing; give {missing[0]}=...;" if missing else None
