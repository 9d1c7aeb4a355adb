"""What the lab tells a child process to do, as JSON: a trial, an oracle's answer, or a ceiling."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from streamlab.lab.load.spec import LoadSpec
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Workload
from streamlab.workloads.registry import workload as find_workload


class EngineTrial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """One trial of an engine, complete: its process reads no matrix and no catalogue.

    Attributes:
        engine, variant, workers, batch, options: as in the cell; batch is 1 where there is no
        such notion.
        dataset: the input, whole.
        workload: a reference to it (`streamlab.workloads.registry`); None: the name of the dataset's.
        query: query parameters of the workload; those that are left out are at their defaults.
        code: `Workload.code` of what is to be run; None: whatever is found.
        load: how it is offered; None for catch-up. The trial cuts the input to the load's length.
        planted_slowdown: share of the run's own time that the lab adds to the timed part as busy
            work, to try a gate; recorded with the result, 0 in every real trial.
        planted_memory: share by which the lab raises the peak of memory, to try a gate.
        planted_delay_ns: by how much one output in a hundred is reported late, to try a gate.
        spawned_ns: monotonic clock when the lab started the process, set by the launcher;
            that clock is the machine's.
        series: where to write the series (`streamlab.lab.measure.series`, Parquet).
        reconfigurations: where to write those of an elastic operator (Parquet).
        histograms: where to write the latency histograms (`streamlab.lab.measure.hdr`).
        outputs: where to write the answer (Parquet), None when it is not kept.
        expected_outputs: as in `streamlab.engines.protocol.Task`.
        energy: name of the energy provider, chosen by the lab.
        energy_reason: why it is `none`; None otherwise.
    """

    engine: str
    variant: str
    workers: int
    batch: int
    options: Mapping[str, Any]
    dataset: Dataset
    workload: str | None = None
    query: Mapping[str, Any] = {}
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
    energy: str = "none"
    energy_reason: str | None = None


class OracleJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """Make the oracle's answer and cache it; the attributes are those of `EngineTrial`."""

    dataset: Dataset
    workload: str | None = None
    query: Mapping[str, Any] = {}


class CeilingJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """Measure what the source of an engine's variant can hand over; no engine runs."""

    engine: str
    variant: str
    batch: int


Job = EngineTrial | OracleJob | CeilingJob


class EditedError(Exception):
    """The code of a workload is not what a trial was to run."""


def write_job(job: Job, path: Path) -> None:
    """Write a job as JSON; bytes of a path that are no text stay as they are, as surrogates."""
    path.write_text(json.dumps(fields_of(job)), encoding="ascii")


def read_job(path: Path) -> Job:
    """Read what `write_job` wrote."""
    return job_of(json.loads(path.read_text(encoding="ascii")))


def job_of(fields: object) -> Job:
    """Return the job of what `fields_of` gave.

    Raises:
        ValueError: it is none.
    """
    job: Job = msgspec.convert(fields, type=Job, dec_hook=_value)
    return job


def fields_of(job: Job) -> dict[str, Any]:
    """Return the fields that differ from their defaults, as JSON values, and `type`."""
    fields: dict[str, Any] = msgspec.to_builtins(job, enc_hook=_text)
    return fields


def _text(value: object) -> str:
    return str(value.absolute() if isinstance(value, Path) else value)


def _value(kind: type, value: object) -> object:
    return Path(str(value)) if kind is Path else value


def workload_of(job: EngineTrial | OracleJob) -> Workload:
    """Return the workload of a trial or an oracle, for its query parameters.

    Raises:
        ModelError: there is none of this name, or a query parameter is bad.
        EditedError: its code is not what was to be run.
    """
    found = find_workload(job.workload or job.dataset.workload).bound(job.query)
    if isinstance(job, EngineTrial) and job.code not in (None, found.code()):
        raise EditedError(
            f"the code of workload {found.name} is not what the run was started with: it was "
            "edited meanwhile, or reads what differs from process to process; start a new run"
        )
    return found
