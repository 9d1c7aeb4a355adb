"""Lists things for `lab list`: a module for each kind, with `records` and their `lines` of text.

In the record of a broken item, `error` is the reason, and unknown values are None or empty.
docs/json.md describes the keys of all records.
"""
