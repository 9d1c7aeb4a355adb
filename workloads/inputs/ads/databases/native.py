"""C functions as compiled Python calls them, and what they point to."""

import ctypes
from collections.abc import Callable
from typing import Any

WORD = ctypes.c_ssize_t
WORD_BYTES = ctypes.sizeof(WORD)

ALIVE: list[object] = []
"""What C code points to: it lives as long as the process."""


def called(of: Any, name: str, arguments: int, gives: Any = ctypes.c_int) -> Any:
    """Return a C function as Numba calls it: of words, which pointers are too."""
    function = of[name]
    function.restype = gives
    function.argtypes = [WORD] * arguments
    return function


def system() -> Any:
    """Return the C library."""
    return ctypes.CDLL(None)


def kept(text: bytes) -> int:
    """Return the address of a text that stays where it is."""
    buffer = ctypes.create_string_buffer(text)
    ALIVE.append(buffer)
    return ctypes.addressof(buffer)


def compiled(function: Callable[..., Any], *, takes: int, gives: bool = True) -> Any:
    """Return a function of whole numbers as C has it, which lives as long as the process."""
    from numba import cfunc, types  # heavy

    made = cfunc((types.int64 if gives else types.void)(*[types.int64] * takes))(function)
    ALIVE.append(made)
    return made
