"""Checks the indices of arrays in users' functions, where a run asks for that.

Numba has such checks (`boundscheck`), which also guard whatever a function calls of NumPy; they
tell neither line nor index nor size. So a pass over a function's own code puts a check of ours
before each element that it reads or sets, whose exception says all of that.

An index below zero counts from the end, in Python as in compiled code: -1 is the last element, and
-4 of 3 is out of bounds.
"""

from typing import Any

from numba.core import cgutils as _cgutils
from numba.core import ir as _ir
from numba.core import types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import TypingError
from numba.core.untyped_passes import IRProcessing
from numba.extending import intrinsic

from streamlab.engines.multicore.kernels.inline_functions import PartCompiler
from streamlab.workloads.model.code.location import display_path

# Numba's extension interface is typed in part only, these not.
cgutils: Any = _cgutils
ir: Any = _ir


class OutOfBoundsError(IndexError):
    """An index is none of an array's; compiled code raises it.

    Args:
        what: the array, as the function calls it.
        place: the function, with file and line.
        index: as the function has it.
        axis: of the array.
        size: elements along that axis.
    """

    def __init__(self, what: str, place: str, axis: int, index: int, size: int) -> None:
        super().__init__(
            f"{what}: index {index} is out of bounds for axis {axis} with size {size}, in {place}"
        )


@intrinsic(prefer_literal=True)
def check_index(typingctx: Any, array: Any, index: Any, what: Any, place: Any) -> Any:
    """Raise `OutOfBoundsError` where an index, or one of a tuple of them, is none of an array's.

    What is no array passes: tuples check themselves. So do slices, which end where an array ends.
    """
    if not isinstance(what, types.StringLiteral):
        return None  # Numba tries again without literals when what follows is refused
    signature = types.void(array, index, what, place)
    several = isinstance(index, types.BaseTuple)
    kinds: tuple[Any, ...] = tuple(index) if several else (index,)
    known = all(isinstance(kind, types.Integer | types.SliceType) for kind in kinds)
    if not isinstance(array, types.Array) or len(kinds) > array.ndim or not known:
        if isinstance(array, types.Array) and any(isinstance(i, types.Array) for i in kinds):
            raise TypingError(
                f"{what.literal_value} is indexed by an array, in {place.literal_value}: such "
                "indices are not checked; take elements one by one, or run with bounds = false"
            )
        return signature, lambda context, builder, signature, args: context.get_dummy_value()

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shape = context.make_array(array)(context, builder, args[0]).shape
        sizes = cgutils.unpack_tuple(builder, shape, array.ndim)
        parts = cgutils.unpack_tuple(builder, args[1], len(kinds)) if several else [args[1]]
        for axis, (part, kind) in enumerate(zip(parts, kinds, strict=True)):
            if isinstance(kind, types.SliceType):
                continue
            number = context.cast(builder, part, kind, types.intp)
            size = sizes[axis]
            lowest = builder.neg(size) if kind.signed else size.type(0)
            low = builder.icmp_signed("<", number, lowest)
            high = builder.icmp_signed(">=", number, size)
            with cgutils.if_unlikely(builder, builder.or_(low, high)):
                context.call_conv.return_dynamic_user_exc(
                    builder,
                    OutOfBoundsError,
                    (what.literal_value, place.literal_value, axis, number, size),
                    (None, None, None, types.intp if kind.signed else types.uintp, types.intp),
                )
        return context.get_dummy_value()

    return signature, codegen


@register_pass(mutates_CFG=False, analysis_only=False)  # type: ignore[no-untyped-call]  # Numba's gap
class _CheckIndices(FunctionPass):
    """Puts a call of `check_index` before each element that a function reads or sets."""

    _name = "check_indices"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Numba's gap

    def run_pass(self, state: Any) -> bool:
        code = state.func_ir
        name = code.func_id.func_name
        for block in code.blocks.values():
            body: list[Any] = []
            for statement in block.body:
                found = _indexed(statement)
                if found is not None:
                    array, index = found
                    loc = statement.loc
                    place = f"{name} ({display_path(loc.filename)}:{loc.line})"
                    body += _call(block.scope, array, index, _words(code, array), place, loc)
                body.append(statement)
            block.body = body
        return True


def _indexed(statement: Any) -> tuple[Any, Any] | None:
    """Return the array and the index of a statement that reads or sets an element, or None."""
    if isinstance(statement, ir.SetItem):
        return statement.target, statement.index
    value = getattr(statement, "value", None)
    if isinstance(value, ir.Expr) and value.op == "getitem":
        return value.value, value.index
    return None


def _call(scope: Any, array: Any, index: Any, what: str, place: str, loc: Any) -> list[Any]:
    made = []

    def name(value: Any) -> Any:
        variable = scope.redefine("$check_index", loc=loc)
        made.append(ir.Assign(value, variable, loc))
        return variable

    function = name(ir.Global("check_index", check_index, loc))
    words = (name(ir.Const(text, loc)) for text in (what, place))
    name(ir.Expr.call(function, (array, index, *words), (), loc))
    return made


def _words(code: Any, variable: Any) -> str:
    """Return what a function calls a value: `state.items`, or `array` where it has no name."""
    try:
        made = code.get_definition(variable)
    except KeyError:  # it is assigned to more than once
        return "array" if variable.name.startswith("$") else str(variable.unversioned_name)
    if isinstance(made, ir.Arg):
        return str(made.name)
    if isinstance(made, ir.Global | ir.FreeVar):
        return str(made.name)
    if isinstance(made, ir.Expr) and made.op == "getattr":
        return f"{_words(code, made.value)}.{made.attr}"
    if isinstance(made, ir.Expr) and made.op in ("getitem", "static_getitem"):
        return f"{_words(code, made.value)}[...]"
    return "array" if variable.name.startswith("$") else str(variable.unversioned_name)


class _CheckingCompiler(PartCompiler):
    def define_pipelines(self) -> list[Any]:
        """Return the passes, with the checks once there is code to look at."""
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_CheckIndices, IRProcessing)
        passes.finalize()
        return [passes]


OPTIONS = {"boundscheck": True, "pipeline_class": _CheckingCompiler}
"""Numba's, of functions whose indices are checked."""
