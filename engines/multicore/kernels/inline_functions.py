"""Compiles functions to LLVM IR, but not to machine code. Only kernels can call these functions.

Numba optimizes each function together with its callees, and generates machine code, before a caller inlines it.
With calls nested five deep, Numba does this five times for one function.
In a large program this took two thirds of the compile time (24.6 of 36.0 s for three functions).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from numba import _dynfunc as _c_functions
from numba import njit
from numba.core import typed_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler import DefaultPassBuilder as _DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.extending import overload as _overload
from numba.extending import overload_method as _overload_method

# Numba does not type these parts of its extension interface.
DefaultPassBuilder: Any = _DefaultPassBuilder
NativeLowering: Any = typed_passes.NativeLowering
Library: Any = JITCodeLibrary
_dynfunc: Any = _c_functions
_numbas_overload: Any = _overload
_numbas_overload_method: Any = _overload_method

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _PartLibrary(Library):
    """Holds the LLVM IR of a function until a kernel links it in."""

    def finalize(self) -> None:
        """Link in the IR of the function's callees; the kernel optimizes all of it."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(NativeLowering):
    """Numba's last pass, without the generation of machine code."""

    _name = "lower_part"

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        library = state.library = _PartLibrary(state.targetctx.codegen(), name)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # Numba looks a function up by the C function that Python would call.
        module = lowered.fndesc.lookup_module()
        function = _dynfunc.make_function(module, name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(function, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=function)
        return True


class PartCompiler(CompilerBase):
    """Numba's passes, without the generation of machine code."""

    def define_pipelines(self) -> list[Any]:
        """Return Numba's passes with `_LowerPart` in place of the native lowering."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        index = next(i for i, (step, _) in enumerate(passes.passes) if step is NativeLowering)
        passes.passes[index] = (_LowerPart, "native lowering")
        passes.finalize()
        return [passes]


# With error_model="numpy", division by zero returns NaN or 0. The core's threads cannot handle a Python exception.
# forceinline turns records on the stack into registers (memory.py).
OPTIONS: dict[str, object] = {
    "forceinline": True,
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": PartCompiler,
}
"""Numba options of functions that only kernels call."""


def part(function: _Function) -> _Function:
    """Compile a function that only kernels call; Python and C cannot call it."""
    compiled: _Function = njit(**OPTIONS)(function)
    return compiled


def overload_method_part(kind: Any, name: str) -> Callable[[_Function], _Function]:
    """Return Numba's decorator `overload_method`, with the options of `part`."""
    decorator: Callable[[_Function], _Function] = _numbas_overload_method(
        kind, name, jit_options=OPTIONS
    )
    return decorator


def implement(function: Any, *kinds: Any) -> Callable[[_Function], _Function]:
    """Return a decorator for a function that implements `function` in compiled code.

    `function` is a function or the name of a method. The implementation applies if the first argument has a Numba type
    in `kinds`.
    """

    def decorate(implementation: _Function) -> _Function:
        @wraps(implementation)
        def choose(*arguments: Any) -> Any:
            return implementation if isinstance(arguments[0], kinds) else None

        if isinstance(function, str):
            for kind in kinds:
                overload_method_part(kind, function)(choose)
        else:
            _numbas_overload(function, jit_options=OPTIONS)(choose)
        return implementation

    return decorate
