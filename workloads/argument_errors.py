"""Reports misspelt or missing arguments of the functions that users call from Python, with a remedy."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import ParamSpec, TypeVar

from streamlab.workloads.name_suggestions import suggest_names

P = ParamSpec("P")
R = TypeVar("R")


def check_arguments(
    error: type[Exception], more: Sequence[Parameter] = (), about: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function of `lab` that raises `error` if the arguments do not fit.

    Args:
        error: an exception type of the lab's error tree.
        more: parameters that the function takes by `**`, so that `help` lists them.
        about: text about these parameters, appended to the docstring.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        declared = signature(function)
        named = [p for p in declared.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        complete = declared.replace(parameters=[*named, *more])

        @wraps(function)
        def checked(*by_position: P.args, **by_name: P.kwargs) -> R:
            try:
                complete.bind(*by_position, **by_name)
            except TypeError as misfit:
                name, of = function.__name__, function.__qualname__
                place = f"lab.{of.split('.')[-2] if name == '__init__' else name}"
                mistake = _mistake(complete, by_position, by_name) or f"{misfit};"
                raise error(f"{place}: {mistake} `help({place})` shows all arguments") from None
            return function(*by_position, **by_name)

        checked.__signature__ = complete  # type: ignore[attr-defined]  # for `help`
        checked.__doc__ = f"{cleandoc(function.__doc__ or '')}\n{about}"
        return checked

    return decorate


def _mistake(
    complete: Signature, by_position: Sequence[object], by_name: Iterable[str]
) -> str | None:
    """Return which argument is unknown, missing or must be named, with the remedy."""
    parameters = complete.parameters
    for name in by_name:
        if name not in parameters:
            remedy = suggest_names(name, parameters)
            return f"there is no argument {name!r}; {remedy}{'' if remedy.endswith('?') else ';'}"
    positional = [name for name, p in parameters.items() if p.kind is not Parameter.KEYWORD_ONLY]
    if len(by_position) > len(positional):
        if not parameters:
            return f"it takes no arguments, got {len(by_position)};"
        return f"only {', '.join(positional) or 'none'} may be positional, got {len(by_position)} values;"
    present = {*positional[: len(by_position)], *by_name}
    missing = [
        n for n, p in parameters.items() if p.default is Parameter.empty and n not in present
    ]
    return f"{missing[0]} is missing; give {missing[0]}=...;" if missing else None
