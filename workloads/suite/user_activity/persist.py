"""Where the counts of query II are kept at each marker."""

from workloads.inputs.ads.sqlite_store import Keep, sqlite_store
from workloads.model import ModelError, Parameter, Params

TABLE = "user_activity"
COLUMNS = ("user", "ts", "views", "clicks", "purchases")
NOWHERE, SQLITE = "none", "sqlite"

PERSIST = {
    "persist": Parameter(
        default=NOWHERE,
        help=f"where counts are kept at each marker: {NOWHERE}, or {SQLITE}, a database",
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
    if where != NOWHERE:
        raise ModelError(f"query parameter persist is {where!r}; give {NOWHERE} or {SQLITE}")
    return _keep_nothing


def _keep_nothing(user: int, ts: int, views: int, clicks: int, purchases: int) -> int:
    return 0
