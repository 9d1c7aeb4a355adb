"""Two forms of one workload: a typed dataflow graph, and what an engineer writes by hand."""

from collections.abc import Callable
from typing import ParamSpec

from streamlab.workloads.model import ModelError, Parameter, Params, Program

TYPED, HANDCRAFTED = "typed", "handcrafted"

FORM = {
    "form": Parameter(
        default=TYPED,
        help=f"{TYPED}: a graph of templates; {HANDCRAFTED}: directly in another model",
    )
}
"""Query parameter of all workloads in two forms; the answer is the same."""

Given = ParamSpec("Given")


def form_of(
    query: Params, *, typed: Callable[Given, Program], handcrafted: Callable[Given, Program]
) -> Callable[Given, Program]:
    """Return what makes the program in the form that is asked for.

    Raises:
        ModelError: there is no such form.
    """
    forms = {TYPED: typed, HANDCRAFTED: handcrafted}
    form = str(query["form"])
    if form not in forms:
        raise ModelError(f"query parameter form is {form!r}; give {' or '.join(forms)}")
    return forms[form]
