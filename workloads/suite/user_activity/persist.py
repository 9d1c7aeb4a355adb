"""Stores the counts of Yahoo query II in a database at each marker, if parameter `persist` says so."""

from streamlab.workloads.inputs.ads.databases import store
from streamlab.workloads.model import ModelError, Parameter, Params

TABLE = "user_activity"
COLUMNS = ("user", "ts", "views", "clicks", "purchases")
NOWHERE, SQLITE = "none", "sqlite"

PERSIST = {
    "persist": Parameter(
        default=NOWHERE,
        help=f"where counts are stored at each marker: {NOWHERE}, or a database: {SQLITE}",
    )
}


def row_store(query: Params) -> store.StoreRow:
    """Return a function that stores a user's counts (`COLUMNS`) and returns 0 on success.

    Raises:
        ModelError: query parameter `persist` is unknown, or the database cannot be made.
    """
    system = query["persist"]
    if system == SQLITE:
        return store.row_store(TABLE, COLUMNS)
    if system != NOWHERE:
        raise ModelError(f"query parameter persist is {system!r}; give {NOWHERE} or {SQLITE}")
    return _store_nothing


def _store_nothing(user: int, ts: int, views: int, clicks: int, purchases: int) -> int:
    return 0
