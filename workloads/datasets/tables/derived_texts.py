"""Calls a user's function once for each distinct text of a column."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from streamlab.workloads.datasets.tables.cells import convert_exactly, shorten
from streamlab.workloads.model.errors import place_of

MAX_STORED = 1 << 20
"""Maximum number of texts whose results are stored, which bounds memory."""


class DerivedTexts:
    """Computes the values of a field from texts with a user's function, and stores results.

    Args:
        function: called with a text; returns a number, a boolean or a text.
        dtype: the type of the field.
        returns_text: whether the function must return texts, because the field numbers texts.
    """

    def __init__(
        self, function: Callable[[str], Any], dtype: np.dtype[Any], returns_text: bool
    ) -> None:
        self._function, self._dtype, self._returns_text = function, dtype, returns_text
        self._results: dict[str, tuple[Any, str]] = {}

    def derive(self, texts: Sequence[str]) -> tuple[list[Any], dict[int, str]]:
        """Return the result for each text, and by index the reason for each failure.

        The result for an empty text is 0 or an empty text, without a call of the function.
        """
        if len(self._results) > MAX_STORED:
            self._results.clear()
        values, bad = [], {}
        for index, text in enumerate(texts):
            if text not in self._results:
                self._results[text] = self._call(text)
            value, reason = self._results[text]
            values.append(value)
            if reason:
                bad[index] = reason
        return values, bad

    def _call(self, text: str) -> tuple[Any, str]:
        """Return the function's result and "", or an empty value and the reason for the failure."""
        nothing: Any = "" if self._returns_text else self._dtype.type(0)
        if text == "":
            return nothing, ""
        try:
            value = self._function(text)
        except Exception as error:  # the function is the user's
            return nothing, (
                f"cannot be derived from {shorten(text)}: {type(error).__name__}: {error}, in "
                f"{place_of(error)}"
            )
        if self._returns_text:
            if isinstance(value, str):
                return value.strip(), ""
            return nothing, f"derived from {shorten(text)} is {value!r:.60}, which is not a text"
        try:
            if isinstance(value, str):
                raise ValueError(f"is not a valid {self._dtype}")
            return convert_exactly(value, self._dtype), ""
        except (TypeError, ValueError, ArithmeticError) as error:
            return nothing, f"derived from {shorten(text)} is {value!r:.60}, which {error}"
