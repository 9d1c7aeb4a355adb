"""Describes typed graphs and their parameters to Java, for variants `typed` and `handcrafted`."""

from collections.abc import Mapping
from dataclasses import replace

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.protocol import Task
from streamlab.engines.storm.files import extent
from streamlab.workloads.inputs.ads.databases.lookup import table_database
from streamlab.workloads.inputs.ads.databases.sqlite import uri
from streamlab.workloads.inputs.ads.databases.store import database_path
from streamlab.workloads.inputs.ads.tables import (
    ADS,
    MEMORY,
    USERS,
    campaign_of_ad,
    location_of_user,
)
from streamlab.workloads.model import Dataflow, Input
from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.plan import Deployment, Unit, deploy, streams_of
from streamlab.workloads.model.dataflow.reference import MAX_MARKERS, first_marker
from streamlab.workloads.suite.smart_home_prediction.tree import read_tree, write_tree
from streamlab.workloads.suite.user_activity.persist import NOWHERE, TABLE

WORKLOADS = frozenset(
    {
        *("ad_enrichment", "user_activity", "location_history", "campaign_views"),
        *("campaign_views_tumbling", "user_clusters", "smart_home_prediction"),
    }
)
"""The workloads in Queries.java and Topologies.java."""
NUMBER_BYTES = 8
"""Size of each field of an answer in a file; Output.java writes all of them as 64-bit integers."""


def deployment_of(task: Task, data: Input) -> Deployment:
    """Return the deployment of a task's graph, without partial aggregates, which the paper does not have."""
    flow = task.workload.program
    assert isinstance(flow, Dataflow)
    streams = streams_of(flow, (stream.kinds for stream in data.streams))
    return deploy(flow, task.workers, streams=streams, partials=False)


def topology_settings(task: Task, data: Input) -> Mapping[str, object]:
    """Write tables and trees to the task's folder, and return the settings of its topology.

    Raises:
        UnsupportedError: the input has too many markers.
    """
    deployment = deployment_of(task, data)
    flow = deployment.flow
    first, last = extent(data)
    if (last - first) // flow.markers > MAX_MARKERS:
        raise UnsupportedError(
            f"{flow.name}: storm supports at most {MAX_MARKERS:,} markers; give markers a longer period"
        )
    is_typed = task.variant == "typed"
    return {
        "spouts": deployment.units[deployment.sources[0]].degree,
        "sinks": deployment.units[-1].degree if is_typed else task.workers,
        "answer_bytes": NUMBER_BYTES * len(flow.output.names or ()),
        "markers": flow.markers,
        "first_marker": first_marker(first, flow.markers) if data.events else last + 1,
        **{f"query.{name}": value for name, value in task.workload.query_params.items()},
        **_tables(task),
        **(_units(deployment) if is_typed else {}),
    }


def _tables(task: Task) -> Mapping[str, object]:
    """Write the tables and databases for look-ups of operators; return the paths of databases."""
    query, settings = task.workload.query_params, {}
    for name, lookup in ((ADS, campaign_of_ad), (USERS, location_of_user)):
        if name in query:
            values = lookup(query).values
            values.astype("<i4").tofile(task.scratch / "table")
            if query["lookup"] != MEMORY:
                settings["database"] = uri(table_database(name, values), "immutable=1")
    if query.get("persist", NOWHERE) != NOWHERE:
        settings["persisted"] = str(database_path(TABLE))
    if "depth" in query:
        write_tree(read_tree(), task.scratch / "tree.csv")
    return settings


def _units(deployment: Deployment) -> Mapping[str, object]:
    """Return the settings of a deployment's bolts, as Unit.java reads them."""
    names = [unit.name for unit in deployment.units]
    bolts = fuse_sorts(deployment)
    settings: dict[str, object] = {"units": len(bolts)}
    for number, unit in enumerate(bolts):
        fields = {
            "name": unit.name,
            "vertex": unit.vertex.name,
            "inputs": ",".join(names[i] for i in unit.inputs),
            "route": unit.route.name,
            "degree": unit.degree,
            "marks": str(unit.handles_markers).lower(),
        }
        settings |= {f"unit.{number}.{name}": value for name, value in fields.items()}
    return settings


def fuse_sorts(deployment: Deployment) -> list[Unit]:
    """Return the units of a deployment without SORTs: each runs inside the unit that reads it (section 5)."""
    bolts = []
    for unit in deployment.units:
        predecessors = [deployment.units[i] for i in unit.inputs]
        if predecessors and predecessors[0].vertex.is_sort:
            assert unit.route is Route.FORWARD, (
                "HASH before SORT suffices for the operator after it"
            )
            unit = replace(unit, inputs=predecessors[0].inputs, route=predecessors[0].route)
        if not unit.vertex.is_sort:
            bolts.append(unit)
    return bolts


def in_words(task: Task, data: Input) -> str:
    """Return a description of a topology for people."""
    if task.variant == "handcrafted":
        return f"Storm's groupings, {task.workers} tasks of each bolt"
    bolts = (
        f"{unit.name} x {unit.degree} ({unit.route.value})"
        for unit in fuse_sorts(deployment_of(task, data))
        if unit.inputs
    )
    return f"bolts {', '.join(bolts)}"
