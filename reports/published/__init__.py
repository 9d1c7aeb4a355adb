"""What papers published as numbers, one CSV a paper: facts with their place, to set results beside.

| column | what it holds |
|---|---|
| figure, panel | where in the paper it belongs |
| series | whose number it is; `A/B` is a quotient, `A-B` a difference |
| quantity | what was measured |
| x | number of instances, `first` or `last`; empty: it holds for the whole panel |
| low, high | the number, twice, or a range; an empty `high` is no bound |
| unit | of both; 1 for a quotient |
| relation | `value`, `ratio`, `difference`, `range`, `at most`, `at least` |
| source | where the paper says it |

Only what a text or table states stands here: nothing was read off a curve.
"""

from streamlab.reports.published.facts import Fact, Facts, published

__all__ = ["Fact", "Facts", "published"]
