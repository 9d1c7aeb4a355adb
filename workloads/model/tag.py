"""Tags: the finite alphabet on which dependence is defined.

A tag is a *kind* (what the event is: a page view, a barrier) and a *key* (whose: the page). On disk
and in memory it is one int32, `kind + n_kinds * key`, so that both parts are one division away.
Programs without keys use key 0 only.
"""

from dataclasses import dataclass
from typing import NamedTuple

from workloads.model.errors import ModelError


class Tag(NamedTuple):
    """One member of the alphabet: `kind` indexes the program's kinds, `key` counts from 0."""

    kind: int
    key: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alphabet:
    """All tags of one input: every kind with every key in `range(keys)`.

    Raises:
        ModelError: no kinds, no keys, or more tags than an int32 holds.
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
        """Return the tag that the integer in the `tag` column stands for."""
        return Tag(code % len(self.kinds), code // len(self.kinds))
