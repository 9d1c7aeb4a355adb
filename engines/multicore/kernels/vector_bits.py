"""How wide the vectors of compiled code are: rates of a join of all pairs hang on it."""

from typing import Any

_REGISTERS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
"""Of x86-64, widest first."""


def vector_bits(kernel: Any) -> int:
    """Return the width of the widest vector registers that a kernel uses, in bits.

    Read from its machine code, since the compiler chooses by processor, and does not always take
    the widest that there is. 0 where there are none, or on another architecture than x86-64.
    """
    text = kernel._library.get_asm_str()
    return next((bits for name, bits in _REGISTERS if name in text), 0)
