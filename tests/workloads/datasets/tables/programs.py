"""Small programs of each model, and what they make of tables."""

from pathlib import Path
from typing import Any

import numpy as np

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.tables import Table, dataset_of
from streamlab.workloads.model import Pipeline, stateless
from streamlab.workloads.model.dataflow import Dataflow, Flow, OpStateless, U, of_events
from streamlab.workloads.registry import workload

COUNTER = workload("keyed_counter").program
SUMS = workload("event_window").program
VIEWS = workload("page_view_join").program
PAIRS = workload("scale_join").program
WORDS = workload("wordcount").program


def give(t: Any, out: Any) -> None:
    out.emit(t.vid, t.speed, t.share, t.slow)


REPORT = np.dtype(
    [("vid", np.int32), ("speed", np.int16), ("share", np.float32), ("slow", np.bool_)]
)
REPORTS = Pipeline(
    name="reports",
    record="report",
    event=REPORT,
    stages=(
        stateless(name="give", output=np.dtype([("ts", np.int64), *REPORT.descr]), apply=give),
    ),
)

WEIGHED = np.dtype([("truck", np.int32), ("kg", np.int32)])
MOVED = np.dtype([("truck", np.int32), ("place", np.int32)])
STEP = np.dtype([("ts", np.int64), ("amount", np.int32)])


def weighed(key: Any, value: Any, out: Any) -> None:
    out.emit(value.truck, value.ts, value.kg)


def moved(key: Any, value: Any, out: Any) -> None:
    out.emit(value.truck, value.ts, value.place)


def _trucks() -> Dataflow:
    """Two sources, whose events have different fields."""
    flow = Flow("trucks", markers=10)
    steps = [
        flow.add(
            OpStateless(name=name, reads=of_events(fields), gives=U("truck", STEP), on_item=give),
            flow.source(kind, fields),
        )
        for name, kind, fields, give in (
            ("weighed", "weigh", WEIGHED, weighed),
            ("moved", "move", MOVED, moved),
        )
    ]
    return flow.gives(flow.sort(*steps))


TRUCKS = _trucks()


def made(table: Table, program: Any, catalog: Catalog) -> Dataset:
    return dataset_of(table, "of_tests", program, catalog)


def text(path: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(encoding))
    return path


def pipeline(**fields: Any) -> Pipeline:
    event = np.dtype(list(fields.items()))
    names = ", ".join(f"t.{name}" for name in fields)
    space: dict[str, Any] = {}
    exec(f"def give(t, out):\n    out.emit({names})", space)
    output = np.dtype([("ts", np.int64), *event.descr])
    stage = stateless(name="give", output=output, apply=space["give"])
    return Pipeline(name="p", record="r", event=event, stages=(stage,))


def columns(table: Table, catalog: Catalog, **fields: Any) -> dict[str, list[Any]]:
    (stream,) = made(table, pipeline(**fields), catalog).load().streams
    return {"ts": stream.ts.tolist(), **{n: v.tolist() for n, v in stream.payload.items()}}
