"""Defines a tweet: its author, its length, and its words and hashtags as dictionary ids."""

import numpy as np

from streamlab.workloads.model.operators.program import InputType

INPUT = "tweets"
"""Name of this input in the catalogue."""

TWEET = InputType(
    name="tweet",
    fields=np.dtype([("user", np.int32), ("chars", np.int32)]),
    lists=(("words", np.dtype(np.int32)), ("hashtags", np.dtype(np.int32))),
)
"""Times are in milliseconds; `chars` is the length of the text."""
