"""The tables that the queries look up: the campaign of each ad, and the location of each user.

They are functions of the query's parameters, so that every engine has them wherever it runs, and
without a file: ad a is in campaign a modulo `campaigns`, user u at location u modulo `locations`.
What is looked up is an array all the same, and whoever reads it does not know the rule. The tables
of an import are in its dataset, as dictionaries, and `tables` names it: ids are as the files have
them there, and no rule would fit.

Rejected: to hand a dataset's tables to `Workload.bind`, since programs are made in many places
where there is no dataset (a check, a plan, a task of Spark), and tables as streams of their own,
which would make joins of the look-ups.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from streamlab.workloads.inputs.ads.schema import NONE
from streamlab.workloads.model import ModelError, Parameter, Params

if TYPE_CHECKING:
    from streamlab.workloads.datasets.dataset import Dataset
    from streamlab.workloads.inputs.ads.databases.lookup import System

Table = npt.NDArray[np.int32]

SEPARATOR = "\t"
"""In a dictionary of an import, between what an id stands for and what is looked up by it."""

ADS, USERS = "ads", "users"
"""Dictionaries of an import: `ad TAB campaign`, `user TAB location`."""

Find = Callable[[int], int]
"""Looks an id up, in plain Python and compiled; `NONE` for one that is not in the table."""

MEMORY, SQLITE, DUCKDB = "memory", "sqlite", "duckdb"

_WHERE = {
    "tables": Parameter(
        default="",
        help="id of the imported dataset whose tables to use; empty: tables by rule",
    ),
    "lookup": Parameter(
        default=MEMORY,
        help=f"where tables are: {MEMORY}, or a database that is asked for each event: {SQLITE}, "
        f"{DUCKDB}",
    ),
}

OF_ADS = {
    "ads": Parameter(default=1000, help="ads in the table of ads", minimum=1, maximum=10**7),
    "campaigns": Parameter(default=100, help="campaigns in it", minimum=1, maximum=10**6),
    **_WHERE,
}
"""Query parameters of those that look up campaigns."""

OF_USERS = {
    "users": Parameter(default=1000, help="users in the table of users", minimum=1, maximum=10**7),
    "locations": Parameter(default=20, help="locations in it", minimum=1, maximum=10**6),
    **_WHERE,
}
"""Query parameters of those that look up locations."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table.

    Attributes:
        of: what is looked up, by id; nowhere writable.
        count: number of different values, which are from 0.
    """

    of: Table
    count: int


def campaign_of_ad(query: Params) -> Lookup:
    """Return the campaign of each ad.

    Raises:
        ModelError: the dataset that `tables` names has none, or a damaged one.
    """
    return _lookup(ADS, int(query["ads"]), int(query["campaigns"]), _whole_id(query))


def location_of_user(query: Params) -> Lookup:
    """Return the location of each user.

    Raises:
        ModelError: the dataset that `tables` names has none, or a damaged one.
    """
    return _lookup(USERS, int(query["users"]), int(query["locations"]), _whole_id(query))


def with_whole_id(query: Params) -> Params:
    """Return a query that names its tables by their dataset's whole id, which says what is in them.

    Raises:
        ModelError: `tables` names no dataset.
    """
    return {**query, "tables": _whole_id(query)} if "tables" in query else dict(query)


def find_campaign(query: Params) -> Find:
    """Return what looks up the campaign of an ad.

    Raises:
        ModelError: `tables` names no dataset that has them, or `lookup` no place; or a database
            cannot be made or read.
    """
    return _find(ADS, campaign_of_ad(query).of, str(query["lookup"]))


def find_location(query: Params) -> Find:
    """Return what looks up the location of a user.

    Raises:
        ModelError: as `find_campaign`.
    """
    return _find(USERS, location_of_user(query).of, str(query["lookup"]))


def _find(name: str, table: Table, where: str) -> Find:
    if where in (SQLITE, DUCKDB):
        from streamlab.workloads.inputs.ads.databases.lookup import look_up

        return look_up(_system(where), name, table)
    if where != MEMORY:
        raise ModelError(
            f"query parameter lookup is {where!r}; give {MEMORY}, {SQLITE} or {DUCKDB}"
        )
    rows = len(table)

    def find(of: int) -> int:
        return table[of] if 0 <= of < rows else NONE

    return find


def _system(name: str) -> "System":
    # Not from the package: what else of it is loaded is no part of a program's code.
    if name == SQLITE:
        from streamlab.workloads.inputs.ads.databases.sqlite_lookup import SQLITE as SYSTEM_SQLITE

        return SYSTEM_SQLITE
    from streamlab.workloads.inputs.ads.databases.duckdb_lookup import DUCKDB as SYSTEM_DUCKDB

    return SYSTEM_DUCKDB


@lru_cache(maxsize=8)
def _lookup(name: str, rows: int, values: int, dataset: str) -> Lookup:
    if dataset:
        return _of_dataset(name, dataset)
    table = np.arange(rows, dtype=np.int32) % np.int32(values)
    return Lookup(_sealed(table), min(rows, values))


def _whole_id(query: Params) -> str:
    named = str(query["tables"])
    return _id_of(named) if named else ""


@lru_cache(maxsize=8)
def _id_of(prefix: str) -> str:
    return _dataset(prefix).id


def _dataset(prefix: str) -> "Dataset":
    from streamlab.workloads.datasets.catalog import Catalog
    from streamlab.workloads.datasets.errors import DatasetError

    try:
        return Catalog.default().get(prefix)
    except DatasetError as error:
        raise ModelError(f"query parameter tables is {prefix!r}: {error}") from error


def _of_dataset(name: str, prefix: str) -> Lookup:
    from streamlab.workloads.datasets.errors import DamagedError
    from streamlab.workloads.datasets.integrity import dictionary_texts
    from streamlab.workloads.datasets.remedy import rebuild_command

    dataset = _dataset(prefix)
    for dictionary in dataset.dictionaries:
        if dictionary.name == name:
            break
    else:
        raise ModelError(
            f"query parameter tables is {prefix!r}, a dataset without a table of {name}; give one "
            "that `lab data import open-bandit` or `ad-events` made"
        )
    try:
        texts = dictionary_texts(dictionary)
    except DamagedError as error:
        raise ModelError(
            f"query parameter tables is {prefix!r}: {error}; {rebuild_command(dataset)}"
        ) from error
    numbers: dict[str, int] = {}
    table = [numbers.setdefault(text.rpartition(SEPARATOR)[2], len(numbers)) for text in texts]
    return Lookup(_sealed(np.array(table, dtype=np.int32)), len(numbers))


def _sealed(table: Table) -> Table:
    table.flags.writeable = False
    return table
