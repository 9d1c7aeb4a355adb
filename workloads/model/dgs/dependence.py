"""The dependence graph on implementation tags, and how it falls apart when kinds are taken out."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.dgs.cross_key_events import Across
from streamlab.workloads.model.dgs.plan import ImplTag
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.stream import IntArray
from streamlab.workloads.model.streams.tag import Alphabet

MOST_TAGS = 512
"""Of an unkeyed program with several keys: more pairs of tags than its square are not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A set of implementation tags taken apart.

    Attributes:
        removed: the tags of the kinds that had to be taken out.
        parts: the connected components of what is left; one part when it cannot be split further.
    """

    removed: frozenset[ImplTag]
    parts: tuple[frozenset[ImplTag], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceGraph:
    """Implementation tags within one key; edges join dependent ones.

    A self-dependent kind that occurs in two streams is an edge between its two tags.

    Attributes:
        dependent: pairs of kinds that depend on each other, in both orders.
        rates: events of each tag.
    """

    dependent: frozenset[tuple[int, int]]
    rates: Mapping[ImplTag, int]

    @classmethod
    def of(cls, program: DGSProgram, rates: Mapping[ImplTag, int]) -> "DependenceGraph":
        """Return the graph of a program on the tags that have a rate (which may be 0)."""
        return cls(dependent=program.dependent_kinds(), rates=rates)

    def edge(self, a: ImplTag, b: ImplTag) -> bool:
        """Return whether events of the two tags must stay in order."""
        return (a.kind, b.kind) in self.dependent

    def components(self, tags: Iterable[ImplTag]) -> tuple[frozenset[ImplTag], ...]:
        """Return the connected components of the graph on `tags`, by their smallest tag."""
        by_kind: dict[int, list[ImplTag]] = {}
        for tag in tags:
            by_kind.setdefault(tag.kind, []).append(tag)
        left = set(by_kind)
        found: list[frozenset[ImplTag]] = []
        while left:
            kinds: set[int] = set()
            front = {min(left)}
            while front:
                kinds |= front
                left -= front
                front = {a for a in left if any((a, b) in self.dependent for b in front)}
            members = [tag for kind in kinds for tag in by_kind[kind]]
            # Two kinds that depend on each other connect all their tags, as does one on itself.
            if len(kinds) > 1 or all((kind, kind) in self.dependent for kind in kinds):
                found.append(frozenset(members))
            else:
                found += [frozenset({tag}) for tag in members]
        return tuple(sorted(found, key=min))

    def split(self, tags: Collection[ImplTag]) -> Split:
        """Take out the lowest-rate kinds, one by one, until the rest falls apart (Appendix B).

        Stops before the last kind: when nothing falls apart, `parts` is the tags of the last kind
        left.
        """
        rest = frozenset(tags)
        parts = self.components(rest)
        while len(parts) < 2:
            kinds = {tag.kind for tag in rest}
            if len(kinds) < 2:
                break
            victim = min(kinds, key=lambda kind: self._cost(kind, kinds, rest))
            rest = frozenset(tag for tag in rest if tag.kind != victim)
            parts = self.components(rest)
        return Split(removed=frozenset(tags) - rest, parts=parts)

    def split_by_tag(self, tags: Collection[ImplTag]) -> Split:
        """Take out the tags of the lowest rates, one by one, until the rest falls apart.

        As `split`, but a kind may stay with one stream and go with another (Appendix B).
        """
        rest = sorted(tags, key=lambda tag: (self.rates[tag], tag))
        for taken in range(len(rest)):
            parts = self.components(rest[taken:])
            if len(parts) > 1:
                return Split(removed=frozenset(rest[:taken]), parts=parts)
        return Split(removed=frozenset(), parts=(frozenset(tags),))

    def _cost(
        self, kind: int, kinds: Collection[int], tags: Collection[ImplTag]
    ) -> tuple[int, int, int]:
        rate = sum(self.rates[tag] for tag in tags if tag.kind == kind)
        degree = sum((kind, other) in self.dependent for other in kinds)
        return rate, -degree, kind

    def free(self, tags: Collection[ImplTag]) -> frozenset[ImplTag]:
        """Return the tags of leaves: those never taken out when splitting goes on to the end."""
        split = self.split(tags)
        if len(split.parts) < 2:
            return split.parts[0] if split.parts else frozenset()
        return frozenset().union(*(self.free(part) for part in split.parts))

    def ordering(self, tags: Collection[ImplTag]) -> frozenset[ImplTag]:
        """Return a low-rate set of tags that touches every dependent pair of different streams.

        Greedy: the lowest rate per pair touched comes first; what became superfluous goes again.
        """
        pairs = {
            (a, b) for a in tags for b in tags if a < b and a.stream != b.stream and self.edge(a, b)
        }
        cover: list[ImplTag] = []
        left = set(pairs)
        while left:
            touched = Counter(tag for pair in left for tag in pair)
            cheapest = min(touched, key=lambda tag: (self.rates[tag] / touched[tag], tag))
            cover.append(cheapest)
            left = {pair for pair in left if cheapest not in pair}
        for tag in sorted(cover, key=lambda tag: -self.rates[tag]):
            others = set(cover) - {tag}
            if all(others & set(pair) for pair in pairs if tag in pair):
                cover.remove(tag)
        return frozenset(cover)


def independent_parts(program: DGSProgram, alphabet: Alphabet) -> IntArray:
    """Return the number of each tag's part: events of different parts never depend on each other.

    By the consistency conditions (Definition 2.3 of the DGS paper) such events commute, with what
    they put out. So each part can be processed by itself, from a state of its own that is initial
    at first, and together they give the sequential answer.

    Returns:
        int64[tags], numbered from 0 by the smallest tag; the index is the tag as in a tag column.
    """
    kinds = len(program.kinds)
    if program.across:
        return _parts_across(program, alphabet)
    if program.keyed or alphabet.keys == 1:
        graph = DependenceGraph.of(program, {ImplTag(kind, 0): 0 for kind in range(kinds)})
        found = graph.components(graph.rates)
        of_kind = np.zeros(kinds, dtype=np.int64)
        for index, part in enumerate(found):
            of_kind[[tag.kind for tag in part]] = index
        keys = np.arange(alphabet.keys, dtype=np.int64)
        return (keys[:, None] * len(found) + of_kind).ravel()
    tags = kinds * alphabet.keys
    if tags > MOST_TAGS:
        return np.zeros(tags, dtype=np.int64)
    parts = np.arange(tags, dtype=np.int64)
    decoded = [alphabet.decode(tag) for tag in range(tags)]
    for first in range(tags):
        for second in range(first):
            if program.depends(decoded[first], decoded[second]):
                joined = sorted((parts[first], parts[second]))
                parts[parts == joined[1]] = joined[0]
    return np.unique(parts, return_inverse=True)[1].astype(np.int64)


def _parts_across(program: DGSProgram, alphabet: Alphabet) -> IntArray:
    """Return the parts of a keyed program with events across keys: keys that these connect."""
    keys = alphabet.keys
    of_key = connected_keys(program.across, keys)
    # A tag of a group that no key is in: of the first part, where it is refused.
    parts = np.zeros((keys, len(program.kinds)), dtype=np.int64)
    parts[:, sorted(program.key_kinds())] = of_key[:, None]
    for across in program.across:
        groups = across.groups(keys)
        within = groups < keys
        for kind in program.kind_indices(across.kinds):
            parts[groups[within], kind] = of_key[within]
    return parts.ravel()


def keys_together(program: DGSProgram, keys: int) -> IntArray:
    """Return which keys had better be with one worker, as events across keys concern them.

    Where such events connect all keys, workers must meet anyway, and groups that connect fewer are
    what counts.

    Returns:
        int64[keys], numbered from 0 by the smallest key.
    """
    return connected_keys([one for one in program.across if one.group is not None], keys)


def connected_keys(across: Sequence[Across], keys: int) -> IntArray:
    """Return the number of each key's part: keys that events across keys connect are in one.

    Returns:
        int64[keys], numbered from 0 by the smallest key.
    """
    part = np.arange(keys, dtype=np.int64)
    grouped = [np.unique(one.groups(keys), return_inverse=True)[1] for one in across]
    while True:
        # The least key of a group is the part of all its members, until nothing changes.
        before = part.copy()
        for group in grouped:
            least = np.full(int(group.max()) + 1, keys, dtype=np.int64)
            np.minimum.at(least, group, part)
            part = least[group]
        if np.array_equal(before, part):
            return np.unique(part, return_inverse=True)[1].astype(np.int64)
