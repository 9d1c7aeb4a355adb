"""Provides the tables of look-ups: the campaign of each ad, and the location of each user.

Tables are generated from the query's parameters, so every engine has them without a file: ad a is
in campaign a modulo `campaigns`, user u at location u modulo `locations`. Programs still read an
array and do not know the rule. Imported datasets have their own tables as dictionaries; query
parameter `tables` selects them.

Two alternatives were rejected. `Workload.bind` could take a dataset, but programs are also made
where there is no dataset (a check, a plan, a task of Spark). Tables could be streams, but then
look-ups would be joins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets import pc, pq
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DamagedError, DatasetError
from streamlab.workloads.datasets.integrity import dictionary_texts
from streamlab.workloads.datasets.remedy import rebuild_command
from streamlab.workloads.inputs.ads.databases.lookup import look_up
from streamlab.workloads.inputs.ads.schema import NONE
from streamlab.workloads.model import ModelError, Parameter, Params

Table = npt.NDArray[np.int32]

SEPARATOR = "\t"
"""Separates the original id from the looked-up value in a dictionary of an import."""

ADS, USERS = "ads", "users"
"""Dictionaries of an import: `ad TAB campaign`, `user TAB location`."""

Find = Callable[[int], int]
"""Looks up an id, in plain Python and in compiled code; `NONE` for ids outside the table."""

MEMORY, SQLITE = "memory", "sqlite"

_TABLES = {
    "tables": Parameter(
        default="",
        help="id of the imported dataset whose tables to use; empty means generated tables",
    ),
    "lookup": Parameter(
        default=MEMORY,
        help=f"where tables are: {MEMORY}, or a database with a query for each event: {SQLITE}",
    ),
}

AD_TABLE_PARAMETERS = {
    "ads": Parameter(default=1000, help="ads in the table of ads", minimum=1, maximum=10**7),
    "campaigns": Parameter(
        default=100, help="campaigns in the table of ads", minimum=1, maximum=10**6
    ),
    **_TABLES,
}
"""Query parameters of workloads that look up campaigns."""

USER_TABLE_PARAMETERS = {
    "users": Parameter(default=1000, help="users in the table of users", minimum=1, maximum=10**7),
    "locations": Parameter(
        default=20, help="locations in the table of users", minimum=1, maximum=10**6
    ),
    **_TABLES,
}
"""Query parameters of workloads that look up locations."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table.

    Attributes:
        values: values by id; read-only.
        count: number of distinct values, from 0.
    """

    values: Table
    count: int


def campaign_of_ad(query: Params) -> Lookup:
    """Return the campaign of each ad.

    Raises:
        ModelError: the dataset of `tables` is missing, damaged or has no such table.
    """
    return _lookup(ADS, int(query["ads"]), int(query["campaigns"]), _tables_id(query))


def location_of_user(query: Params) -> Lookup:
    """Return the location of each user.

    Raises:
        ModelError: the dataset of `tables` is missing, damaged or has no such table.
    """
    return _lookup(USERS, int(query["users"]), int(query["locations"]), _tables_id(query))


def with_full_tables_id(query: Params) -> Params:
    """Return a query whose `tables` is a full dataset id instead of a prefix.

    Raises:
        ModelError: `tables` matches no dataset.
    """
    return {**query, "tables": _tables_id(query)} if "tables" in query else dict(query)


def find_campaign(query: Params) -> Find:
    """Return a function that looks up the campaign of an ad.

    Raises:
        ModelError: `tables` or `lookup` is wrong, or a database cannot be made or read.
    """
    return _find(ADS, campaign_of_ad(query).values, str(query["lookup"]))


def find_location(query: Params) -> Find:
    """Return a function that looks up the location of a user.

    Raises:
        ModelError: see `find_campaign`.
    """
    return _find(USERS, location_of_user(query).values, str(query["lookup"]))


def _find(name: str, table: Table, lookup: str) -> Find:
    if lookup == SQLITE:
        return look_up(name, table)
    if lookup != MEMORY:
        raise ModelError(f"query parameter lookup is {lookup!r}; give {MEMORY} or {SQLITE}")
    rows = len(table)

    def find(key: int) -> int:
        return table[key] if 0 <= key < rows else NONE

    return find


@lru_cache(maxsize=8)
def _lookup(name: str, rows: int, values: int, dataset: str) -> Lookup:
    if dataset:
        return _dataset_table(name, dataset)
    table = np.arange(rows, dtype=np.int32) % np.int32(values)
    return Lookup(_read_only(table), min(rows, values))


def _tables_id(query: Params) -> str:
    prefix = str(query["tables"])
    return _full_dataset_id(prefix) if prefix else ""


@lru_cache(maxsize=8)
def _full_dataset_id(prefix: str) -> str:
    return _dataset(prefix).id


def _dataset(prefix: str) -> Dataset:
    try:
        return Catalog.default().get(prefix)
    except DatasetError as error:
        raise ModelError(f"query parameter tables is {prefix!r}: {error}") from error


def _dataset_table(name: str, prefix: str) -> Lookup:
    """Read a table from the dictionary `name` of a dataset, with values numbered in order of appearance."""
    dataset = _dataset(prefix)
    for dictionary in dataset.dictionaries:
        if dictionary.name == name:
            break
    else:
        raise ModelError(
            f"query parameter tables is {prefix!r}, a dataset without a table of {name}; give a "
            "dataset from `lab data import open-bandit` or `lab data import ad-events`"
        )
    try:
        texts = dictionary_texts(dictionary)
    except DamagedError as error:
        raise ModelError(
            f"query parameter tables is {prefix!r}: {error}; {rebuild_command(dataset)}"
        ) from error
    numbers: dict[str, int] = {}
    table = [numbers.setdefault(text.rpartition(SEPARATOR)[2], len(numbers)) for text in texts]
    return Lookup(_read_only(np.array(table, dtype=np.int32)), len(numbers))


def _read_only(table: Table) -> Table:
    """Make the array itself read-only, and return it."""
    table.flags.writeable = False
    return table


def unfit(query: Params, dataset: Dataset) -> str:
    """Return the reason why a dataset cannot be the input of a query, or "" if it can.

    Reads the column of ids, unless the dataset has its own tables, which are complete.
    """
    if "tables" not in query:  # the query has no look-ups
        return ""
    selected = str(query["tables"])
    tables = {dictionary.name for dictionary in dataset.dictionaries} & {ADS, USERS}
    if tables and not (selected and dataset.id.startswith(selected)):
        actual = f"those of {selected}" if selected else "generated tables"
        return (
            f"dataset {dataset.id[:8]} has its own tables, but the query uses {actual}; give it "
            f"query parameter tables={dataset.id[:8]}"
        )
    if tables:
        return ""
    if ADS in query:
        missing = _missing_id(dataset, "ad", len(campaign_of_ad(query).values))
        if missing is not None:
            return _message(query, dataset, f"ad {missing}", ADS, missing)
    if USERS in query:
        missing = _missing_id(dataset, "user", len(location_of_user(query).values))
        if missing is not None:
            return _message(query, dataset, f"user {missing}", USERS, missing)
    return ""


def _message(query: Params, dataset: Dataset, item: str, parameter: str, missing: int) -> str:
    remedy = f"give query parameter {parameter}={missing + 1} or more"
    if query["tables"]:
        remedy = "give the tables of that dataset"
    elif missing < 0:
        remedy = "ids must be 0 or more"
    rows = f"the table of {parameter} has rows from 0 to {int(query[parameter]) - 1}"
    if query["tables"]:
        rows = f"the tables of dataset {query['tables']} have no such row"
    return f"dataset {dataset.id[:8]} has {item}, but {rows}; {remedy}"


def _missing_id(dataset: Dataset, column: str, rows: int) -> int | None:
    """Return an id outside a table of `rows` rows: the lowest below 0, or else the highest."""
    lowest, highest = 0, -1
    for stream in dataset.streams:
        if stream.rows:
            ends = pc.min_max(
                pq.read_table([*stream.paths], columns=[column]).column(column)
            ).as_py()
            lowest, highest = min(lowest, ends["min"]), max(highest, ends["max"])
    if lowest < 0:
        return lowest
    return highest if highest >= rows else None
