"""The dependence graph on implementation tags, and how it falls apart when kinds are taken out."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from workloads.model.plan import ImplTag
from workloads.model.program import DGSProgram


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
        left = set(tags)
        found = []
        while left:
            front = {min(left)}
            part: set[ImplTag] = set()
            while front:
                part |= front
                left -= front
                front = {tag for tag in left if any(self.edge(tag, other) for other in front)}
            found.append(frozenset(part))
        return tuple(found)

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
