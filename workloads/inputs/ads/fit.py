"""Whether the tables of a query have all that a dataset looks up in them."""

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.inputs.ads.tables import ADS, USERS, campaign_of_ad, location_of_user
from streamlab.workloads.model import Params


def unfit(query: Params, dataset: Dataset) -> str:
    """Return why a dataset cannot be input of a query; "" when it can.

    Reads the column of ids, unless the dataset has tables of its own, where each id has its row.
    """
    if "tables" not in query:  # it looks nothing up
        return ""
    named = str(query["tables"])
    own = {dictionary.name for dictionary in dataset.dictionaries} & {ADS, USERS}
    if own and not (named and dataset.id.startswith(named)):
        given = f"those of {named}" if named else "tables by rule"
        return (
            f"dataset {dataset.id[:8]} has tables of its own, and the query has {given}; give it "
            f"query parameter tables={dataset.id[:8]}"
        )
    if own:
        return ""
    if ADS in query:
        found = _missing(dataset, "ad", len(campaign_of_ad(query).of))
        if found is not None:
            return _told(query, dataset, f"ad {found}", ADS, found)
    if USERS in query:
        found = _missing(dataset, "user", len(location_of_user(query).of))
        if found is not None:
            return _told(query, dataset, f"user {found}", USERS, found)
    return ""


def _told(query: Params, dataset: Dataset, what: str, parameter: str, found: int) -> str:
    remedy = f"give query parameter {parameter}={found + 1} or more"
    if query["tables"]:
        remedy = "give the tables of that dataset"
    elif found < 0:
        remedy = "ids are from 0"
    rows = f"the table of {parameter} has rows from 0 to {int(query[parameter]) - 1}"
    if query["tables"]:
        rows = f"the tables of dataset {query['tables']} have no such row"
    return f"dataset {dataset.id[:8]} has {what}, and {rows}; {remedy}"


def _missing(dataset: Dataset, column: str, rows: int) -> int | None:
    """Return an id that is in no row of a table of so many; the lowest below 0, or the highest."""
    import pyarrow.compute as pc  # heavy
    import pyarrow.parquet as pq

    lowest, highest = 0, -1
    for stream in dataset.streams:
        if stream.rows:
            ends = pc.min_max(pq.read_table(stream.path, columns=[column]).column(column)).as_py()
            lowest, highest = min(lowest, ends["min"]), max(highest, ends["max"])
    if lowest < 0:
        return lowest
    return highest if highest >= rows else None
