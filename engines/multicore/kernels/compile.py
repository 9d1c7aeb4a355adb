"""Compiles functions to C function pointers, with a cache on disk.

The cache key covers the user's function with all values and functions that it uses, the generated loop, this package's
sources and the compiler's version; Numba adds the processor.
Loading a kernel from the cache takes about 10 ms, compiling one about 0.5 s.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache as memoize
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import carray, njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.kernels import bounds as checked
from streamlab.engines.multicore.kernels import (
    emitter,
    inline_functions,
    library_functions,
    memory,
)
from streamlab.engines.multicore.kernels.intrinsics import library
from streamlab.engines.multicore.kernels.sealed_cache import sealed_cfunc
from streamlab.workloads.default_folders import cache_folder
from streamlab.workloads.model.code.fingerprint import UnstableError, fingerprint, names_of

Functions = dict[str, tuple[str, Callable[..., Any]]]
"""The role and function of each user's function, by its name in a kernel's source."""
_NAMES: Mapping[str, object] = {
    "carray": carray,
    "boolean": np.bool_,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint64": np.uint64,
    **library(emitter, library_functions, memory),
}
"""Names that all sources may use."""
_loaded: dict[tuple[Path, str] | None, Any] = {}
"""Kernels that this process has loaded, by path in the cache (a content hash) and signature."""


class KernelSet:
    """Compiles kernels on first use, and keeps their code alive; see `compile_kernel` for the arguments."""

    def __init__(self, where: str, *, bounds: bool) -> None:
        self._where = where
        self._bounds = bounds
        self._compiled: dict[tuple[object, ...], Any] = {}

    def _address(
        self,
        key: Sequence[object],
        functions: Functions,
        source: str,
        signature: Any,
        names: Mapping[str, object],
        **options: Any,
    ) -> int:
        """Return the address of a kernel; see `compile_kernel`.

        `key` is the kernel's role and the values on which its source depends.
        """
        key = tuple(key)
        if key not in self._compiled:
            self._compiled[key] = compile_kernel(
                self._where, functions, source, signature, names, bounds=self._bounds, **options
            )
        return int(self._compiled[key].address)


def compile_kernel(
    where: str,
    functions: Functions,
    source: str,
    signature: Any,
    names: Mapping[str, object],
    *,
    also: tuple[Callable[..., Any], ...] = (),
    bounds: bool,
    width: bool = False,
) -> Any:
    """Compile to a C callback the function that `source` decorates with `@kernel`.

    Args:
        where: owner of the users' functions, for error messages.
        functions: users' functions.
        source: Python source; it may use all of `_NAMES`, and `names`.
        signature: Numba signature of the callback.
        names: constants of the source, and further functions.
        also: further users' functions that the cache key must cover.
        bounds: whether the users' functions check array indices.
        width: whether a caller will read `vector_bits` of the kernel.

    Raises:
        EngineError: a function does not compile; the message names it.
    """
    called = (*(function for _, function in functions.values()), *also)
    path = _cached_source(called, source, {**names, "bounds": bounds})
    key = None if path is None else (path, str(signature))
    if key in _loaded:
        return _loaded[key]
    # A cached kernel refers to the module of its globals by name, so this name must be importable.
    module = ModuleType(f"{__name__}.{path.stem if path else 'uncached'}")
    sys.modules[module.__name__] = module
    namespace = module.__dict__
    namespace |= {
        "kernel": sealed_cfunc(signature, keep=path is not None, width=width, error_model="numpy"),
        **{
            name: compile_inlined(function, bounds=bounds)
            for name, (_, function) in functions.items()
        },
        **_NAMES,
        **names,
    }
    imported_names = set(namespace)
    try:
        exec(compile(source, str(path or "<kernel>"), "exec"), namespace)
    except (
        Exception
    ) as error:  # Numba's extensions raise other errors too, such as KeyError for a missing field.
        raise EngineError(_explain(where, functions, error)) from error
    # The kernel is the last name that the source defines.
    defined_names = [
        name for name in namespace if name not in imported_names and not name.startswith("__")
    ]
    kernel = namespace[defined_names[-1]]
    # Numba compiles in the address, not the content, of large and of non-contiguous global arrays.
    if key is not None and not kernel._library.has_dynamic_globals:
        _loaded[key] = kernel
    return kernel


def compile_inlined(function: Callable[..., Any], *, bounds: bool) -> Any:
    """Compile a user's function, and the functions that it calls, for inlining into kernels.

    Numba accepts a function in a global or closure variable only if it is compiled already.
    `streamlab.workloads.model.operators.aggregates` builds functions with plain functions in closures. With `bounds`,
    functions that Numba has compiled are compiled again.
    """
    options = inline_functions.OPTIONS | (checked.OPTIONS if bounds else {})
    plain = _plain_function(function, bounds=bounds)
    if plain is not None:
        return _compile_function(plain, options, {})
    return function if hasattr(function, "py_func") else njit(**options)(function)


def _plain_function(function: object, *, bounds: bool) -> FunctionType | None:
    """Return the plain Python function to compile, or None if it is compiled already."""
    if bounds and isinstance(function, Dispatcher):
        function = function.py_func
    return function if isinstance(function, FunctionType) else None


def _compile_function(
    function: FunctionType, options: dict[str, object], compiled: dict[int, Any]
) -> Any:
    """Compile a function, and add it to `compiled`.

    `compiled` maps the ids of functions to compiled functions, or to None while they are being compiled.
    """
    compiled[id(function)] = None
    module_globals = function.__globals__
    names = names_of(function.__code__)
    helpers = {name: _compile_helper(module_globals.get(name), options, compiled) for name in names}
    cells = [
        _compile_helper(cell.cell_contents, options, compiled)
        for cell in function.__closure__ or ()
    ]
    twin = FunctionType(
        function.__code__,
        module_globals | {name: helper for name, helper in helpers.items() if helper is not None},
        function.__name__,
        function.__defaults__,
        tuple(
            cell if helper is None else CellType(helper)
            for cell, helper in zip(function.__closure__ or (), cells, strict=True)
        ),
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    # A cached kernel imports the module of each of its functions. The next process may have the
    # same function in another module, so all functions name this one.
    twin.__module__ = __name__
    compiled[id(function)] = njit(**options)(twin)
    return compiled[id(function)]


def _compile_helper(value: object, options: dict[str, object], compiled: dict[int, Any]) -> Any:
    """Compile a plain function; return None for other values and for functions that Numba overloads."""
    plain = _plain_function(value, bounds="boundscheck" in options)
    if plain is None:
        return None
    context = cpu_target.typing_context
    context.refresh()
    if plain is value and context._lookup_global(value) is not None:
        return None
    return (
        compiled[id(plain)]
        if id(plain) in compiled
        else _compile_function(plain, options, compiled)
    )


def _explain(where: str, functions: Functions, error: Exception) -> str:
    """Return the message of the error that one of the functions does not compile."""
    labels = []
    for role, function in functions.values():
        code = getattr(function, "py_func", function).__code__
        labels.append(f"{role} function {code.co_name} ({code.co_filename}:{code.co_firstlineno})")
    reason = str(error)
    if isinstance(error, KeyError):
        reason = f"no field {error}"
    elif not isinstance(error, NumbaError):
        reason = f"{type(error).__name__}: {error}"
    return (
        f"{where}: {' or '.join(labels)} does not compile to native code; run it on the reference "
        f"engine to debug it. Numba says:\n{reason}"
    )


@memoize
def _sources_fingerprint() -> str:
    """Return a digest of the engine's sources, the core's structs and the compiler's version."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("[!.]*.py")):
        if path.is_file():
            digest.update(path.read_bytes())
    versions = numba.__version__, llvmlite.__version__, np.__version__
    digest.update(repr((versions, _core.STRUCTS)).encode())
    return digest.hexdigest()


def _constant_text(value: object) -> str:
    """Return a text that identifies a constant of a source, equal in every process."""
    function = getattr(value, "py_func", value)
    if isinstance(function, FunctionType):  # `_sources_fingerprint` covers the engine's functions.
        return f"{function.__module__}.{function.__qualname__}"
    return repr(value)


def _cached_source(
    functions: tuple[Callable[..., Any], ...], source: str, names: Mapping[str, object]
) -> Path | None:
    """Write the source into the cache folder; return its path, or None if it cannot be cached."""
    try:
        # Places (file and line) are part of the key, because errors of a kernel name them.
        stable = [fingerprint(function, places=True) for function in functions]
    except UnstableError:
        return None
    constants = repr(sorted((name, _constant_text(value)) for name, value in names.items()))
    key = hashlib.sha256("\0".join((_sources_fingerprint(), *stable, source, constants)).encode())
    path = cache_folder() / "kernels" / f"{key.hexdigest()[:32]}.py"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(source, encoding="utf-8")
            temporary.replace(path)
    except OSError:  # A full disk only costs compile time.
        with suppress(OSError):
            temporary.unlink()
        return None
    return path
