"""Selects the form of a workload: a typed dataflow graph, or the same by hand in another model."""

from collections.abc import Callable
from typing import ParamSpec

from streamlab.workloads.model import ModelError, Parameter, Params, Program

TYPED, HANDCRAFTED = "typed", "handcrafted"

FORM = {
    "form": Parameter(
        default=TYPED,
        help=f"{TYPED}: a typed dataflow graph; {HANDCRAFTED}: written directly in another model",
    )
}
"""Query parameter of workloads with two forms; both give the same answer."""

Arguments = ParamSpec("Arguments")


def choose_form(
    query: Params, *, typed: Callable[Arguments, Program], handcrafted: Callable[Arguments, Program]
) -> Callable[Arguments, Program]:
    """Return the function that makes the program in the form that the query selects.

    Raises:
        ModelError: query parameter `form` has an unknown value.
    """
    forms = {TYPED: typed, HANDCRAFTED: handcrafted}
    form = str(query["form"])
    if form not in forms:
        raise ModelError(f"query parameter form is {form!r}; give {' or '.join(forms)}")
    return forms[form]
