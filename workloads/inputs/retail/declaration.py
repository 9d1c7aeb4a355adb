"""Declares the output type of all workloads on sales and clicks."""

from streamlab.workloads.model import OutputType

STRICT = OutputType(kinds=("row",), depends=lambda a, b: True)
"""A strict sequence: each row depends on all rows before it."""
