"""Defines a gate's report: one line per cell and metric, and a headline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from streamlab.results.row_conversion import escape_text
from streamlab.results.stats.intervals import Interval


class Verdict(StrEnum):
    """The verdict on a line, with its meaning; `BROKEN` and `REGRESSION` fail a gate."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> "Verdict":
        """Return a verdict with its meaning."""
        word = str.__new__(cls, value)
        word._value_, word.meaning = value, meaning
        return word

    BROKEN = "broken", "verified in the old arm; in the new arm a fault, or no verified trial"
    REGRESSION = "regression", "worse, and confirmed by the second stage if there is one"
    ACCEPTED = "accepted", "worse, but the list of accepted regressions allows this ratio"
    UNCONFIRMED = "not confirmed", "worse in the first stage; the second excludes a change of 5 %"
    UNCHANGED = "unchanged", "no significant change above the floor; a change of 5 % is excluded"
    IMPROVED = "improved", "better in the first stage"
    UNSTABLE = "unstable", "no significant change, but too noisy to exclude a change of 5 %"
    TOO_FEW = "too few", "too few processes for a significant result"
    NOT_GATED = "not gated", "does not repeat here (see its note); gated only if --metric names it"
    FIXED = "fixed", "not verified in the old arm, verified in the new arm"
    ADDED = "added", "missing in the old arm, so nothing to compare"
    UNSUPPORTED = "unsupported", "neither arm supports this"
    NO_NUMBER = "no number", "nothing to compare; see the note"


_FAILING = frozenset({Verdict.BROKEN, Verdict.REGRESSION})
_DOUBTFUL = frozenset({Verdict.UNSTABLE, Verdict.TOO_FEW, Verdict.NO_NUMBER})
_NOT_COMPARED = frozenset({Verdict.ADDED, Verdict.UNSUPPORTED, Verdict.NOT_GATED})


class Headline(StrEnum):
    """The overall result of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The result for one cell and metric.

    Attributes:
        cell: id of a cell, or name of a benchmark.
        metric: name of the metric; empty for correctness.
        word: verdict on the line.
        advisory: whether the line is shown but never fails.
        n: values per arm in the last stage.
        paired: whether the values were compared in pairs.
        ratio: cost of new over old in the last stage; above 1 is worse.
        interval: confidence interval of `ratio`.
        first_ratio: ratio in the first stage, if there were two stages.
        p: adjusted one-sided p-value for worse, in the last stage.
        floor: share up to which effects are ignored.
        noise: 95th percentile of A/A differences, as a share.
    """

    cell: str
    metric: str
    word: Verdict
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
        """The cell and the metric."""
        return f"{self.cell} {self.metric}".rstrip()

    @property
    def fails(self) -> bool:
        """Whether the line fails the gate; a broken line fails even if its metric is advisory."""
        return self.word is Verdict.BROKEN or (self.word in _FAILING and not self.advisory)

    @property
    def doubtful(self) -> bool:
        """Whether the line is gated but inconclusive."""
        return self.word in _DOUBTFUL and not self.advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The outcome of a gate.

    Attributes:
        old, new: the revisions' names.
        rule: description of the decision rule.
        notes: sentences on the whole gate.
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
        """The overall result: `FAILED` on any failure, else `INCONCLUSIVE` on any doubt, else `PASSED`.

        A gate that compared nothing is inconclusive.
        """
        if self.failed:
            return Headline.FAILED
        compared_lines = [line for line in self.lines if line.word not in _NOT_COMPARED]
        if not compared_lines or any(line.doubtful for line in compared_lines):
            return Headline.INCONCLUSIVE
        return Headline.PASSED

    @property
    def tests(self) -> int:
        """The number of gated comparisons of numbers."""
        return sum(
            bool(line.metric)
            and line.n is not None
            and not line.advisory
            and line.word is not Verdict.NOT_GATED
            for line in self.lines
        )


def make_encodable(report: GateReport) -> GateReport:
    """Return a report that every format can encode, as paths and names may contain undecodable bytes."""
    lines = [
        replace(line, cell=escape_text(line.cell), note=escape_text(line.note))
        for line in report.lines
    ]
    return replace(
        report,
        old=escape_text(report.old),
        new=escape_text(report.new),
        lines=lines,
        notes=tuple(map(escape_text, report.notes)),
    )
