"""Provides published numbers for comparison with results, one CSV per paper.

| column | content |
|---|---|
| figure, panel | place in the paper |
| series | the system; `A/B` is a quotient, `A-B` a difference |
| quantity | the measured quantity |
| x | number of instances, `first` or `last`; empty: the whole panel |
| low, high | the same number twice, or a range; empty `high`: no upper bound |
| unit | unit of both; 1 for a quotient |
| relation | `value`, `ratio`, `difference`, `range`, `at most`, `at least` |
| source | place of the statement in the paper |

All numbers are from texts and tables, never read off a curve.
"""

from streamlab.reports.published.facts import Fact, Facts, published

__all__ = ["Fact", "Facts", "published"]
