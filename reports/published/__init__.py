"""Provides the numbers that papers published, one CSV a paper, for comparison with results.

| column | content |
|---|---|
| figure, panel | place in the paper |
| series | the system; `A/B` is a quotient, `A-B` a difference |
| quantity | the measured quantity |
| x | number of instances, `first` or `last`; empty: the whole panel |
| low, high | the number, twice, or a range; an empty `high` means no bound |
| unit | unit of both; 1 for a quotient |
| relation | `value`, `ratio`, `difference`, `range`, `at most`, `at least` |
| source | place of the statement in the paper |

All numbers are from texts and tables; none is read off a curve.
"""

from streamlab.reports.published.facts import Fact, Facts, published

__all__ = ["Fact", "Facts", "published"]
