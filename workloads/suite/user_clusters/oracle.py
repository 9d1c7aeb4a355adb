"""Computes the expected clusters, by k-means over matrices of users at the end of each period."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from streamlab.workloads.inputs.ads.blocks import closed_blocks, look_up_ids
from streamlab.workloads.inputs.ads.schema import TYPES
from streamlab.workloads.inputs.ads.tables import location_of_user
from streamlab.workloads.model import Columns, Input, Params

Matrix = npt.NDArray[np.int64]

_COLUMNS = ("ts", "location", "cluster", "users", "views_q8", "clicks_q8", "purchases_q8")


def oracle(data: Input, query: Params) -> Columns:
    """Return the clusters (`_COLUMNS`) by end of the period, location and number."""
    rows = [np.empty((0, len(_COLUMNS)), dtype=np.int64), *_clusters(data, query)]
    columns = np.concatenate(rows).T
    table = {
        name: np.ascontiguousarray(column) for name, column in zip(_COLUMNS, columns, strict=True)
    }
    return {**table, "cluster": table["cluster"].astype(np.int32)}


def _clusters(data: Input, query: Params) -> Iterator[Matrix]:
    events = closed_blocks(data, int(query["period_ms"]))
    location_of = location_of_user(query).values
    events["location"] = look_up_ids(events["user"], location_of)
    history: Matrix = np.zeros((len(location_of), len(TYPES)), dtype=np.int64)
    for end, period in events.dropna().groupby("marker"):
        valid = period[period["type"].between(0, len(TYPES) - 1)]
        np.add.at(history, (valid["user"].to_numpy(), valid["type"].to_numpy()), 1)
        for location, location_events in period.groupby("location"):
            users = np.unique(location_events["user"].to_numpy())
            sizes, centroids = k_means(
                history[users], int(query["clusters"]), int(query["iterations"])
            )
            number = np.arange(len(sizes))
            key = np.full((len(sizes), 2), [end, location], dtype=np.int64)
            yield np.column_stack([key, number, sizes, centroids])


def k_means(points: Matrix, k: int, iterations: int) -> tuple[Matrix, Matrix]:
    """Return the sizes and centroids of at most k clusters, in units of 1/256 (`kmeans.py`)."""
    clusters = min(k, len(points))
    fine = points * 256
    centroids = fine[np.arange(clusters) * len(points) // clusters]
    sizes = np.zeros(clusters, dtype=np.int64)
    for _ in range(iterations):
        offsets = fine[:, None, :] - centroids[None, :, :]
        nearest = np.argmin((offsets * offsets).sum(axis=2), axis=1)
        sizes = np.bincount(nearest, minlength=clusters)
        for c in np.flatnonzero(sizes):
            centroids[c] = fine[nearest == c].sum(axis=0) // sizes[c]
    return sizes, centroids
