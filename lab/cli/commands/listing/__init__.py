"""Lists things for `lab list`: a module for each kind, with `records` and their `lines` of text.

A broken item has a record, too: `error` has the reason, and unknown values are None or empty.
docs/json.md has the keys.
"""
