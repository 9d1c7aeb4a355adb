"""Lines of tickets in CSV or Parquet to the input `store_sales`.

- `--columns ts=...,ticket=...,item=...,net_paid=...`, and, where there are such columns,
  `store=...` (0 if there is none), `quantity=...` (1) and `category=...`.
- Times are as `--time` says; event time is in milliseconds.
- `ticket`, `item`, `store` and `quantity` are whole numbers, and stay as they are: at least 0 but
  for the quantity, of 32 bits but for the ticket's 64. `net_paid`, for the whole quantity, is an
  amount of money and becomes cents.
- The category is a text, and becomes its number in the dictionary `categories`. Without a column it
  is looked up by item in `--products`, a CSV or Parquet file with `--product-columns
  item=...,category=...`; items that are not in it are in the category `unknown`, as is everything
  where there is neither.
- Files may be in any order: they are always sorted by time (ties: by file and line).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.csv_rows import CSV_SETTINGS, Cells
from workloads.datasets.imports.kind import (
    TIME_SETTING,
    Blocks,
    Derive,
    Dictionary,
    ImportKind,
    ImportOptions,
    Row,
    Setting,
    StreamTable,
)
from workloads.datasets.imports.numbered import numbered
from workloads.datasets.imports.parquet_rows import read_table
from workloads.datasets.imports.products import UNKNOWN, categorised, product_columns
from workloads.datasets.imports.raw import At
from workloads.datasets.imports.retail_fields import cents, whole
from workloads.datasets.imports.rows import where
from workloads.model import Alphabet, Block

NEEDED = ("ts", "ticket", "item", "net_paid")
ROLES = (*NEEDED, "store", "quantity", "category")
_MOST_CATEGORIES = 2**15
_INT32_LOWEST = -(2**31)


def read(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Cells]]:
    """Yield the rows of a raw file, see `parquet_rows.read_table`.

    Raises:
        DatasetError: `--columns` lacks one that is needed, or options contradict each other.
    """
    settings = options.settings
    missing = [role for role in NEEDED if role not in options.columns]
    if missing:
        raise DatasetError(f"--columns does not say which column is {', '.join(missing)}")
    if settings["products"] and "category" in options.columns:
        raise DatasetError("give a column of categories or --products, not both")
    if settings["product-columns"] and not settings["products"]:
        raise DatasetError("--product-columns is for --products, which is missing")
    if settings["products"]:
        product_columns(settings["product-columns"])
    return read_table(path, options, at)


def parse(cells: Cells, options: ImportOptions) -> Row:
    """Return (ts, ticket, item, category, store, quantity, net_paid).

    Raises:
        BadRowError: a cell is not what it must be.
    """
    given = options.columns
    return (
        options.time(cells["ts"]),
        whole("ticket", cells["ticket"], bits=64),
        _item(cells["item"]),
        (cells["category"].strip() if "category" in given else "") or UNKNOWN,
        whole("store", cells["store"], bits=32) if "store" in given else 0,
        _quantity(cells["quantity"]) if "quantity" in given else 1,
        cents("net_paid", cells["net_paid"]),
    )


def _item(text: str) -> int:
    return whole("item", text, bits=32)


def _quantity(text: str) -> int:
    return whole("quantity", text, bits=32, lowest=_INT32_LOWEST)


def prepare(blocks: Blocks, options: ImportOptions) -> Derive | None:
    """Return what looks categories up where there is a table of products.

    Raises:
        DatasetError: the table cannot be used.
    """
    return categorised(options, _item) if options.settings["products"] else None


def streams(options: ImportOptions, entries: Mapping[str, int]) -> tuple[StreamTable, ...]:
    """Return as many streams as asked for, to which lines are dealt in turn.

    Raises:
        DatasetError: there are too many categories.
    """
    found = entries["categories"]
    if found > _MOST_CATEGORIES:
        raise DatasetError(
            f"{found} categories; at most {_MOST_CATEGORIES}: is that column one of items?"
        )
    dtypes: dict[str, np.dtype[Any]] = {
        "ts": np.dtype(np.int64),
        "ticket": np.dtype(np.int64),
        "item": np.dtype(np.int32),
        "category": np.dtype(np.int16),
        "store": np.dtype(np.int32),
        "quantity": np.dtype(np.int32),
        "net_paid": np.dtype(np.int64),
    }
    return numbered(options.streams, "sale", dtypes, _of)


def _of(count: int, index: int, blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        sales = where(block, np.asarray(block["row"]) % count == index)
        yield {**sales, "category": sales["categories"]}


RETAIL = ImportKind(
    name="retail",
    workload="store_sales",
    help="lines of tickets of stores, CSV or Parquet, with a time, a ticket, an item and a price",
    read=read,
    parse=parse,
    columns=(
        ("ticket", "int64"),
        ("item", "int32"),
        ("category", "string"),
        ("store", "int32"),
        ("quantity", "int32"),
        ("net_paid", "int64"),
    ),
    prepare=prepare,
    dictionaries=(Dictionary(name="categories", column="category"),),
    keys=None,
    streams=streams,
    alphabet=lambda keys: Alphabet(kinds=("sale",), keys=keys),
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
            help="Which columns of --products hold what: item=...,category=...",
        ),
    ),
    sorts=True,
)
