"""Reads one TOML table strictly: every error names file, table, key, value and expectation."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.errors import MatrixError
from workloads.datasets.catalog import LARGEST_SEED


class TomlTable:
    """A table whose keys are taken one by one; what is left over at the end is an error."""

    def __init__(self, file: str, name: str, content: object) -> None:
        self.file = file
        self.name = name
        if not isinstance(content, Mapping):
            raise MatrixError(f"{file}: {name} must be a table, got {content!r}")
        self._left: dict[str, Any] = dict(content)
        self._known: list[str] = []

    def take(self, key: str, expected: str, check: Callable[[Any], bool], default: Any) -> Any:
        """Remove and return a value, or `default` when the key is absent.

        Args:
            key: the key.
            expected: what a good value is, in words for the error.
            check: whether a value is good.
            default: returned unchecked; `REQUIRED` when the key must be there.

        Raises:
            MatrixError: the value is not good, or a required key is absent.
        """
        self._known.append(key)
        if key not in self._left:
            if default is REQUIRED:
                raise self.error(key, "is missing", expected)
            return default
        value = self._left.pop(key)
        if not check(value):
            raise self.error(key, f"is {value!r}", expected)
        return value

    def text(self, key: str, default: Any = None) -> Any:
        """Take a text that is not empty."""
        return self.take(key, "a text", lambda v: isinstance(v, str) and v != "", default)

    def whole(self, key: str, default: Any = None, *, minimum: int = 1) -> Any:
        """Take a whole number."""
        expected = f"a whole number of at least {minimum}"
        return self.take(key, expected, lambda v: _is_whole(v) and v >= minimum, default)

    def seed(self, key: str, default: int) -> Any:
        """Take a seed: a whole number that the results can hold."""
        expected = f"a whole number from 0 to {LARGEST_SEED}"
        return self.take(key, expected, lambda v: _is_whole(v) and 0 <= v <= LARGEST_SEED, default)

    def positive(self, key: str, default: Any = None) -> Any:
        """Take a finite number above zero."""
        return self.take(key, "a finite number above 0", lambda v: is_finite(v) and v > 0, default)

    def number(self, key: str, default: Any = None) -> Any:
        """Take a finite number that is not negative."""
        return self.take(
            key, "a finite number of at least 0", lambda v: is_finite(v) and v >= 0, default
        )

    def choice(self, key: str, among: Sequence[str], default: Any = None) -> Any:
        """Take one of several texts."""
        return self.take(key, f"one of {', '.join(among)}", lambda v: v in among, default)

    def wholes(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Take different whole numbers of at least 1; one number stands for a list of one."""
        value = self.take(key, "a list of different whole numbers of at least 1", _wholes, default)
        return (value,) if _is_whole(value) else tuple(value)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Take a list of different texts, None when the key is absent."""
        value = self.take(key, "a list of different texts", _texts, None)
        return None if value is None else tuple(value)

    def table(self, key: str) -> dict[str, Any]:
        """Take a table of any content, empty when the key is absent."""
        value = self.take(key, "a table, e.g. { streams = 2 }", lambda v: isinstance(v, dict), {})
        return dict(value)

    def done(self) -> None:
        """Refuse keys that nobody took.

        Raises:
            MatrixError: there are such keys.
        """
        for key, value in self._left.items():
            raise self.error(key, f"(= {value!r}) is unknown", f"one of {', '.join(self._known)}")

    def error(self, key: str, seen: str, expected: str) -> MatrixError:
        """Return the error for one key of this table."""
        return MatrixError(f"{self.file}: {self.name}, key {key} {seen}; expected {expected}")


REQUIRED: Any = object()
"""Default of keys that must be there."""


def is_finite(value: object) -> bool:
    """Return whether a TOML value is a number that a float can hold: no inf, no nan."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number above the largest float
        return False


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wholes(value: object) -> bool:
    if _is_whole(value):
        value = [value]
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(_is_whole(item) and item >= 1 for item in value)
        and len(set(value)) == len(value)
    )


def _texts(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(item, str) and item for item in value)
        and len(set(value)) == len(value)
    )
