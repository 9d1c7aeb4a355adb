"""Calls a user's function once for each distinct text of a column."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from streamlab.workloads.datasets.tables.cells import exact_value, shown
from streamlab.workloads.model.errors import place_of

MOST_STORED = 1 << 20
"""The most texts whose results are stored."""

_MISSING = ""


class DerivedTexts:
    """The results of a function of texts, as values of a field.

    Args:
        function: called with a text; returns a number, a boolean or a text.
        dtype: of the field.
        text: whether the field numbers texts, so that the function must return them.
    """

    def __init__(self, function: Callable[[str], Any], dtype: np.dtype[Any], text: bool) -> None:
        self._function, self._dtype, self._text = function, dtype, text
        self._results: dict[str, tuple[Any, str]] = {}

    def of(self, texts: Sequence[str]) -> tuple[list[Any], dict[int, str]]:
        """Return the result for each text, and why some have none, by index.

        The function is not called for missing texts, whose result is 0 or a missing text.
        """
        if len(self._results) > MOST_STORED:
            self._results.clear()
        values, bad = [], {}
        for index, text in enumerate(texts):
            if text not in self._results:
                self._results[text] = self._call(text)
            value, why = self._results[text]
            values.append(value)
            if why:
                bad[index] = why
        return values, bad

    def _call(self, text: str) -> tuple[Any, str]:
        nothing: Any = "" if self._text else self._dtype.type(0)
        if text == _MISSING:
            return nothing, ""
        try:
            value = self._function(text)
        except Exception as error:  # the function is the user's
            return nothing, (
                f"cannot be derived from {shown(text)}: {type(error).__name__}: {error}, in "
                f"{place_of(error)}"
            )
        if self._text:
            if isinstance(value, str):
                return value.strip(), ""
            return nothing, f"derived from {shown(text)} is {value!r:.60}, which is not a text"
        try:
            if isinstance(value, str):
                raise ValueError(f"is not a valid {self._dtype}")
            return exact_value(value, self._dtype), ""
        except (TypeError, ValueError, ArithmeticError) as error:
            return nothing, f"derived from {shown(text)} is {value!r:.60}, which {error}"
