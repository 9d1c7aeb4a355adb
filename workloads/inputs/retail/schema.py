"""Defines sales and clicks, with times in milliseconds since 1970.

The benchmark stores days and seconds of the day in two columns; times here are their sum.
"""

import numpy as np

STORE_SALES, WEB_CLICKSTREAMS = "store_sales", "web_clickstreams"
"""Names of the inputs in the catalogue."""

DAY_MS = 86_400_000
HOUR_MS = 3_600_000

SALE = np.dtype(
    [
        ("ticket", np.int64),
        ("item", np.int32),
        ("category", np.int16),
        ("store", np.int32),
        ("quantity", np.int32),
        ("net_paid", np.int64),
    ]
)
"""A line of a ticket; `net_paid` is in cents, for the whole quantity. Ids are 0 or more."""

CLICK = np.dtype(
    [
        ("user", np.int32),
        ("item", np.int32),
        ("sale", np.int32),
        ("category", np.int16),
        ("page", np.int8),
    ]
)
"""A click on a page about an item; `user` 0 is unknown, `sale` 0 is a click without a sale."""

ORDER, DYNAMIC, GENERAL, AD, FEEDBACK, PROTECTED, WELCOME = range(7)
PAGES = ("order", "dynamic", "general", "ad", "feedback", "protected", "welcome")
"""Types of pages, indexed by `CLICK`'s field `page`."""
