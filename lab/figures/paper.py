"""Poses the claims of a paper: rows of `reports/published/claims`, with measured values."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamlab.lab.figures.judge import MeasuredClaim, PublishedClaim
from streamlab.lab.figures.preconditions import Need
from streamlab.lab.figures.systems import System, published_systems
from streamlab.reports.published import Fact, Facts, published
from streamlab.reports.published.claims import ClaimRow, published_claims
from streamlab.results.errors import ResultsError
from streamlab.results.stats.estimates import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper, by the name of its files of facts, claims and systems in `reports/published`."""

    name: str

    @property
    def systems(self) -> Mapping[str, System]:
        """The systems of the paper's claims, by their names in the claims."""
        return published_systems(self.name)

    def facts(self) -> Facts:
        """Return the published numbers."""
        return published(self.name)

    def fact(self, figure: str, **columns: str) -> Fact:
        """Return the only published number of a figure whose columns equal these texts."""
        return self.facts().one(figure=figure, **columns)

    def pose(
        self,
        figure: str,
        claim: str,
        measured: Estimate | None,
        /,
        *needs: Need,
        **fields: object,
    ) -> MeasuredClaim:
        """Pose a claim of a figure.

        Args:
            figure: the figure's number.
            claim: the claim's name in `reports/published/claims`.
            measured: the measured value; None without a verified number.
            needs: preconditions of the claim.
            fields: values of the fields in the claim's texts and bounds.

        Raises:
            ResultsError: the figure has no such claim, or the claim has a field without a value.
        """
        row = self._row(figure, claim)
        columns = row.fact_columns(fields)
        fact = self.facts().one(**({"figure": figure} | columns)) if columns else None
        fields = fields | {"fact": fact.text if fact else ""}
        published = PublishedClaim(
            text=row.fill(row.text, fields),
            published=row.fill(row.published or "{fact}", fields),
            source=row.fill(row.source, fields) or (fact.source if fact else ""),
            relation=fact.relation if fact else "",
            needs=needs,
            system=self.systems[row.fill(row.system, fields)],
            opponent=self.systems[row.fill(row.opponent, fields)] if row.opponent else None,
        )
        if row.rule == "shape":
            low, high = row.bound(row.low, fields, 0.0), row.bound(row.high, fields, float("inf"))
            return published.shape(measured, low, high, row.unit)
        low = row.bound(row.low, fields, fact.low if fact else 0.0)
        high = row.bound(row.high, fields, fact.high if fact else float("inf"))
        if row.rule == "near":
            return published.near(measured, low, high, row.tolerance, row.unit)
        if row.rule == "at most":
            return published.at_most(measured, high * (1 + row.tolerance), row.unit)
        return published.at_least(measured, low * (1 - row.tolerance), row.unit)

    def pose_all(
        self,
        figure: str,
        measured: Mapping[str, Estimate | None],
        /,
        *needs: Need,
        **fields: object,
    ) -> list[MeasuredClaim]:
        """Pose claims of a figure by name, with the same needs and fields."""
        return [self.pose(figure, claim, x, *needs, **fields) for claim, x in measured.items()]

    def _row(self, figure: str, claim: str) -> ClaimRow:
        rows = [row for row in published_claims(self.name) if figure in row.figures]
        for row in rows:
            if row.claim == claim:
                return row
        raise ResultsError(
            f"{self.name} {figure} has no claim {claim!r}; it has: "
            f"{', '.join(row.claim for row in rows)}"
        )
