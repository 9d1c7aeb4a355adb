"""The two data-trace types of links between operators: U(K, V) and O(K, V).

Source: Data-Trace Types, section 4. Both are of key-value pairs and of markers, which are linearly
ordered and separate *blocks* of pairs. The pairs of a block are in no order in U(K, V); in O(K, V)
those of one key are a sequence.
"""

from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.errors import ProgramError


@dataclass(frozen=True, slots=True)
class TraceType:
    """The type of a link; made by `U` and `O`.

    Attributes:
        ordered: whether the pairs of a key are in order between two markers.
        key: the name of the type of keys, which are int64; None: the unit type, all have one key.
        value: structured dtype of values; the first field is `ts` (int64), event time.

    Raises:
        ProgramError: the value's first field is not `ts`, another one is no number, or the name of
            the type of keys is not one, or a field's.
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
                    f"field {field} of a value is of type {self.value[field]}; wanted an integer, "
                    "a floating-point number or a boolean"
                )
        if self.key is None:
            return
        if self.key in names and self.key != "ts":
            raise ProgramError(f"the type of keys is named {self.key}, and so is a field of values")
        if not isinstance(self.key, str) or not self.key.isidentifier() or self.key == "ts":
            raise ProgramError(
                f"the name of the type of keys is {self.key!r}; it names a column: letters, digits "
                "and underscores, and not ts. None is the unit type"
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
        """What a pair is as one record: `ts`, the key unless it is the unit, the other fields."""
        key = [] if self.key is None else [(self.key, np.dtype(np.int64))]
        rest = [(name, self.value[name]) for name in self.fields[1:]]
        return np.dtype([("ts", np.dtype(np.int64)), *key, *rest])

    def same_pairs(self, other: "TraceType") -> bool:
        """Return whether both are of the same keys and values, in whatever order."""
        return self.key == other.key and self.value == other.value


def U(key: str | None, value: np.dtype[np.void]) -> TraceType:  # noqa: N802, the paper's name
    """Return the type of unordered pairs between markers."""
    return TraceType(False, key, value)


def O(key: str | None, value: np.dtype[np.void]) -> TraceType:  # noqa: E743, N802, the paper's name
    """Return the type of pairs that are in order for each key between markers."""
    return TraceType(True, key, value)


def of_events(fields: np.dtype[np.void]) -> TraceType:
    """Return the type of a source whose events have these fields, `ts` not among them."""
    rest = [(name, fields[name]) for name in fields.names or ()]
    return U(None, np.dtype([("ts", np.dtype(np.int64)), *rest]))
