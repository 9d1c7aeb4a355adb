"""Compiles functions that dissolve into kernels: to code for LLVM, and none for the processor.

Numba optimizes each function with all that it calls, and makes machine code of it, before the next
one takes it up. With five calls below one another that is done five times, for one use: it took two
thirds of the time of a large program (`outlier_detection` as it was then: 24.6 s of 36.0 for its
three functions). Only kernels call these functions.
"""

from collections.abc import Callable
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

# Numba's extension interface is typed in part only, these not.
DefaultPassBuilder: Any = _DefaultPassBuilder
NativeLowering: Any = typed_passes.NativeLowering
Library: Any = JITCodeLibrary
_dynfunc: Any = _c_functions
_numbas_overload: Any = _overload
_numbas_overload_method: Any = _overload_method

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _PartLibrary(Library):
    """What the code of such a function is kept in until a kernel takes it up."""

    def finalize(self) -> None:
        """Take up the code of what the function calls; the kernel optimizes all of it."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(NativeLowering):
    """Numba's last pass, which leaves out what makes machine code."""

    _name = "lower_part"

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        library = state.library = _PartLibrary(state.targetctx.codegen(), name)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # The compiler finds a function by the C function that Python would call.
        module = lowered.fndesc.lookup_module()
        function = _dynfunc.make_function(module, name, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(function, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=function)
        return True


class PartCompiler(CompilerBase):
    """Numba's passes, without the making of machine code."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes, the last of them ours."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        at = next(i for i, (made, _) in enumerate(passes.passes) if made is NativeLowering)
        passes.passes[at] = (_LowerPart, "native lowering")
        passes.finalize()
        return [passes]


# error_model="numpy": division by zero gives NaN or 0 instead of a Python exception, which no
# thread of the core could raise. forceinline: the user's function must dissolve into the loop (see
# memory.py).
OPTIONS: dict[str, Any] = {
    "forceinline": True,
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": PartCompiler,
}
"""Numba's, of functions that only kernels call."""


def part(function: _Function) -> _Function:
    """Compile a function that kernels call, and neither Python nor C."""
    compiled: _Function = njit(**OPTIONS)(function)
    return compiled


def overload_part(function: Any) -> Callable[[_Function], _Function]:
    """Return Numba's decorator `overload`, for what is compiled as a part."""
    decorator: Callable[[_Function], _Function] = _numbas_overload(function, jit_options=OPTIONS)
    return decorator


def overload_method_part(kind: Any, name: str) -> Callable[[_Function], _Function]:
    """Return Numba's decorator `overload_method`, for what is compiled as a part."""
    decorator: Callable[[_Function], _Function] = _numbas_overload_method(
        kind, name, jit_options=OPTIONS
    )
    return decorator
