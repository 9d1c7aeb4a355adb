"""Reads the vector width of compiled code, on which the rate of an all-pairs join depends."""

from typing import Any

_REGISTERS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
"""Vector registers of x86-64 and their widths in bits, widest first."""


_NOTED = "_lab_vector_bits"


def vector_bits(kernel: Any) -> int:
    """Return the width in bits of the widest vector registers that a kernel uses.

    Reads the machine code, since the compiler does not always use the widest registers of the processor.
    Returns 0 if the code uses none, and on architectures other than x86-64.
    A kernel from the cache has a width only if `compile_kernel` got `width`.
    """
    return vector_bits_of(kernel._library)


def vector_bits_of(library: Any) -> int:
    """Return `vector_bits` for Numba's code library of a kernel."""
    noted = getattr(library, _NOTED, None)
    if noted is not None:
        return int(noted)
    text = library.get_asm_str()
    return next((bits for name, bits in _REGISTERS if name in text), 0)


def note_vector_bits(library: Any, bits: int) -> None:
    """Store the width with a code library, since Numba does not show the code of a loaded one."""
    setattr(library, _NOTED, bits)
