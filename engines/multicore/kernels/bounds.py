"""Checks array indices in users' functions, for runs with the option `bounds`.

Numba's own check (`boundscheck`) also covers NumPy functions, but reports no line, index or size.
So a compiler pass inserts `check_index` before each element that a user's function reads or sets.

A negative index counts from the end, as in Python: of 3 elements, -1 is the last, and -4 is out of bounds.
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
from streamlab.workloads.model.code.source import display_path

# Numba does not type these parts of its extension interface.
cgutils: Any = _cgutils
ir: Any = _ir


class OutOfBoundsError(IndexError):
    """Reports an index outside an array; compiled code raises it. `place` is the function, file and line."""

    def __init__(self, array: str, place: str, axis: int, index: int, size: int) -> None:
        super().__init__(
            f"{array}: index {index} is out of bounds for axis {axis} with size {size}, in {place}"
        )


@intrinsic(prefer_literal=True)
def check_index(typingctx: Any, array: Any, index: Any, label: Any, place: Any) -> Any:
    """Raise `OutOfBoundsError` if an index, or an index of a tuple, is outside an array.

    Values other than arrays are not checked, because tuples check themselves. Slices are not checked, because they stop
    at the array's end.
    """
    if not isinstance(label, types.StringLiteral):
        return None  # Numba tries again without literals if the code below raises.
    signature = types.void(array, index, label, place)
    is_tuple = isinstance(index, types.BaseTuple)
    kinds: tuple[Any, ...] = tuple(index) if is_tuple else (index,)
    is_checkable = all(isinstance(kind, types.Integer | types.SliceType) for kind in kinds)
    if not isinstance(array, types.Array) or len(kinds) > array.ndim or not is_checkable:
        if isinstance(array, types.Array) and any(isinstance(i, types.Array) for i in kinds):
            raise TypingError(
                f"{label.literal_value} is indexed by an array, in {place.literal_value}: such "
                "indices are not checked; take elements one by one, or run with bounds = false"
            )
        return signature, lambda context, builder, signature, args: context.get_dummy_value()

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shape = context.make_array(array)(context, builder, args[0]).shape
        sizes = cgutils.unpack_tuple(builder, shape, array.ndim)
        parts = cgutils.unpack_tuple(builder, args[1], len(kinds)) if is_tuple else [args[1]]
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
                    (label.literal_value, place.literal_value, axis, number, size),
                    (None, None, None, types.intp if kind.signed else types.uintp, types.intp),
                )
        return context.get_dummy_value()

    return signature, codegen


@register_pass(mutates_CFG=False, analysis_only=False)  # type: ignore[no-untyped-call]  # Numba's gap
class _CheckIndices(FunctionPass):
    """Inserts a call of `check_index` before each element that a function reads or sets."""

    _name = "check_indices"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Numba's gap

    def run_pass(self, state: Any) -> bool:
        code = state.func_ir
        name = code.func_id.func_name
        for block in code.blocks.values():
            body: list[Any] = []
            for statement in block.body:
                access = _element_access(statement)
                if access is not None:
                    array, index = access
                    loc = statement.loc
                    place = f"{name} ({display_path(loc.filename)}:{loc.line})"
                    body += _check_call(block.scope, array, index, _label(code, array), place, loc)
                body.append(statement)
            block.body = body
        return True


def _element_access(statement: Any) -> tuple[Any, Any] | None:
    """Return the array and index of a statement that reads or sets an element, or None."""
    if isinstance(statement, ir.SetItem):
        return statement.target, statement.index
    value = getattr(statement, "value", None)
    if isinstance(value, ir.Expr) and value.op == "getitem":
        return value.value, value.index
    return None


def _check_call(scope: Any, array: Any, index: Any, label: str, place: str, loc: Any) -> list[Any]:
    """Return the statements that call `check_index`."""
    statements = []

    def assign(value: Any) -> Any:
        variable = scope.redefine("$check_index", loc=loc)
        statements.append(ir.Assign(value, variable, loc))
        return variable

    function = assign(ir.Global("check_index", check_index, loc))
    texts = (assign(ir.Const(text, loc)) for text in (label, place))
    assign(ir.Expr.call(function, (array, index, *texts), (), loc))
    return statements


def _label(code: Any, variable: Any) -> str:
    """Return the name of a value in the source, such as `state.items`; `array` if it has no name."""
    try:
        definition = code.get_definition(variable)
    except KeyError:  # The function assigns it more than once.
        return "array" if variable.name.startswith("$") else str(variable.unversioned_name)
    if isinstance(definition, ir.Arg | ir.Global | ir.FreeVar):
        return str(definition.name)
    if isinstance(definition, ir.Expr) and definition.op == "getattr":
        return f"{_label(code, definition.value)}.{definition.attr}"
    if isinstance(definition, ir.Expr) and definition.op in ("getitem", "static_getitem"):
        return f"{_label(code, definition.value)}[...]"
    return "array" if variable.name.startswith("$") else str(variable.unversioned_name)


class _CheckingCompiler(PartCompiler):
    def define_pipelines(self) -> list[Any]:
        """Return the passes, with the index checks after Numba has built its IR."""
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_CheckIndices, IRProcessing)
        passes.finalize()
        return [passes]


OPTIONS = {"boundscheck": True, "pipeline_class": _CheckingCompiler}
"""Numba options of functions with index checks."""
