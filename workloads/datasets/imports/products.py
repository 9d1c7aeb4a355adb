"""Reads the categories of items from a table of products."""

from pathlib import Path
from typing import TYPE_CHECKING

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import Cells
from streamlab.workloads.datasets.imports.forms import NamedColumns, lookup_cells
from streamlab.workloads.datasets.imports.kind import ImportOptions

if TYPE_CHECKING:
    import pyarrow as pa

ROLES = ("item", "category")
UNKNOWN = "unknown"
"""Category of items that are not in the table, or have none in it."""


def product_columns(text: str) -> dict[str, str]:
    """Return the columns of a table of products from `item=...,category=...`.

    Raises:
        DatasetError: the text has another form.
    """
    pairs: dict[str, str] = {}
    for part in text.split(","):
        role, _, column = part.partition("=")
        pairs[role] = column
    if set(pairs) != set(ROLES) or not all(pairs.values()):
        raise DatasetError(
            f"--product-columns is {text!r}; give item=COLUMN,category=COLUMN of --products"
        )
    return pairs


def text_or_unknown(cells: Cells, role: str) -> "pa.Array":
    """Return a column of categories, with empty ones as unknown."""
    import pyarrow.compute as pc

    texts = cells.stripped(role)
    return pc.if_else(pc.equal(texts, ""), UNKNOWN, texts)


def known_categories(options: ImportOptions) -> dict[int, str]:
    """Return the categories of items in `--products`; empty without this option.

    Raises:
        DatasetError: the table cannot be read, or gives an item two categories.
    """
    if not options.settings["products"]:
        return {}
    path = Path(options.settings["products"])
    form = NamedColumns(role_columns=product_columns(options.settings["product-columns"]))
    known: dict[int, str] = {}
    for cells in lookup_cells(form, path, options):
        items = cells.integers("item", 2**31 - 1).tolist()
        categories = text_or_unknown(cells, "category").to_pylist()
        cells.check()
        for row, (item, category) in enumerate(zip(items, categories, strict=True)):
            if known.setdefault(item, category) != category:
                raise DatasetError(
                    f"{cells.place(row)}: item {item} is in category {category!r}, and in "
                    f"{known[item]!r} above"
                )
    if not known:
        raise DatasetError(f"{path} has no products")
    return known
