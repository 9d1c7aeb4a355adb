"""What people call from Python: an argument that is misspelt or missing is told with its remedy."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import ParamSpec, TypeVar

from streamlab.workloads.name_suggestions import meant

P = ParamSpec("P")
R = TypeVar("R")


def told(
    error: type[Exception], more: Sequence[Parameter] = (), about: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function of `lab`: arguments that do not fit raise `error`.

    Args:
        error: of the error tree.
        more: what the function takes by `**`, by name, so that `help` has it.
        about: what the docstring is to say of that.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        named = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        whole = own.replace(parameters=[*named, *more])

        @wraps(function)
        def checked(*given: P.args, **by_name: P.kwargs) -> R:
            try:
                whole.bind(*given, **by_name)
            except TypeError as misfit:
                place = f"lab.{function.__name__}"
                said = _said(whole, given, by_name) or f"{misfit};"
                raise error(f"{place}: {said} `help({place})` shows all arguments") from None
            return function(*given, **by_name)

        checked.__signature__ = whole  # type: ignore[attr-defined]  # for `help`
        checked.__doc__ = f"{cleandoc(function.__doc__ or '')}\n{about}"
        return checked

    return decorate


def _said(whole: Signature, given: Sequence[object], by_name: Iterable[str]) -> str | None:
    """Return which argument is none, is missing or needs its name, with the remedy."""
    known = whole.parameters
    for name in by_name:
        if name not in known:
            remedy = meant(name, known)
            return f"there is no argument {name!r}; {remedy}{'' if remedy.endswith('?') else ';'}"
    in_turn = [name for name, p in known.items() if p.kind is not Parameter.KEYWORD_ONLY]
    if len(given) > len(in_turn):
        return f"only {', '.join(in_turn)} may be given without its name, got {len(given)} values;"
    has = {*in_turn[: len(given)], *by_name}
    lacking = [n for n, p in known.items() if p.default is Parameter.empty and n not in has]
    return f"{lacking[0]} is missing; give {lacking[0]}=...;" if lacking else None
