"""Defines the two data-trace types of links between operators: U(K, V) and O(K, V).

Source: Data-Trace Types, section 4. Both carry key-value pairs and markers; markers are in order and
separate *blocks* of pairs. In U(K, V) the pairs of a block have no order; in O(K, V) the pairs of each
key are a sequence.
"""

from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.errors import ProgramError


@dataclass(frozen=True, slots=True)
class TraceType:
    """Describes the type of a link; made by `U` and `O`.

    Attributes:
        ordered: Whether the pairs of a key are in order between two markers.
        key: Name of the key type; keys are int64. None is the unit type, with a single key.
        value: Structured dtype of values; the first field is `ts` (int64), event time.

    Raises:
        ProgramError: The value's first field is not `ts`, or another field is not a number. Or the name of
            the key type is not an identifier, or is also the name of a field.
    """

    ordered: bool
    key: str | None
    value: np.dtype[np.void]

    def __post_init__(self) -> None:
        names = self.value.names or ()
        if not names or names[0] != "ts" or self.value["ts"] != np.int64:
            raise ProgramError(
                f"the first field of a value must be ts, of type int64; got {self.value}"
            )
        for field in names:
            if self.value[field].kind not in "biuf":
                raise ProgramError(
                    f"field {field} of a value is of type {self.value[field]}; expected an integer, "
                    "a floating-point number or a boolean"
                )
        if self.key is None:
            return
        if self.key in names and self.key != "ts":
            raise ProgramError(
                f"the key type and a field of values are both named {self.key}; rename one of them"
            )
        if not isinstance(self.key, str) or not self.key.isidentifier() or self.key == "ts":
            raise ProgramError(
                f"the name of the key type is {self.key!r}; it names a column: use letters, digits "
                "and underscores, and not ts; None is the unit type"
            )

    def __str__(self) -> str:
        fields = " ".join(self.value.names or ())
        return f"{'O' if self.ordered else 'U'}({self.key or 'unit'}, {fields})"

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields of values, `ts` first."""
        return self.value.names or ()

    @property
    def row(self) -> np.dtype[np.void]:
        """Structured dtype of a pair as one record: `ts`, the key unless it is the unit, other fields."""
        key = [] if self.key is None else [(self.key, np.dtype(np.int64))]
        rest = [(name, self.value[name]) for name in self.fields[1:]]
        return np.dtype([("ts", np.dtype(np.int64)), *key, *rest])

    def same_pairs(self, other: "TraceType") -> bool:
        """Return whether both have the same keys and values, ordered or not."""
        return self.key == other.key and self.value == other.value


def U(key: str | None, value: np.dtype[np.void]) -> TraceType:  # noqa: N802, the paper's name
    """Return the type of unordered pairs between markers."""
    return TraceType(False, key, value)


def O(key: str | None, value: np.dtype[np.void]) -> TraceType:  # noqa: E743, N802, the paper's name
    """Return the type of pairs that are ordered for each key between markers."""
    return TraceType(True, key, value)


def of_events(fields: np.dtype[np.void]) -> TraceType:
    """Return the type of a source whose events have these fields, besides `ts`."""
    rest = [(name, fields[name]) for name in fields.names or ()]
    return U(None, np.dtype([("ts", np.dtype(np.int64)), *rest]))
