"""How wide the vectors of compiled code are: rates of a join of all pairs hang on it."""

from typing import Any

_REGISTERS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
"""Of x86-64, widest first."""


_NOTED = "_lab_vector_bits"


def vector_bits(kernel: Any) -> int:
    """Return the width of the widest vector registers that a kernel uses, in bits.

    Read from its machine code, since the compiler chooses by processor, and does not always take
    the widest that there is. 0 where there are none, or on another architecture than x86-64. Of a
    kernel from the cache it is known where that was compiled with `width` (`compile_kernel`).
    """
    return vector_bits_of(kernel._library)


def vector_bits_of(library: Any) -> int:
    """Return the same of a kernel's code, as Numba keeps it."""
    noted = getattr(library, _NOTED, None)
    if noted is not None:
        return int(noted)
    text = library.get_asm_str()
    return next((bits for name, bits in _REGISTERS if name in text), 0)


def note_vector_bits(library: Any, bits: int) -> None:
    """Note the width with code that was loaded, which Numba shows no more."""
    setattr(library, _NOTED, bits)
