"""What a gate says: one line a cell and metric, and one of three headlines over all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from streamlab.results.fit import encodable
from streamlab.results.stats.intervals import Interval


class Word(StrEnum):
    """The verdict on a line; the first two fail a gate."""

    BROKEN = "broken"
    REGRESSION = "regression"
    ACCEPTED = "accepted"
    UNCONFIRMED = "not confirmed"
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    UNSTABLE = "unstable"
    TOO_FEW = "too few"
    NOT_GATED = "not gated"
    FIXED = "fixed"
    ADDED = "added"
    UNSUPPORTED = "unsupported"
    NO_NUMBER = "no number"


WORDS = {
    Word.BROKEN: "verified in the old arm; in the new one a fault, or verified in no trial",
    Word.REGRESSION: "worse, confirmed by the second stage where there is one",
    Word.ACCEPTED: "worse, but listed as accepted up to this ratio",
    Word.UNCONFIRMED: "worse in the first stage; the second excludes a change of 5 %",
    Word.UNCHANGED: "no change that test and floor would call; one of 5 % is excluded",
    Word.IMPROVED: "better in the first stage",
    Word.UNSTABLE: "not called, but its noise hides whether it changed by 5 %",
    Word.TOO_FEW: "so few processes that no test could call it",
    Word.NOT_GATED: "does not repeat here, as its note says; no doubt unless --metric names it",
    Word.FIXED: "not verified in the old arm, verified in the new one",
    Word.ADDED: "the old arm has none of it, so that there is nothing to compare",
    Word.UNSUPPORTED: "neither arm says that it can run this",
    Word.NO_NUMBER: "nothing to compare; the note says why",
}

_FAILING = frozenset({Word.BROKEN, Word.REGRESSION})
_DOUBTFUL = frozenset({Word.UNSTABLE, Word.TOO_FEW, Word.NO_NUMBER})
_NOT_COMPARED = frozenset({Word.ADDED, Word.UNSUPPORTED, Word.NOT_GATED})


class Headline(StrEnum):
    """What a gate says in one word."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One cell and metric.

    Attributes:
        cell: id of a cell, or name of a benchmark.
        metric: as typed; empty for correctness.
        word: the verdict.
        advisory: shown, never failing.
        n: values per arm in the last stage.
        paired: whether they are compared in pairs.
        ratio: cost of new over old in the last stage; above 1 is worse.
        interval: of that ratio; None without a test.
        first_ratio: in the first stage, where there were two.
        p: adjusted one-sided p-value for worse, in the last stage.
        floor: effects up to this share were not called.
        noise: 95th percentile of A/A differences, as a share.
        note: what else there is to say.
    """

    cell: str
    metric: str
    word: Word
    advisory: bool = False
    n: int | None = None
    paired: bool = False
    ratio: float | None = None
    interval: Interval | None = None
    first_ratio: float | None = None
    p: float | None = None
    floor: float | None = None
    noise: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """Cell and metric."""
        return f"{self.cell} {self.metric}".rstrip()

    @property
    def fails(self) -> bool:
        """Whether this line fails the gate. A wrong answer does so even where time is advisory."""
        return self.word is Word.BROKEN or (self.word in _FAILING and not self.advisory)

    @property
    def doubtful(self) -> bool:
        """Whether this line was to be gated, and cannot tell whether something got worse."""
        return self.word in _DOUBTFUL and not self.advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The whole outcome of a gate.

    Attributes:
        old: what is compared against, in words.
        new: what is compared, in words.
        rule: the numbers of the decision, in words.
        lines: in the order of the cells.
        notes: said below the table.
    """

    old: str
    new: str
    rule: str
    lines: Sequence[Line]
    notes: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        """Whether any line fails."""
        return any(line.fails for line in self.lines)

    @property
    def headline(self) -> Headline:
        """What the lines come to: a failure counts more than a doubt, a doubt more than the rest.

        A gate that compared nothing at all has nothing to tell either.
        """
        if self.failed:
            return Headline.FAILED
        compared = [line for line in self.lines if line.word not in _NOT_COMPARED]
        if not compared or any(line.doubtful for line in compared):
            return Headline.INCONCLUSIVE
        return Headline.PASSED

    @property
    def tests(self) -> int:
        """How many comparisons of numbers were gated, whatever they came to."""
        return sum(
            bool(line.metric)
            and line.n is not None
            and not line.advisory
            and line.word is not Word.NOT_GATED
            for line in self.lines
        )


def legible(report: GateReport) -> GateReport:
    """Return a report that every format can hold: paths and names may hold bytes, not text."""
    lines = [
        replace(line, cell=encodable(line.cell), note=encodable(line.note)) for line in report.lines
    ]
    return replace(
        report,
        old=encodable(report.old),
        new=encodable(report.new),
        lines=lines,
        notes=tuple(map(encodable, report.notes)),
    )
