"""Imports lines of tickets in CSV or Parquet as the input `store_sales` (docs/data.md).

Whole numbers stay unchanged: tickets have 64 bits, all others 32 bits, and only quantities may be negative.
Without its column, a store is 0, a quantity is 1, and a category comes from `--products` or is unknown.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import partial
from pathlib import Path

import numpy as np

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import BadRowError, Cells
from streamlab.workloads.datasets.imports.kind import (
    CSV_SETTINGS,
    TIME_SETTING,
    ImportKind,
    ImportOptions,
    NamedColumns,
    Setting,
    lookup_cells,
)
from streamlab.workloads.datasets.stream_table import (
    StreamTable,
    event_columns,
    numbered_streams,
    share_rows,
)
from streamlab.workloads.inputs.retail.schema import SALE

UNKNOWN = "unknown"
"""Category of items without a category."""


def product_columns(text: str) -> dict[str, str]:
    """Parse `item=...,category=...`: return the column of each role in a table of products."""
    parts = [part.partition("=") for part in text.split(",")]
    pairs = {role: column for role, _, column in parts}
    if set(pairs) != {"item", "category"} or not all(pairs.values()):
        raise DatasetError(
            f"--product-columns is {text!r}; give item=COLUMN,category=COLUMN of --products"
        )
    return pairs


def _categories(cells: Cells) -> "pa.Array":
    """Return a column of categories; an empty one becomes `UNKNOWN`."""
    texts = cells.stripped("category")
    return pc.if_else(pc.equal(texts, ""), UNKNOWN, texts)


def _categories_of_items(options: ImportOptions) -> dict[int, str]:
    """Return the category of each item in `--products`; empty without this option."""
    if not options.settings["products"]:
        return {}
    path = Path(options.settings["products"])
    file_format = NamedColumns(role_columns=product_columns(options.settings["product-columns"]))
    category_of: dict[int, str] = {}
    for cells in lookup_cells(file_format, path, options):
        items = cells.integers("item", 2**31 - 1).tolist()
        categories = _categories(cells).to_pylist()
        cells.check()
        for row, (item, category) in enumerate(zip(items, categories, strict=True)):
            if category_of.setdefault(item, category) != category:
                raise DatasetError(
                    f"{cells.place(row)}: item {item} is in category {category!r}, but in category "
                    f"{category_of[item]!r} in a row above"
                )
    if not category_of:
        raise DatasetError(f"{path} has no products")
    return category_of


REQUIRED_ROLES = ("ts", "ticket", "item", "net_paid")
ROLES = (*REQUIRED_ROLES, "store", "quantity", "category")
_MAX_CATEGORIES = 2**15
"""Ids of categories have 16 bits."""
_INT32_MIN, INT32_MAX, _INT64_MAX = -(2**31), 2**31 - 1, 2**63 - 1
_CENTS_BELOW = 2**53
"""Limit of an amount: exact as a double, and the sum of 1,000 amounts fits 64 bits."""


def _check(options: ImportOptions) -> None:
    """Refuse options that contradict each other."""
    settings = options.settings
    if settings["products"] and "category" in options.columns:
        raise DatasetError("give a column of categories or --products, not both")
    if settings["product-columns"] and not settings["products"]:
        raise DatasetError("--product-columns is for --products, which is missing")
    if settings["products"]:
        product_columns(settings["product-columns"])


def _columns(category_of: Mapping[int, str], cells: Cells) -> dict[str, object]:
    """Return ticket, item, category, store, quantity and net_paid."""
    rows = len(cells)
    ts = cells.times("ts")
    item = cells.integers("item", INT32_MAX)
    if "category" in cells:
        category = _categories(cells)
    else:
        names = [category_of.get(id_, UNKNOWN) for id_ in item.tolist()]
        category = pa.array(names, pa.string())
    store, quantity = np.zeros(rows, np.int64), np.ones(rows, np.int64)
    if "store" in cells:
        store = cells.integers("store", INT32_MAX)
    if "quantity" in cells:
        quantity = cells.integers("quantity", INT32_MAX, lowest=_INT32_MIN)
    return {
        "ts": ts,
        "ticket": cells.integers("ticket", _INT64_MAX),
        "item": item,
        "category": category,
        "store": store,
        "quantity": quantity,
        "net_paid": cells.parse_texts("net_paid", partial(cents, "net_paid"), pa.int64()),
    }


def cents(role: str, text: str) -> int:
    """Return an amount of money in cents, rounded half up (away from 0); it may be negative."""
    try:
        value = int((Decimal(text.strip()) * 100).quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise BadRowError(f"column {role} is {text!r}, not an amount of money") from error
    if abs(value) >= _CENTS_BELOW:
        raise BadRowError(f"column {role} is {text!r}, not an amount below 2^53 cents")
    return value


def _streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return the streams, with the lines in round-robin order; refuse too many categories."""
    count = entries["categories"]
    if count > _MAX_CATEGORIES:
        raise DatasetError(
            f"the rows have {count} categories, but store_sales supports {_MAX_CATEGORIES}; check "
            "that the column is not one of items"
        )
    return numbered_streams(
        options.streams, "sale", event_columns(SALE), partial(share_rows, "row")
    )


RETAIL = ImportKind(
    name="retail",
    workload="store_sales",
    help="lines of tickets of stores, CSV or Parquet, with a time, a ticket, an item and a price",
    check=_check,
    file_format=NamedColumns(required_roles=REQUIRED_ROLES),
    transform=lambda options: partial(_columns, _categories_of_items(options)),
    columns=(
        ("ticket", "int64"),
        ("item", "int32"),
        ("category", "string"),
        ("store", "int32"),
        ("quantity", "int32"),
        ("net_paid", "int64"),
    ),
    dictionaries={"categories": "category"},
    kinds=("sale",),
    streams=_streams,
    roles=ROLES,
    settings=(
        *CSV_SETTINGS,
        TIME_SETTING,
        Setting(
            name="products",
            default="",
            file=True,
            help="CSV or Parquet with the category of each item.",
        ),
        Setting(
            name="product-columns",
            default="",
            help="Columns of --products: item=...,category=...",
        ),
    ),
    sorts=True,
)
