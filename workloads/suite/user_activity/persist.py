"""Where the counts of query II are kept at each marker."""

from streamlab.workloads.inputs.ads.databases.duckdb_store import duckdb_store
from streamlab.workloads.inputs.ads.databases.sqlite_store import sqlite_store
from streamlab.workloads.inputs.ads.databases.store import Keep
from streamlab.workloads.model import ModelError, Parameter, Params

TABLE = "user_activity"
COLUMNS = ("user", "ts", "views", "clicks", "purchases")
NOWHERE, SQLITE, DUCKDB = "none", "sqlite", "duckdb"

PERSIST = {
    "persist": Parameter(
        default=NOWHERE,
        help=f"where counts are kept at each marker: {NOWHERE}, or a database: {SQLITE}, {DUCKDB}",
    )
}


def keeper(query: Params) -> Keep:
    """Return what keeps a user's counts (`COLUMNS`); 0 when it has.

    Raises:
        ModelError: there is no such place, or no database can be there.
    """
    where = query["persist"]
    if where == SQLITE:
        return sqlite_store(TABLE, COLUMNS)
    if where == DUCKDB:
        return duckdb_store(TABLE, COLUMNS)
    if where != NOWHERE:
        raise ModelError(
            f"query parameter persist is {where!r}; give {NOWHERE}, {SQLITE} or {DUCKDB}"
        )
    return _keep_nothing


def _keep_nothing(user: int, ts: int, views: int, clicks: int, purchases: int) -> int:
    return 0
