"""Declares the type of `--events`."""

from decimal import Decimal, DecimalException
from typing import Any

import click

MOST_EVENTS = 2**63 - 1
"""The largest whole number that results can store."""


class EventCount(click.types.IntParamType):
    """A whole number of at least 1, also written `1_000_000` or `1e6`."""

    def __init__(self, most: int = MOST_EVENTS) -> None:
        """Accept numbers up to `most`."""
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or raise `BadParameter`."""
        try:
            number = Decimal(value)
            # In this order: the integer of 1e999999999 would fill the memory.
            if 1 <= number <= self._most and number == int(number):
                return int(number)
        except DecimalException:  # not a number
            pass
        return self.fail(
            f"{value!r} is not a whole number from 1 to {self._most:,}, such as 20000 or 1e6",
            param,
            ctx,
        )
