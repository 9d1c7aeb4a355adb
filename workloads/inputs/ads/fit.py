"""Checks that a query's tables have a row for every id in a dataset."""

from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.inputs.ads.tables import ADS, USERS, campaign_of_ad, location_of_user
from streamlab.workloads.model import Params


def unfit(query: Params, dataset: Dataset) -> str:
    """Return the reason why a dataset cannot be the input of a query, or "" if it can.

    Reads the column of ids, unless the dataset has its own tables, which are complete.
    """
    if "tables" not in query:  # the query has no look-ups
        return ""
    selected = str(query["tables"])
    own = {dictionary.name for dictionary in dataset.dictionaries} & {ADS, USERS}
    if own and not (selected and dataset.id.startswith(selected)):
        actual = f"those of {selected}" if selected else "generated tables"
        return (
            f"dataset {dataset.id[:8]} has its own tables, but the query uses {actual}; give it "
            f"query parameter tables={dataset.id[:8]}"
        )
    if own:
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
