"""What the workloads on sales and on clicks declare alike."""

from streamlab.workloads.model import OutputType

STRICT = OutputType(kinds=("row",), depends=lambda a, b: True)
"""A strict sequence: each row depends on all before it."""
