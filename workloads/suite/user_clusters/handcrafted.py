"""Yahoo query VI, written by hand: an operator O+ (`model.operators`) by location, with a row for each user.

It merges the three stages of the typed form. Events update the user's row in the location's table
directly, without a second key and without sorting.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.declaration import blocks_in
from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, NONE, TYPES
from streamlab.workloads.inputs.ads.tables import find_location, location_of_user
from streamlab.workloads.model import InputType, Operator, Params, Query, Window
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.suite.user_clusters.kmeans import DIMENSIONS, cluster

KINDS = len(TYPES)
OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("location", np.int64),
        ("cluster", np.int32),
        ("users", np.int64),
        ("views_q8", np.int64),
        ("clicks_q8", np.int64),
        ("purchases_q8", np.int64),
    ]
)


def program(query: Params) -> Query:
    """Return the query for query parameters."""
    location_of = location_of_user(query).values
    find = find_location(query)
    room = np.bincount(location_of)
    # The rank of a user's id among the users of the location.
    place_of = np.empty(len(location_of), dtype=np.int32)
    for location in range(len(room)):
        place_of[location_of == location] = np.arange(room[location])
    places = int(room.max())
    period_ms = blocks_in(query, "period_ms") * int(query["markers_ms"])
    k, iterations = int(query["clusters"]), int(query["iterations"])

    def keys(t: Any, out: Any) -> None:
        location = find(t.user)
        if location != NONE:
            out.add(location)

    def update(w: Any, t: Any, out: Any) -> None:
        place = place_of[t.user]
        w[0].active[place] = 1
        if 0 <= t.type < KINDS:
            w[0].counts[place * KINDS + t.type] += 1

    def expire(w: Any, out: Any) -> None:
        """Cluster the active users of a location, and emit the clusters."""
        state = w[0]
        count = 0
        for place in range(places):
            if state.active[place] != 0:
                for d in range(DIMENSIONS):
                    state.points[count * DIMENSIONS + d] = state.counts[place * KINDS + d]
                count += 1
        if count > 0:
            means = state.centroids
            clustered = cluster(state.points, count, k, iterations, means, state.sizes, state.sums)
            for c in range(clustered):
                base = c * DIMENSIONS
                out.emit(
                    state.key, c, state.sizes[c], means[base], means[base + 1], means[base + 2]
                )

    def slide(w: Any) -> None:
        """Keep all counts; no user is active in the next period yet."""
        for place in range(places):
            w[0].active[place] = 0

    clusters = Operator(
        name="clusters",
        inputs=(InputType(name=EVENT, fields=FIELDS),),
        window=Window(advance=period_ms, size=period_ms, type=SINGLE),
        output=OUTPUT,
        state=np.dtype(
            [
                ("active", np.int8, (places,)),
                ("counts", np.int64, (places * KINDS,)),
                ("points", np.int64, (places * DIMENSIONS,)),
                ("centroids", np.int64, (k * DIMENSIONS,)),
                ("sums", np.int64, (k * DIMENSIONS,)),
                ("sizes", np.int64, (k,)),
            ]
        ),
        keys=keys,
        update=update,
        expire=expire,
        slide=slide,
        max_outputs=k,
    )
    return Query(name="user_clusters", operators=(clusters,))
