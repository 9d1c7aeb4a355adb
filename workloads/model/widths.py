"""Lets a program promise the width of its integers, so that compiled loops vectorize better."""

from typing import Any


def int32(value: Any) -> Any:
    """Return an integer that the program promises to lie in [-2^31, 2^31).

    Plain Python returns the number unchanged. Compiled code continues with 32 bits, so that a vector
    holds twice as many numbers; a number outside the range wraps.
    Otherwise compiled integer arithmetic uses 64 bits, whatever the field types.
    """
    return value
