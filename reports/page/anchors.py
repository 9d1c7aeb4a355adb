"""Makes the address of a row: the fragment behind the page's own that leads to it."""

import re

_OTHER = re.compile(r"[^A-Za-z0-9_./@-]")


def anchor(cell: str) -> str:
    """Return the element id of a cell's row.

    It is made from the cell's id alone, so that an address leads to the same cell in a page written
    later, or of a later run. Two cells never share one: what is not plain is written as its code
    point between tildes.
    """
    return "cell-" + _OTHER.sub(lambda found: f"~{ord(found[0]):x}~", cell)
