"""Reads a TOML table strictly; errors name the file, table, key, value and expected value."""

import math
import re
import reprlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamlab.lab.errors import MatrixError
from streamlab.workloads.datasets.catalog import LARGEST_SEED
from streamlab.workloads.model.workload import LARGEST_WHOLE

LONGEST_LABEL_BYTES = 64
"""Longest label, as UTF-8; a cell's id has up to three labels and must fit a table."""

LONGEST_S = 10_000_000.0
"""Longest waiting time, 115 days; system calls reject a time such as 1e300 s."""

_LABEL = re.compile(r"[A-Za-z0-9][\w.-]*")


class TomlTable:
    """A table whose keys are taken one by one; `done` raises an error for keys that were not taken."""

    def __init__(self, file: str, name: str, content: object) -> None:
        self.file = file
        self.name = name
        if not isinstance(content, Mapping):
            raise MatrixError(f"{file}: {name} must be a table, got {format_value(content)}")
        self._rest: dict[str, object] = dict(content)
        self._keys: list[str] = []

    def take(self, key: str, expected: str, check: Callable[[Any], bool], default: Any) -> Any:
        """Remove and return a value, or return `default` if the key is absent.

        `check` returns whether a value is valid, and `expected` describes valid values. With the default
        `REQUIRED` the key must exist.

        Raises:
            MatrixError: the value is not valid, or a required key is absent.
        """
        self._keys.append(key)
        if key not in self._rest:
            if default is REQUIRED:
                raise self.error(key, "is missing", expected)
            return default
        value = self._rest.pop(key)
        if not check(value):
            raise self.error(key, f"is {format_value(value)}", expected)
        return value

    def text(self, key: str, default: Any = None) -> Any:
        """Take a non-empty text."""
        return self.take(key, "a text", lambda v: isinstance(v, str) and v != "", default)

    def label(self, key: str, default: str | None = None) -> Any:
        """Take a text for a cell's id and a file name."""
        expected = (
            "letters, digits, '-', '_' and '.', beginning with a letter or digit, "
            f"{LONGEST_LABEL_BYTES} bytes at most"
        )
        return self.take(key, expected, is_label, default)

    def integer(
        self, key: str, default: Any = None, *, minimum: int = 1, maximum: int = LARGEST_WHOLE
    ) -> Any:
        """Take a whole number."""
        limit = ", below 2^63" if maximum == LARGEST_WHOLE else f" and at most {maximum}"
        expected = f"a whole number of at least {minimum}{limit}"
        return self.take(
            key, expected, lambda v: _is_integer(v) and minimum <= v <= maximum, default
        )

    def seed(self, default: int) -> Any:
        """Take `seed`: a whole number that fits the results."""
        expected = f"a whole number from 0 to {LARGEST_SEED}"
        return self.take(
            "seed", expected, lambda v: _is_integer(v) and 0 <= v <= LARGEST_SEED, default
        )

    def number(
        self,
        key: str,
        default: Any = None,
        *,
        least: float | None = None,
        maximum: float = math.inf,
    ) -> Any:
        """Take a finite number of at least `least` (None: above 0) and at most `maximum`."""
        expected = f"a finite number {'above 0' if least is None else f'of at least {least:g}'}"
        if math.isfinite(maximum):
            expected += f" and at most {maximum:g}"

        def check(value: Any) -> bool:
            if not is_finite(value):
                return False
            is_large_enough = value > 0 if least is None else value >= least
            return bool(is_large_enough and value <= maximum)

        return self.take(key, expected, check, default)

    def choice(self, key: str, choices: Sequence[str], default: Any = None) -> Any:
        """Take one of several texts."""
        return self.take(key, f"one of {', '.join(choices)}", lambda v: v in choices, default)

    def integers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Take different whole numbers of at least 1; accepts a single number as well."""
        expected = "a list of different whole numbers of at least 1, below 2^63"

        def check(value: Any) -> bool:
            values = [value] if _is_integer(value) else value
            return _is_distinct_list(values, lambda v: _is_integer(v) and 1 <= v <= LARGEST_WHOLE)

        value = self.take(key, expected, check, default)
        return (value,) if _is_integer(value) else tuple(value)

    def integers_or(self, key: str, word: str, default: tuple[int, ...]) -> tuple[int, ...] | str:
        """Take whole numbers as `integers` does, or this word."""
        if self._rest.get(key) == word:
            return str(self.take(key, word, lambda value: value == word, word))
        return self.integers(key, default)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Take a list of different texts; None if the key is absent."""
        value = self.take(key, "a list of different texts", _are_texts, None)
        return None if value is None else tuple(value)

    def table(self, key: str) -> dict[str, object]:
        """Take a table with any content; empty if the key is absent."""
        value = self.take(key, "a table, e.g. { streams = 2 }", lambda v: isinstance(v, dict), {})
        return dict(value)

    def free_table(self, key: str) -> dict[str, object]:
        """Take a table with any keys, whose numbers fit the results."""
        value = self.table(key)
        for place, number in _numbers(value, key):
            if not is_finite(number):
                raise self.error(place, f"is {format_value(number)}", "a finite number")
            if isinstance(number, int) and abs(number) > LARGEST_WHOLE:
                raise self.error(place, f"is {format_value(number)}", "a whole number below 2^63")
        return value

    def done(self) -> None:
        """Check that all keys were taken."""
        for key, value in self._rest.items():
            raise self.error(
                key, f"(= {format_value(value)}) is unknown", f"one of {', '.join(self._keys)}"
            )

    def error(self, key: str, problem: str, expected: str) -> MatrixError:
        """Return the error for a key of this table."""
        return MatrixError(f"{self.file}: {self.name}, key {key} {problem}; expected {expected}")


REQUIRED: Any = object()
"""Default that marks a required key."""


def read_text(path: Path, what: str) -> str:
    """Return the text of a user's file; `what` names it in errors, e.g. `the matrix`."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise MatrixError(f"{path}: cannot read {what}: {reason}") from error
    except UnicodeDecodeError as error:
        raise MatrixError(f"{path}: cannot read {what}: it is not UTF-8 text: {error}") from error


def parse_toml(text: str, source: str) -> dict[str, object]:
    """Return the content of a TOML text; `source` names it in messages."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also for numbers of more than 4,300 digits
        raise MatrixError(f"{source}: not valid TOML: {error}") from error
    except RecursionError:
        raise MatrixError(f"{source}: not valid TOML: nested too deeply") from None


def write_toml(tables: Mapping[str, object]) -> str:
    """Return tables as TOML, without their None values."""
    import tomli_w  # running a matrix file does not need it (benchmarks/scaling.py)

    return tomli_w.dumps(_without_none(tables))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


def format_value(value: object) -> str:
    """Return a value as text for messages, shortened if long."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 80


def is_label(value: object) -> bool:
    """Return whether a value is a valid label (`TomlTable.label`)."""
    return (
        isinstance(value, str)
        and _LABEL.fullmatch(value) is not None
        and len(value.encode(errors="replace")) <= LONGEST_LABEL_BYTES
    )


def is_finite(value: object) -> bool:
    """Return whether a TOML value is a number that fits a float, without inf and nan."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number above the largest float
        return False


def _numbers(value: object, place: str) -> Iterator[tuple[str, int | float]]:
    """Yield all numbers in a value, with their keys."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(item, f"{place}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, place)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_distinct_list(value: object, check: Callable[[Any], bool]) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(map(check, value))
        and len(set(value)) == len(value)
    )


def _are_texts(value: object) -> bool:
    return _is_distinct_list(value, lambda item: isinstance(item, str) and item != "")
