"""What the lab tells the process of a trial, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.matrix.load.spec import LoadSpec
from lab.measure.energy.estimate import Estimate
from workloads.datasets.dataset import Dataset, DatasetStream
from workloads.model import Alphabet, Workload
from workloads.registry import workload as find_workload

LACKED_SPACE = "lab_lacked_space"
"""Key of a result: true when the lab itself, and no engine, found no space for what it writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """One trial, complete: its process reads no matrix and no catalogue.

    Attributes:
        engine, variant, workers, batch, options: as in the cell; batch is 1 where there is no
        such notion.
        dataset: the input, whole.
        workload: its name; None: the one that the dataset is named after.
        query: query parameters of the workload; those that are left out are at their defaults.
        load: how it is offered; None for catch-up. The trial cuts the input to the load's length.
        planted_slowdown: share of the run's own time that the lab adds to the timed part as busy
            work, to try a gate; recorded with the result, 0 in every real trial.
        spawned_ns: monotonic clock when the lab started the process; that clock is the machine's.
        series: where to write the series (`lab.measure.series`, Parquet).
        reconfigurations: where to write those of an elastic operator (Parquet).
        histograms: where to write the latency histograms (`lab.measure.hdr`).
        outputs: where to write the answer (Parquet), None when it is not kept.
        runs_oracle_only: make and cache the oracle's answer, and run no engine.
        measures_ceiling_only: measure what the engine's source can hand over, and run nothing.
        energy: name of the energy provider, chosen by the lab.
        energy_reason: why it is `none`; None otherwise.
        estimate: what the energy estimate assumes; None: no estimate.
    """

    engine: str
    variant: str
    workers: int
    batch: int
    options: Mapping[str, Any]
    dataset: Dataset
    spawned_ns: int
    workload: str | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    series: Path | None = None
    reconfigurations: Path | None = None
    histograms: Path | None = None
    outputs: Path | None = None
    runs_oracle_only: bool = False
    load: LoadSpec | None = None
    planted_slowdown: float = 0.0
    measures_ceiling_only: bool = False
    energy: str = "none"
    energy_reason: str | None = None
    estimate: Estimate | None = None


def write_spec(spec: TrialSpec, path: Path) -> None:
    """Write a specification as JSON."""
    content = {
        "engine": spec.engine,
        "variant": spec.variant,
        "workers": spec.workers,
        "batch": spec.batch,
        "options": dict(spec.options),
        "dataset": dataset_to_json(spec.dataset),
        "workload": spec.workload,
        "query": dict(spec.query),
        "spawned_ns": spec.spawned_ns,
        "series": _text(spec.series),
        "reconfigurations": _text(spec.reconfigurations),
        "histograms": _text(spec.histograms),
        "outputs": _text(spec.outputs),
        "runs_oracle_only": spec.runs_oracle_only,
        "load": None if spec.load is None else asdict(spec.load),
        "planted_slowdown": spec.planted_slowdown,
        "measures_ceiling_only": spec.measures_ceiling_only,
        "energy": spec.energy,
        "energy_reason": spec.energy_reason,
        "estimate": None if spec.estimate is None else asdict(spec.estimate),
    }
    path.write_text(json.dumps(content, default=str), encoding="utf-8")


def read_spec(path: Path) -> TrialSpec:
    """Read what `write_spec` wrote."""
    content = json.loads(path.read_text(encoding="utf-8"))
    for key in ("series", "reconfigurations", "histograms", "outputs"):
        content[key] = None if content[key] is None else Path(content[key])
    content["load"] = None if content["load"] is None else LoadSpec(**content["load"])
    estimate = content["estimate"]
    content["estimate"] = None if estimate is None else Estimate(**estimate)
    content["dataset"] = _dataset_from_json(content["dataset"])
    return TrialSpec(**content)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def workload_of(spec: TrialSpec) -> Workload:
    """Return the workload of a trial, for its query parameters.

    Raises:
        ModelError: there is none of this name, or a query parameter is bad.
    """
    return find_workload(spec.workload or spec.dataset.workload).bound(spec.query)


def dataset_to_json(dataset: Dataset) -> dict[str, Any]:
    """Return a whole dataset as JSON values."""
    return {
        "id": dataset.id,
        "workload": dataset.workload,
        "kinds": dataset.alphabet.kinds,
        "keys": dataset.alphabet.keys,
        "origin": dict(dataset.origin),
        "source": dataset.source,
        "licence": dataset.licence,
        "streams": [
            {
                "name": stream.name,
                "kinds": stream.kinds,
                "path": str(stream.path),
                "rows": stream.rows,
                "ts_min": stream.ts_min,
                "ts_max": stream.ts_max,
                "columns": stream.columns,
                "sha256": stream.sha256,
                "heartbeats": stream.heartbeats,
                "file_sha256": stream.file_sha256,
                "stamp": stream.stamp,
            }
            for stream in dataset.streams
        ],
    }


def _dataset_from_json(content: dict[str, Any]) -> Dataset:
    streams = tuple(
        DatasetStream(
            **{
                **stream,
                "kinds": tuple(stream["kinds"]),
                "path": Path(stream["path"]),
                "columns": tuple((name, dtype) for name, dtype in stream["columns"]),
                "heartbeats": tuple(stream["heartbeats"]),
            }
        )
        for stream in content["streams"]
    )
    return Dataset(
        id=content["id"],
        workload=content["workload"],
        alphabet=Alphabet(kinds=tuple(content["kinds"]), keys=content["keys"]),
        streams=streams,
        origin=content["origin"],
        source=content["source"],
        licence=content["licence"],
    )
