"""Categories of items, from a table of products."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.kind import BadRowError, Derive, ImportOptions
from workloads.datasets.imports.parquet_rows import read_table

if TYPE_CHECKING:
    import pyarrow as pa

ROLES = ("item", "category")
UNKNOWN = "unknown"
"""Category of items that are not in the table, or have none there."""


def product_columns(text: str) -> dict[str, str]:
    """Return the columns of a table of products from `item=...,category=...`.

    Raises:
        DatasetError: it is not of that form.
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


def categorised(options: ImportOptions, item_of: Callable[[str], int]) -> Derive:
    """Return what puts the category of each row's int column `item` into its column `category`.

    Args:
        options: `products` names the table, `product-columns` its columns.
        item_of: reads an item's id; raises `BadRowError`.

    Raises:
        DatasetError: the table cannot be read, or gives an item two categories.
    """
    path = Path(options.settings["products"])
    return partial(_with_categories, _categories(path, options, item_of))


def _with_categories(known: dict[int, str], batch: "pa.RecordBatch") -> "pa.RecordBatch":
    import pyarrow as pa

    found = [known.get(item, UNKNOWN) for item in batch.column("item").to_pylist()]
    place = batch.schema.get_field_index("category")
    return batch.set_column(place, "category", pa.array(found, pa.string()))


def _categories(
    path: Path, options: ImportOptions, item_of: Callable[[str], int]
) -> dict[int, str]:
    columns = product_columns(options.settings["product-columns"])
    found: dict[int, str] = {}
    for place, cells in read_table(path, replace(options, columns=columns), _nothing):
        try:
            item, category = item_of(cells["item"]), cells["category"].strip() or UNKNOWN
        except BadRowError as error:
            raise DatasetError(f"{place}: {error}: {cells.shown()}") from error
        if found.setdefault(item, category) != category:
            raise DatasetError(
                f"{place}: item {item} is in category {category!r}, and in {found[item]!r} above"
            )
    if not found:
        raise DatasetError(f"{path} has no products")
    return found


def _nothing(position: int) -> None:
    """Take no note of how far a file has been read."""
