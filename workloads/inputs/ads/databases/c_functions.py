"""Makes C functions callable from compiled Python, and keeps their data alive."""

import ctypes
from collections.abc import Callable
from typing import Any

WORD = ctypes.c_ssize_t
WORD_BYTES = ctypes.sizeof(WORD)

ALIVE: list[object] = []
"""Objects that C code points to; they live as long as the process."""


def c_function(library: Any, name: str, arguments: int, result: Any = ctypes.c_int) -> Any:
    """Return a C function that Numba can call; its arguments are words, also for pointers."""
    function = library[name]
    function.restype = result
    function.argtypes = [WORD] * arguments
    return function


def c_library() -> Any:
    """Return the C library."""
    return ctypes.CDLL(None)


def pin_bytes(text: bytes) -> int:
    """Copy a text to memory that is never freed, and return its address."""
    buffer = ctypes.create_string_buffer(text)
    ALIVE.append(buffer)
    return ctypes.addressof(buffer)


def compile_c_function(function: Callable[..., Any], *, takes: int, gives: bool = True) -> Any:
    """Compile a function of `takes` whole numbers to a C function that is never freed."""
    from numba import cfunc, types  # heavy

    native = cfunc((types.int64 if gives else types.void)(*[types.int64] * takes))(function)
    ALIVE.append(native)
    return native
