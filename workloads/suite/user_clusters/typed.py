"""Yahoo query VI as a typed graph (`model.dataflow`): looks up locations, sums events, clusters users.

Every `period_ms` the query clusters the users who were active in the period, by their actions since the
beginning. These users reach the last stage at the marker that closes the period. SORT orders them by
id, so k-means begins with the same points everywhere.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.declaration import blocks_in
from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, NONE, PURCHASE, VIEW
from streamlab.workloads.inputs.ads.tables import find_location, location_of_user
from streamlab.workloads.model import Dataflow, Params
from streamlab.workloads.model.dataflow import (
    Flow,
    O,
    OpKeyedOrdered,
    OpKeyedUnordered,
    OpStateless,
    U,
    of_events,
)
from streamlab.workloads.suite.user_clusters.kmeans import DIMENSIONS, cluster

LOCATED = U("user", np.dtype([("ts", np.int64), ("location", np.int32), ("type", np.int8)]))
_COUNTS = [("views", np.int64), ("clicks", np.int64), ("purchases", np.int64)]
_FEATURES = np.dtype([("ts", np.int64), ("user", np.int64), *_COUNTS])
CLUSTERS = O(
    "location",
    np.dtype(
        [
            ("ts", np.int64),
            ("cluster", np.int32),
            ("users", np.int64),
            ("views_q8", np.int64),
            ("clicks_q8", np.int64),
            ("purchases_q8", np.int64),
        ]
    ),
)
HISTORY = np.dtype([("location", np.int32), ("last_ts", np.int64), *_COUNTS])
LONG_AGO, NOWHERE = -(2**62), -(2**31)
"""Below all times and locations: the identities of max."""


def take(a: Any, key: int, value: Any) -> None:
    """Make the history of one event."""
    a.location = value.location
    a.last_ts = value.ts
    a.views = value.type == VIEW
    a.clicks = value.type == CLICK
    a.purchases = value.type == PURCHASE


def nothing(a: Any) -> None:
    """Make the identity: the history of no event."""
    a.location = NOWHERE
    a.last_ts = LONG_AGO


def combine(x: Any, y: Any, into: Any) -> None:
    """Add two histories of a user."""
    into.location = max(x.location, y.location)
    into.last_ts = max(x.last_ts, y.last_ts)
    into.views = x.views + y.views
    into.clicks = x.clicks + y.clicks
    into.purchases = x.purchases + y.purchases


def update_state(s: Any, agg: Any) -> None:
    """Add a block to a user's history."""
    s.location = max(s.location, agg.location)
    s.last_ts = max(s.last_ts, agg.last_ts)
    s.views += agg.views
    s.clicks += agg.clicks
    s.purchases += agg.purchases


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    find = find_location(query)
    room = int(np.bincount(location_of_user(query).values).max())
    period_ms = blocks_in(query, "period_ms") * int(query["markers_ms"])
    k, iterations = int(query["clusters"]), int(query["iterations"])

    def locate(key: int, value: Any, out: Any) -> None:
        location = find(value.user)
        if location != NONE:
            out.emit(value.user, value.ts, location, value.type)

    def emit_features(s: Any, key: int, m: Any, out: Any) -> None:
        """At the end of a period, emit the counts of a user who was active in it."""
        if m.ts % period_ms == 0 and s.last_ts >= m.ts - period_ms:
            out.emit(s.location, m.ts, key, s.views, s.clicks, s.purchases)

    def add_user(s: Any, key: int, value: Any, out: Any) -> None:
        s.points[s.count * DIMENSIONS] = value.views
        s.points[s.count * DIMENSIONS + 1] = value.clicks
        s.points[s.count * DIMENSIONS + 2] = value.purchases
        s.count += 1

    def emit_clusters(s: Any, key: int, m: Any, out: Any) -> None:
        """Cluster the users of a location, emit the clusters, and start over."""
        if s.count > 0:
            clustered = cluster(s.points, s.count, k, iterations, s.centroids, s.sizes, s.sums)
            for c in range(clustered):
                base = c * DIMENSIONS
                means = s.centroids
                out.emit(key, m.ts, c, s.sizes[c], means[base], means[base + 1], means[base + 2])
            s.count = 0

    flow = Flow("user_clusters", markers=int(query["markers_ms"]))
    events = flow.source(EVENT, FIELDS)
    located = flow.add(
        OpStateless(name="locate", reads=of_events(FIELDS), gives=LOCATED, on_item=locate), events
    )
    features = flow.add(
        OpKeyedUnordered(
            name="features",
            reads=LOCATED,
            gives=U("location", _FEATURES),
            aggregate=HISTORY,
            state=HISTORY,
            take=take,
            identity=nothing,
            initial_state=nothing,
            combine=combine,
            update_state=update_state,
            on_marker=emit_features,
        ),
        located,
    )
    clusters = OpKeyedOrdered(
        name="clusters",
        reads=O("location", _FEATURES),
        gives=CLUSTERS,
        state=np.dtype(
            [
                ("count", np.int64),
                ("points", np.int64, (room * DIMENSIONS,)),
                ("centroids", np.int64, (k * DIMENSIONS,)),
                ("sums", np.int64, (k * DIMENSIONS,)),
                ("sizes", np.int64, (k,)),
            ]
        ),
        on_item=add_user,
        on_marker=emit_clusters,
        max_outputs=k,
    )
    return flow.gives(flow.add(clusters, flow.sort(features)))
