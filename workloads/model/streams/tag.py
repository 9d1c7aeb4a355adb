"""Defines tags: the finite alphabet on which dependence is defined.

A tag is a *kind* (such as a page view or a barrier) and a *key* (such as the page). On disk and in
memory it is one int32, `kind + n_kinds * key`, so one division gives both parts. Programs without keys
use key 0 only.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamlab.workloads.model.errors import ModelError

_CHUNK = 1 << 20
"""Tags checked per step, so that temporary arrays stay in the CPU caches."""


class Tag(NamedTuple):
    """Identifies a member of the alphabet: `kind` indexes the program's kinds, `key` counts from 0."""

    kind: int
    key: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alphabet:
    """Describes all tags of one input: every kind with every key in `range(keys)`.

    Raises:
        ModelError: No kinds, no keys, or more tags than an int32 holds.
    """

    kinds: tuple[str, ...]
    keys: int = 1

    def __post_init__(self) -> None:
        if not self.kinds or self.keys < 1:
            raise ModelError(f"an alphabet needs at least one kind and one key, got {self}")
        if len(self.kinds) * self.keys > 2**31 - 1:
            raise ModelError(f"{len(self.kinds)} kinds x {self.keys} keys do not fit an int32 tag")

    def encode(self, tag: Tag) -> int:
        """Return the tag as the integer stored in the `tag` column."""
        return tag.kind + len(self.kinds) * tag.key

    def decode(self, code: int) -> Tag:
        """Return the tag for an integer of the `tag` column."""
        return Tag(code % len(self.kinds), code // len(self.kinds))

    def wrong_tag(
        self, tags: npt.NDArray[np.int32], kinds: Collection[int], *, first_row: int = 0
    ) -> str | None:
        """Return an error text for the first tag that is invalid for a stream, or None.

        Call it before any use of tags, because readers index tables by tag without a check. `kinds` are
        the kinds that may occur in the stream. `first_row` is the row number of the first of `tags`.
        """
        n, lowest = len(self.kinds), 0
        highest = n * self.keys - 1
        allowed = np.isin(np.arange(n), list(kinds))
        for begin in range(0, len(tags), _CHUNK):
            chunk = tags[begin : begin + _CHUNK]
            wrong = np.empty(0, dtype=np.bool_)
            if chunk.min() < lowest or chunk.max() > highest:
                wrong = (chunk < lowest) | (chunk > highest)
            elif not allowed.all():
                wrong = ~allowed[chunk % n]
            if wrong.any():
                position = int(np.argmax(wrong))
                reason = self._describe_wrong_tag(int(chunk[position]), kinds)
                return f"row {first_row + begin + position} has tag {reason}"
        return None

    def _describe_wrong_tag(self, code: int, kinds: Collection[int]) -> str:
        """Return a tag in words, with the reason why it is invalid."""
        n, highest = len(self.kinds), len(self.kinds) * self.keys - 1
        rule = f"a tag is the number of its kind ({', '.join(self.kinds)}) + {n} x its key"
        if not 0 <= code <= highest:
            return f"{code}, but with {self.keys} keys tags are 0 to {highest}; {rule}"
        kind, key = self.decode(code)
        expected_kinds = ", ".join(self.kinds[index] for index in kinds)
        return (
            f"{code}, which is kind {self.kinds[kind]} of key {key}, but the stream carries only "
            f"{expected_kinds}; {rule}"
        )
