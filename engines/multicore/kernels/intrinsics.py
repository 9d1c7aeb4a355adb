"""Helps to define functions that build the LLVM code of their calls in kernels, and types whose values are structs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from types import ModuleType
from typing import Any

from llvmlite import ir
from numba.core import cgutils as _cgutils
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from numba.core.extending import _Intrinsic, models, register_model
from numba.extending import intrinsic as numba_intrinsic

cgutils: Any = _cgutils
"""Numba does not type this part of its extension interface."""
WORD, HALF, BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
BYTES = BYTE.as_pointer()


class StructType(types.Type):
    """Numba type whose values are structs; set `members` before the call of the base's constructor."""

    members: list[tuple[str, Any]]
    """Name and Numba type of each member."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_model(cls)(_StructModel)


class _StructModel(models.StructModel):
    def __init__(self, dmm: Any, fe_type: StructType) -> None:
        super().__init__(dmm, fe_type, fe_type.members)  # type: ignore[no-untyped-call]  # Numba's gap


@dataclass(frozen=True, slots=True)
class Code:
    """Builds the code of one call.

    Attributes:
        context: Numba's target context.
        builder: builder of the LLVM IR.
        kinds: Numba types of the arguments.
        result: Numba type of the result.
    """

    context: Any
    builder: ir.IRBuilder
    kinds: tuple[Any, ...]
    result: Any

    def struct(self, kind: StructType, value: Any = None) -> Any:
        """Return a new struct, or the struct of a value, whose members are attributes."""
        return cgutils.create_struct_proxy(kind)(self.context, self.builder, value=value)

    def element(self, address: Any, index: Any, kind: Any) -> Any:
        """Return the address of element `index` in the array of LLVM type `kind` at an address."""
        pointer = self.builder.bitcast(address, kind.as_pointer())
        return self.builder.gep(pointer, [WORD(index) if isinstance(index, int) else index])

    def word(self, address: Any, index: Any) -> Any:
        """Return the value of word `index` at an address."""
        return self.builder.load(self.element(address, index, WORD))

    def pointer(self, address: Any, index: Any, kind: Any = types.voidptr) -> Any:
        """Return entry `index` of the pointer table at an address, as a pointer of a Numba type."""
        value = self.builder.load(self.element(address, index, BYTES))
        return self.builder.bitcast(value, self.context.get_value_type(kind))

    def local(self, value: Any) -> Any:
        """Return the address of a word on the stack that is set to a value."""
        slot = cgutils.alloca_once(self.builder, WORD)
        self.builder.store(value, slot)
        return slot

    def add(self, address: Any, value: Any) -> None:
        """Add a value to the word at an address."""
        self.builder.store(self.builder.add(self.builder.load(address), value), address)


def intrinsic(signature: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a function that builds the code of its calls in kernels.

    The function gets a `Code` and the value of each argument: structs as proxies, others as LLVM values.
    A function without a result returns None. `signature` returns the Numba signature for the types of the arguments.
    """

    def decorate(build: Callable[..., Any]) -> Any:
        def implement(typingctx: Any, *kinds: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                code = Code(context, builder, signature.args, signature.return_type)
                values = [
                    code.struct(kind, value) if isinstance(kind, StructType) else value
                    for kind, value in zip(signature.args, args, strict=True)
                ]
                result = build(code, *values)
                return context.get_dummy_value() if result is None else result

            return signature(*kinds), codegen

        return numba_intrinsic(update_wrapper(implement, build))

    return decorate


def named_type(like: Any) -> Any:
    """Return the Numba type for a compile-time argument: a Numba type or a NumPy scalar type."""
    if isinstance(like, (types.TypeRef, types.NumberClass)):
        return like.instance_type
    raise TypingError(f"expected a type known at compile time, got {like}")


def counter(name: str) -> Any:
    """Return a function that reads a struct's counter, which is on the stack."""

    @intrinsic(lambda struct: types.int64(struct))
    def read(code: Code, struct: Any) -> Any:
        return code.builder.load(getattr(struct, name))

    return read


def library(*modules: ModuleType) -> dict[str, object]:
    """Return the functions and structs of modules by name, for the sources of kernels."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, _Intrinsic | Dispatcher | tuple) and not name.startswith("_")
    }
