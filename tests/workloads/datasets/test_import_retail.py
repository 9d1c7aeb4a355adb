from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.cells import BadRowError
from streamlab.workloads.datasets.imports.retail import cents, product_columns
from streamlab.workloads.registry import workload
from tests.workloads.datasets.files import expected_answer, imported, rows, rows_of, texts

COLUMNS = {
    "ts": "time",
    "ticket": "basket",
    "item": "product",
    "net_paid": "sales_value",
    "store": "shop",
    "quantity": "qty",
}
HEADER = "shop,basket,product,qty,sales_value,time"
LINES = (
    "10,31198570044,7,2,3.86,2017-01-01 11:53:26",  # later than the next ones
    "10,31198570044,9,1,1.005,2017-01-01 11:53:26",
    "20,31198570047,7,1,-0.50,2017-01-01 07:30:00.250",
    "20,31198570047,12,0,0,2017-01-01 07:30:00.250",
)
PRODUCTS = "product,department\n7,GROCERY\n9,PASTRY\n8,GROCERY\n7,GROCERY\n"
EARLY_MS = 1_483_255_800_250
NOON_MS = 1_483_271_606_000


def csv(folder: Path, *lines: str, name: str = "sales.csv") -> Path:
    path = folder / name
    path.write_text("\n".join((HEADER, *lines, "")))
    return path


def products(folder: Path, text: str = PRODUCTS) -> dict[str, Any]:
    path = folder / "products.csv"
    path.write_text(text)
    return {"products": str(path), "product-columns": "item=product,category=department"}


def sales(catalog: Catalog, *files: Path, **options: Any) -> Dataset:
    return imported(catalog, "retail", *files, **({"columns": COLUMNS} | options))


def sold(dataset: Dataset) -> list[tuple[int, ...]]:
    """Rows of all streams: ts, ticket, item, category, store, quantity, net_paid."""
    names = ("ticket", "item", "category", "store", "quantity", "net_paid")
    return [row for stream in rows(dataset, *names) for row in stream]


class TestImport:
    def test_lines_are_sorted_and_categories_looked_up(self, catalog: Catalog, tmp_path: Path):
        dataset = sales(catalog, csv(tmp_path, *LINES), settings=products(tmp_path))
        # By first appearance in the file; item 12 is in no table.
        assert texts(dataset, "categories") == ["GROCERY", "PASTRY", "unknown"]
        assert sold(dataset) == [
            (EARLY_MS, 31198570047, 7, 0, 20, 1, -50),
            (EARLY_MS, 31198570047, 12, 2, 20, 0, 0),
            (NOON_MS, 31198570044, 7, 0, 10, 2, 386),
            (NOON_MS, 31198570044, 9, 1, 10, 1, 101),
        ]
        assert dataset.workload == "store_sales"
        assert dataset.origin["settings"]["products"]["name"] == "products.csv"

    def test_parquet_gives_the_rows_of_csv(self, catalog: Catalog, tmp_path: Path):
        one = sales(catalog, csv(tmp_path, *LINES), settings=products(tmp_path))
        rows = [line.split(",") for line in LINES]
        path = tmp_path / "sales.parquet"
        times = [datetime.fromisoformat(row[5]).replace(tzinfo=UTC) for row in rows]
        money = [Decimal(row[4]).quantize(Decimal("0.001")) for row in rows]
        table = pa.table(
            {
                "shop": pa.array([int(row[0]) for row in rows], pa.int16()),
                "basket": [int(row[1]) for row in rows],
                "product": [float(row[2]) for row in rows],
                "qty": pa.array([row[3] for row in rows]).dictionary_encode(),
                "sales_value": money,
                "time": pa.array(times, pa.timestamp("ns", "UTC")),
                "not wanted": [[1]] * 4,
            }
        )
        pq.write_table(table, path, row_group_size=3)
        known = tmp_path / "products.parquet"
        names = ["GROCERY", "PASTRY"]
        pq.write_table(pa.table({"product": [7, 9], "department": names}), known)
        settings = products(tmp_path) | {"products": str(known)}
        two = sales(catalog, path, settings=settings)
        assert two.id == one.id

    def test_streams_are_dealt_to_in_turn_and_a_column_can_name_the_category(
        self, catalog: Catalog, tmp_path: Path
    ):
        columns = {"ts": "1", "ticket": "2", "item": "3", "net_paid": "4", "category": "5"}
        path = tmp_path / "plain.csv"
        path.write_text("5,1,7,1.10,B\n6,1,8,2,A\n7,2,7,3.5,B\n8,2,9,4, \n")
        dataset = sales(catalog, path, columns=columns, streams=2, settings={"time": "ms"})
        assert [stream.name for stream in dataset.streams] == ["sale-0", "sale-1"]
        assert sold(dataset) == [
            (5, 1, 7, 0, 0, 1, 110),
            (7, 2, 7, 0, 0, 1, 350),
            (6, 1, 8, 1, 0, 1, 200),
            (8, 2, 9, 2, 0, 1, 400),
        ]
        assert texts(dataset, "categories") == ["B", "A", "unknown"]

    @pytest.mark.parametrize("name", ["items_sold_together", "declining_categories"])
    def test_imported_sales_are_answered_as_the_oracle_says(
        self, name: str, catalog: Catalog, tmp_path: Path
    ):
        lines = [
            f"{1 + n % 3},{n // 5},{n * n % 11},1,{1 + n * 7 % 50},2017-01-{1 + n // 40:02} "
            f"{n // 5 % 24:02}:00:00"
            for n in range(1000)
        ]
        dataset = sales(catalog, csv(tmp_path, *lines))
        query = {"stores": "all"}
        if name == "items_sold_together":
            query |= {"categories": "all", "more_than": 0}
        else:
            query |= {"first_day": "2017-01-01"}
        assert len(expected_answer(workload(name).bound(query), dataset.load())["ts"]) > 3

    def test_a_bad_row_of_parquet_is_reported_with_its_place(
        self, catalog: Catalog, tmp_path: Path
    ):
        path = tmp_path / "sales.parquet"
        table = {name: [1, None] for name in COLUMNS.values()}
        pq.write_table(pa.table(table), path)
        with pytest.raises(DatasetError, match=r"sales.parquet: row 2: is empty"):
            sales(catalog, path)

    def test_a_table_of_products_that_contradicts_itself_is_refused(
        self, catalog: Catalog, tmp_path: Path
    ):
        header = "product,department\n"
        for text, message in (
            (
                PRODUCTS + "9,GROCERY\n",
                ":6: item 9 is in category 'GROCERY', but in category 'PASTRY' in a row above",
            ),
            (header + "seven,A\n", ":2: column item is 'seven', not a"),
            (header, " has no products"),
        ):
            with pytest.raises(DatasetError, match=rf"products\.csv{message}"):
                sales(catalog, csv(tmp_path, *LINES), settings=products(tmp_path, text))


def cells_of(path: Path, **chosen: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    return rows_of("retail", path, **({"columns": COLUMNS} | chosen))


def test_categories_come_from_one_place_only(tmp_path: Path):
    path, columns = csv(tmp_path, *LINES), COLUMNS | {"category": "shop"}
    with pytest.raises(DatasetError, match="a column of categories or --products, not both"):
        cells_of(path, columns=columns, settings=products(tmp_path))


@pytest.mark.parametrize("text", ["", "item=a", "item=a,category=", "item=a,category=b,name=c"])
def test_product_columns_are_item_and_category(text: str):
    with pytest.raises(DatasetError, match=r"--product-columns is .*give item=COLUMN"):
        product_columns(text)


def test_a_parquet_file_without_the_column_is_reported(tmp_path: Path):
    path = tmp_path / "sales.parquet"
    pq.write_table(pa.table({name: [1] for name in COLUMNS.values() if name != "qty"}), path)
    with pytest.raises(DatasetError, match=r"no column qty for quantity; there are time, basket"):
        cells_of(path)
    nested = {name: [[1]] if name == "qty" else [1] for name in COLUMNS.values()}
    pq.write_table(pa.table(nested), path)
    with pytest.raises(DatasetError, match=r"column quantity is of type list.*; give texts or"):
        cells_of(path)


def test_whole_numbers_and_amounts_in_their_forms(tmp_path: Path):
    path = csv(tmp_path, f"10, {2**63 - 1} ,12.00,-3,1,2017-01-01")
    (row,) = cells_of(path)[1]
    assert row[1:] == (2**63 - 1, 12, "unknown", 10, -3, 100)
    assert cents("net_paid", "1.005") == 101, "which it would not be in binary fractions"
    assert cents("net_paid", "-1.005") == -101
    assert cents("net_paid", " 1e2 ") == 10_000


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e400", "90071992547409.92", "$3"])
def test_an_amount_in_another_form_is_a_bad_row(text: str):
    with pytest.raises(BadRowError, match="column net_paid is"):
        cents("net_paid", text)
