"""What a sale and a click are. Times are in milliseconds since 1970.

The benchmark keeps days and seconds of the day apart and puts them together as days x 86,400 +
seconds; this is the same instant, in milliseconds.
"""

import numpy as np

STORE_SALES, WEB_CLICKSTREAMS = "store_sales", "web_clickstreams"
"""The names by which their datasets are kept."""

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
"""A line of a ticket; `net_paid` in cents, for the whole quantity. Ids are 0 or more."""

CLICK = np.dtype(
    [
        ("user", np.int32),
        ("item", np.int32),
        ("sale", np.int32),
        ("category", np.int16),
        ("page", np.int8),
    ]
)
"""A click on a page about an item; `user` 0: unknown, `sale` 0: nothing was bought."""

ORDER, DYNAMIC, GENERAL, AD, FEEDBACK, PROTECTED, WELCOME = range(7)
PAGES = ("order", "dynamic", "general", "ad", "feedback", "protected", "welcome")
"""Types of pages, by `CLICK`'s `page`."""
