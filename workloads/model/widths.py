"""Promises on the width of numbers, for functions that compiled code runs as vectors."""

from typing import Any


def int32(value: Any) -> Any:
    """Return a whole number that is promised to lie in [-2^31, 2^31).

    In plain Python this is the number itself. Compiled code goes on with 32 bits, so that a vector
    holds twice as many; a number beyond them would wrap. Without it compiled arithmetic on integers
    has 64 bits, whatever the fields have.
    """
    return value
