"""Compiles functions to C function pointers, with a cache on disk.

The cache key covers the user's function with all it reads and calls, the generated loop, this
package's own sources and the compiler's version; Numba adds the processor. A kernel from the cache
loads in some 10 ms where compiling takes half a second. A process keeps what it has loaded.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
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
from streamlab.engines.multicore.kernels import arrays as _arrays  # noqa: F401  tells Numba
from streamlab.engines.multicore.kernels import bounds as checked
from streamlab.engines.multicore.kernels import emitter, inline_functions, members, memory
from streamlab.engines.multicore.kernels import widths as _widths  # noqa: F401  tells Numba
from streamlab.engines.multicore.kernels.sealed_cache import sealed_cfunc
from streamlab.workloads.default_folders import cache_folder
from streamlab.workloads.model.code.fingerprint import UnstableError, fingerprint, names_of

_loaded: dict[tuple[Path, str], Any] = {}
"""Kernels of this process by their place in the cache, which names their content, and signature."""


def compile_kernel(
    where: str,
    functions: Mapping[str, tuple[str, Callable[..., Any]]],
    source: str,
    signature: Any,
    names: Mapping[str, object],
    *,
    also: tuple[Callable[..., Any], ...] = (),
    bounds: bool,
    width: bool = False,
) -> Any:
    """Compile the one function that `source` decorates with `@kernel` to a C callback.

    Args:
        where: whose functions they are, for messages.
        functions: user's functions by the name that the source calls them, with their role.
        source: Python source; it may use all of `memory`, and `names`.
        signature: of the callback.
        names: constants of the source.
        also: further functions that the result depends on.
        bounds: whether indices of arrays are checked in the user's functions.
        width: whether `vector_bits` will be asked for the width of the kernel's vectors.

    Raises:
        EngineError: a function does not compile; the message names it.
    """
    called = (*(function for _, function in functions.values()), *also)
    path = _cached_source(called, source, {**names, "bounds": bounds})
    if path is None:
        return _compiled(
            where, functions, source, signature, names, None, bounds=bounds, width=width
        )
    key = (path, str(signature))
    if key in _loaded:
        return _loaded[key]
    kernel = _compiled(where, functions, source, signature, names, path, bounds=bounds, width=width)
    # Of large arrays and of such that are not contiguous Numba takes the address, not the content.
    if not kernel._library.has_dynamic_globals:
        _loaded[key] = kernel
    return kernel


def _compiled(
    where: str,
    functions: Mapping[str, tuple[str, Callable[..., Any]]],
    source: str,
    signature: Any,
    names: Mapping[str, object],
    path: Path | None,
    *,
    bounds: bool,
    width: bool,
) -> Any:
    """Compile a kernel, or load it from the cache at `path`."""
    # A cached kernel names the module that its globals live in, so it needs one that can be found.
    module = ModuleType(f"{__name__}.{path.stem if path else 'uncached'}")
    sys.modules[module.__name__] = module
    namespace = module.__dict__
    namespace |= {
        "kernel": sealed_cfunc(signature, keep=path is not None, width=width, error_model="numpy"),
        **{name: inlined(function, bounds=bounds) for name, (_, function) in functions.items()},
        "carray": carray,
        "boolean": np.bool_,
        "int32": np.int32,
        "int64": np.int64,
        "open_emitter": emitter.open_emitter,
        "open_members": members.open_members,
        **{name: getattr(memory, name) for name in memory.__all__},
        **names,
    }
    before = set(namespace)
    try:
        exec(compile(source, str(path or "<kernel>"), "exec"), namespace)
    except Exception as error:  # Numba passes on what its extensions raise: KeyError for a field
        raise EngineError(_explain(where, functions, error)) from error
    # Whatever else the source defines stands before its kernel.
    made = [name for name in namespace if name not in before and not name.startswith("__")]
    return namespace[made[-1]]


def inlined(function: Callable[..., Any], *, bounds: bool) -> Any:
    """Return a user's function as Numba compiles it into kernels, with the functions it calls.

    Numba itself takes a function that another one reads, as a global or from around it, only where
    it knows it already; the constructions of `streamlab.workloads.model.operators.aggregates` are made of such.

    Args:
        function: the function; one that Numba has compiled is compiled again to be checked.
        bounds: whether it and what it calls check the indices of arrays.
    """
    options = inline_functions.OPTIONS | (checked.OPTIONS if bounds else {})
    plain = _plain(function, bounds=bounds)
    if plain is not None:
        return _inlined(plain, options, {})
    return function if hasattr(function, "py_func") else njit(**options)(function)


def _plain(function: object, *, bounds: bool) -> FunctionType | None:
    """Return what is to be compiled of a function: itself, None where that has been done."""
    if bounds and isinstance(function, Dispatcher):
        function = function.py_func
    return function if isinstance(function, FunctionType) else None


def _inlined(function: FunctionType, options: dict[str, Any], made: dict[int, Any]) -> Any:
    """Compile a function; `made` holds what has been, by id, and None for what is under way."""
    made[id(function)] = None
    around = function.__globals__
    names = names_of(function.__code__)
    helpers = {name: _helper(around.get(name), options, made) for name in names}
    cells = [_helper(cell.cell_contents, options, made) for cell in function.__closure__ or ()]
    twin = FunctionType(
        function.__code__,
        around | {name: helper for name, helper in helpers.items() if helper is not None},
        function.__name__,
        function.__defaults__,
        tuple(
            cell if helper is None else CellType(helper)
            for cell, helper in zip(function.__closure__ or (), cells, strict=True)
        ),
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    # A kernel in the cache asks for the module of each function in it, and the next process may
    # have the same function in another: its file has been renamed, or edited elsewhere.
    twin.__module__ = __name__
    made[id(function)] = njit(**options)(twin)
    return made[id(function)]


def _helper(value: object, options: dict[str, Any], made: dict[int, Any]) -> Any:
    """Return a plain function compiled; None for what is none, or what Numba has a meaning for."""
    plain = _plain(value, bounds="boundscheck" in options)
    if plain is None:
        return None
    known = cpu_target.typing_context
    known.refresh()
    if plain is value and known._lookup_global(value) is not None:
        return None
    return made[id(plain)] if id(plain) in made else _inlined(plain, options, made)


def _explain(
    where: str, functions: Mapping[str, tuple[str, Callable[..., Any]]], error: Exception
) -> str:
    inline_functions = []
    for role, function in functions.values():
        code = getattr(function, "py_func", function).__code__
        inline_functions.append(
            f"{role} function {code.co_name} ({code.co_filename}:{code.co_firstlineno})"
        )
    said = str(error)
    if isinstance(error, KeyError):
        said = f"there is no field {error}"
    elif not isinstance(error, NumbaError):
        said = f"{type(error).__name__}: {error}"
    return (
        f"{where}: {' or '.join(inline_functions)} does not compile to native code; run it on the reference "
        f"engine to debug it. Numba says:\n{said}"
    )


@memoize
def _own_fingerprint() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("[!.]*.py")):
        if path.is_file():
            digest.update(path.read_bytes())
    digest.update(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    return digest.hexdigest()


def _constant(value: object) -> str:
    """Return what tells a value that a source reads, the same in every process."""
    function = getattr(value, "py_func", value)
    if isinstance(function, FunctionType):  # the engine's own: its code is in `_own_fingerprint`
        return f"{function.__module__}.{function.__qualname__}"
    return repr(value)


def _cached_source(
    functions: tuple[Callable[..., Any], ...], source: str, names: Mapping[str, object]
) -> Path | None:
    """Write the source where Numba can cache beside it; None when a function cannot be cached."""
    try:
        # With their places: a kernel's errors say where they were raised.
        stable = [fingerprint(function, places=True) for function in functions]
    except UnstableError:
        return None
    constants = repr(sorted((name, _constant(value)) for name, value in names.items()))
    key = hashlib.sha256("\0".join((_own_fingerprint(), *stable, source, constants)).encode())
    path = cache_folder() / "kernels" / f"{key.hexdigest()[:32]}.py"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(source, encoding="utf-8")
            temporary.replace(path)
    except OSError:  # a cache without room only costs compile time
        with suppress(OSError):
            temporary.unlink()
        return None
    return path
