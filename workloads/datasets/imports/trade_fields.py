"""Prices as trade files have them."""

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from workloads.datasets.imports.kind import BadRowError

_INT32_MAX = 2**31 - 1


def whole_price(text: str, scale: float, decimals: int) -> int:
    """Return a price as a number of units of its last decimal, rounded half up.

    Args:
        text: the price times `scale`.
        scale: above 0.
        decimals: that are kept.

    Raises:
        BadRowError: it is no number, not above 0, or does not fit 32 bits.
    """
    try:
        price = Decimal(text.strip()) / Decimal(repr(scale)) * 10**decimals
        whole = int(price.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError) as error:
        raise BadRowError(f"column price is {text!r}, not a price") from error
    if not 0 < whole <= _INT32_MAX:
        raise BadRowError(
            f"column price is {text!r}: {whole} in units of 10^-{decimals}; it must be above 0 "
            f"and at most {_INT32_MAX}"
        )
    return whole
