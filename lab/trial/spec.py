"""Defines jobs for the measured process, as JSON: a trial, an oracle's answer, a ceiling or a broker's check."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload as find_workload


class EngineTrial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A trial of an engine, without references to a matrix or the catalogue.

    Attributes:
        engine, variant, workers, batch, options: as in the cell; batch is 1 if the variant has no batches.
        dataset: the complete input.
        workload: reference to the workload (`streamlab.workloads.registry`); None for the dataset's workload.
        query: query parameters of the workload; others have their defaults.
        code: expected `Workload.code`; None if any code is valid.
        load: specification of the offered load; None for catch-up. The trial truncates the input to its length.
        planted_slowdown: busy work that the lab adds to the timed part, as a share of the run's own time, to test a
            gate.
        planted_memory: share of the peak memory that the lab adds, to test a gate.
        planted_delay_ns: delay that the lab adds to one output in a hundred, to test a gate.
        spawned_ns: start of the process by the machine's monotonic clock; the launcher sets it.
        series: path for the series (`streamlab.lab.measure.series`, Parquet).
        reconfigurations: path for reconfigurations of an elastic operator (Parquet).
        histograms: path for latency histograms (`streamlab.lab.measure.hdr`).
        outputs: path for the answer (Parquet); None if the answer is not stored.
        expected_outputs: as in `streamlab.engines.protocol.Task`.
        topics: as in `streamlab.engines.protocol.Task`; the launcher sets it for a trial on a broker.
        loses_worker: whether a fault kills a worker, so that its CPU time and memory are unknown.
        energy: name of the energy provider, chosen by the lab.
        energy_reason: why `energy` is `none`; None otherwise.
    """

    engine: str
    variant: str
    workers: int
    batch: int
    options: Mapping[str, object]
    dataset: Dataset
    workload: str | None = None
    query: Mapping[str, object] = {}
    code: str | None = None
    load: LoadSpec | None = None
    planted_slowdown: float = 0.0
    planted_memory: float = 0.0
    planted_delay_ns: int = 0
    spawned_ns: int = 0
    series: Path | None = None
    reconfigurations: Path | None = None
    histograms: Path | None = None
    outputs: Path | None = None
    expected_outputs: int | None = None
    topics: str = ""
    loses_worker: bool = False
    energy: str = "none"
    energy_reason: str | None = None


class OracleJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A job that computes and caches the oracle's answer; attributes as in `EngineTrial`."""

    dataset: Dataset
    workload: str | None = None
    query: Mapping[str, object] = {}


class CeilingJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A job that measures the highest rate of a variant's load generator, without running the engine."""

    engine: str
    variant: str
    batch: int


class BrokerJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """A job that checks a broker and warms it up.

    With `row_bytes`, the job instead measures the highest rate of rows of this size through the broker.
    `topics` is as in `EngineTrial`.
    """

    address: str
    row_bytes: int = 0
    topics: str = ""


Job = EngineTrial | OracleJob | CeilingJob | BrokerJob


class EditedError(Exception):
    """The code of a workload differs from the code that the run started with."""


def write_job(job: Job, path: Path) -> None:
    """Write a job as JSON; path bytes that are not text become surrogates."""
    path.write_text(json.dumps(fields_of(job)), encoding="ascii")


def read_job(path: Path) -> Job:
    """Read a job from a file by `write_job`."""
    return job_of(json.loads(path.read_text(encoding="ascii")))


def job_of(fields: object) -> Job:
    """Return a job from its fields, as returned by `fields_of`."""
    job: Job = msgspec.convert(fields, type=Job, dec_hook=_decode)
    return job


def fields_of(job: Job) -> dict[str, object]:
    """Return `type` and the fields that differ from their defaults, as JSON values."""
    fields: dict[str, object] = msgspec.to_builtins(job, enc_hook=_encode)
    return fields


def _encode(value: object) -> str:
    return str(value.absolute() if isinstance(value, Path) else value)


def _decode(kind: type, value: object) -> object:
    return Path(str(value)) if kind is Path else value


def workload_of(job: EngineTrial | OracleJob) -> Workload:
    """Return the workload of a job, bound to its query parameters.

    Raises:
        ModelError: the workload is unknown, or a query parameter is bad.
        EditedError: the code of the workload has changed.
    """
    workload = find_workload(job.workload or job.dataset.workload).bound(job.query)
    if isinstance(job, EngineTrial) and job.code not in (None, workload.code()):
        raise EditedError(
            f"the code of workload {workload.name} differs from the code that the run started with: "
            "it was edited meanwhile, or uses values that differ between processes; start a new run"
        )
    return workload
