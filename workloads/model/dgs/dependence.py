"""Builds the dependence graph on implementation tags (a kind in one stream), and splits it by removing kinds."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.dgs.cross_key_events import Across
from streamlab.workloads.model.dgs.plan import ImplTag
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.streams.stream import IntArray
from streamlab.workloads.model.streams.tag import Alphabet

MAX_TAGS = 512
"""Largest number of tags of an unkeyed program with several keys for which all pairs are checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Holds a split of a set of implementation tags.

    Attributes:
        removed: The removed tags.
        parts: The connected components of the rest; a single part if the set cannot be split.
    """

    removed: frozenset[ImplTag]
    parts: tuple[frozenset[ImplTag], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenceGraph:
    """Holds the graph of implementation tags within one key; edges join dependent tags.

    A self-dependent kind in two streams has an edge between its two tags.

    Attributes:
        dependent: Pairs of kinds that depend on each other, in both orders.
        rates: Number of events of each tag.
    """

    dependent: frozenset[tuple[int, int]]
    rates: Mapping[ImplTag, int]

    @classmethod
    def from_rates(cls, program: DGSProgram, rates: Mapping[ImplTag, int]) -> "DependenceGraph":
        """Return the graph of a program on the tags in `rates`; rates may be 0."""
        return cls(dependent=program.dependent_kinds(), rates=rates)

    def edge(self, a: ImplTag, b: ImplTag) -> bool:
        """Return whether events of the two tags must stay in order."""
        return (a.kind, b.kind) in self.dependent

    def components(self, tags: Iterable[ImplTag]) -> tuple[frozenset[ImplTag], ...]:
        """Return the connected components of the graph on `tags`, ordered by their smallest tag."""
        by_kind: dict[int, list[ImplTag]] = {}
        for tag in tags:
            by_kind.setdefault(tag.kind, []).append(tag)
        left = set(by_kind)
        components: list[frozenset[ImplTag]] = []
        while left:
            kinds: set[int] = set()
            front = {min(left)}
            while front:
                kinds |= front
                left -= front
                front = {a for a in left if any((a, b) in self.dependent for b in front)}
            members = [tag for kind in kinds for tag in by_kind[kind]]
            # Dependent kinds connect all their tags; so does a self-dependent kind.
            if len(kinds) > 1 or all((kind, kind) in self.dependent for kind in kinds):
                components.append(frozenset(members))
            else:
                components += [frozenset({tag}) for tag in members]
        return tuple(sorted(components, key=min))

    def split(self, tags: Collection[ImplTag]) -> Split:
        """Remove the lowest-rate kinds, one by one, until the rest is disconnected (Appendix B).

        Stops before the last kind: if the rest stays connected, `parts` has the tags of that kind only.
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
        """Remove the lowest-rate tags, one by one, until the rest is disconnected.

        Unlike `split`, it may remove a kind in one stream and not in another (Appendix B).
        """
        rest = sorted(tags, key=lambda tag: (self.rates[tag], tag))
        for n in range(len(rest)):
            parts = self.components(rest[n:])
            if len(parts) > 1:
                return Split(removed=frozenset(rest[:n]), parts=parts)
        return Split(removed=frozenset(), parts=(frozenset(tags),))

    def _cost(
        self, kind: int, kinds: Collection[int], tags: Collection[ImplTag]
    ) -> tuple[int, int, int]:
        """Return the sort key for removing a kind: low rates first, then kinds with many dependences."""
        rate = sum(self.rates[tag] for tag in tags if tag.kind == kind)
        degree = sum((kind, other) in self.dependent for other in kinds)
        return rate, -degree, kind

    def leaf_tags(self, tags: Collection[ImplTag]) -> frozenset[ImplTag]:
        """Return the tags that remain when the graph is split completely; leaves own them."""
        split = self.split(tags)
        if len(split.parts) < 2:
            return split.parts[0] if split.parts else frozenset()
        return frozenset().union(*(self.leaf_tags(part) for part in split.parts))

    def ordering(self, tags: Collection[ImplTag]) -> frozenset[ImplTag]:
        """Return a low-rate set of tags that covers every dependent pair of different streams.

        Greedy: adds the tag with the lowest rate per covered pair first, then drops superfluous tags.
        """
        pairs = {
            (a, b) for a in tags for b in tags if a < b and a.stream != b.stream and self.edge(a, b)
        }
        cover: list[ImplTag] = []
        left = set(pairs)
        while left:
            pair_counts = Counter(tag for pair in left for tag in pair)
            cheapest = min(pair_counts, key=lambda tag: (self.rates[tag] / pair_counts[tag], tag))
            cover.append(cheapest)
            left = {pair for pair in left if cheapest not in pair}
        for tag in sorted(cover, key=lambda tag: -self.rates[tag]):
            others = set(cover) - {tag}
            if all(others & set(pair) for pair in pairs if tag in pair):
                cover.remove(tag)
        return frozenset(cover)


def independent_parts(program: DGSProgram, alphabet: Alphabet) -> IntArray:
    """Return the part of each tag: events of different parts never depend on each other.

    By the consistency conditions (DGS paper, Definition 2.3) such events and their outputs commute. So
    each part can be processed separately, from its own initial state, and together the parts give the
    sequential answer. The result is int64[tags], indexed like a tag column; parts are numbered from 0 by
    their smallest tag.
    """
    kinds = len(program.kinds)
    if program.across:
        return _parts_across(program, alphabet)
    if program.keyed or alphabet.keys == 1:
        graph = DependenceGraph.from_rates(program, {ImplTag(kind, 0): 0 for kind in range(kinds)})
        components = graph.components(graph.rates)
        part_of_kind = np.zeros(kinds, dtype=np.int64)
        for index, part in enumerate(components):
            part_of_kind[[tag.kind for tag in part]] = index
        keys = np.arange(alphabet.keys, dtype=np.int64)
        return (keys[:, None] * len(components) + part_of_kind).ravel()
    tags = kinds * alphabet.keys
    if tags > MAX_TAGS:
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
    """Return the parts of a keyed program with events across keys, which connect keys."""
    keys = alphabet.keys
    part_of_key = connected_keys(program.across, keys)
    # Tags of a group without keys belong to the first part, which rejects their events.
    parts = np.zeros((keys, len(program.kinds)), dtype=np.int64)
    parts[:, sorted(program.key_kinds())] = part_of_key[:, None]
    for across in program.across:
        groups = across.groups(keys)
        valid = groups < keys
        for kind in program.kind_indices(across.kinds):
            parts[groups[valid], kind] = part_of_key[valid]
    return parts.ravel()


def keys_together(program: DGSProgram, keys: int) -> IntArray:
    """Return the part of each key; the keys of a part are best placed on one worker, see `connected_keys`.

    Events that concern every key are ignored, because all workers synchronize for them in any case.
    """
    return connected_keys([across for across in program.across if across.group is not None], keys)


def connected_keys(across: Sequence[Across], keys: int) -> IntArray:
    """Return the part of each key, numbered by the smallest key; events across keys connect the keys of a part."""
    part = np.arange(keys, dtype=np.int64)
    grouped = [np.unique(event.groups(keys), return_inverse=True)[1] for event in across]
    while True:
        # Give the members of a group the lowest part of the group, until nothing changes.
        before = part.copy()
        for group in grouped:
            lowest_part = np.full(int(group.max()) + 1, keys, dtype=np.int64)
            np.minimum.at(lowest_part, group, part)
            part = lowest_part[group]
        if np.array_equal(before, part):
            return np.unique(part, return_inverse=True)[1].astype(np.int64)
