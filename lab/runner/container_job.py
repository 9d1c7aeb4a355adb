"""Replaces the paths of a job by the paths of the same files in the trial's container.

/data/0, /data/1, ...   folders with the input; read-only
/workload               folder of the workload's file, if a path names the workload; read-only
/trial                  specification and evidence; writable
"""

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from streamlab.lab.isolate.container import Mount
from streamlab.lab.trial.spec import BrokerJob, CeilingJob, Job
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.datasets.oracle_cache import answers_folder
from streamlab.workloads.references import file_of

FOLDER = PurePosixPath("/trial")
WORKLOAD = PurePosixPath("/workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerJob:
    """A job with the paths of its container.

    Attributes:
        mounts: folders of this machine that the container sees.
        hidden: paths in the container that look empty.
    """

    job: Job
    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...] = ()


def translate(job: Job, folder: Path) -> ContainerJob:
    """Return a job for a container in which `folder` is mounted as FOLDER.

    Paths in the run directory become None, because the judge writes these files on this machine.
    """
    trial_mount = Mount(host=folder, target=str(FOLDER), writable=True)
    if isinstance(job, CeilingJob | BrokerJob):
        return ContainerJob(job=job, mounts=(trial_mount,))
    paths: dict[str, object] = {
        field: None
        for field, value in msgspec.structs.asdict(job).items()
        if isinstance(value, Path)
    }
    dataset = job.dataset.complete()
    files = [path for stream in dataset.streams for path in stream.paths]
    files += [file.path for file in dataset.dictionaries]
    hosts = dict.fromkeys(path.absolute().parent for path in files)
    targets = {host: PurePosixPath(f"/data/{number}") for number, host in enumerate(hosts)}
    mounts = [Mount(host=host, target=str(path)) for host, path in targets.items()]
    answers = answers_folder(job.dataset)
    if answers is not None and not answers.is_dir():
        answers = None
    file = None if job.workload is None else file_of(job.workload)
    if file is not None:
        mounts.append(Mount(host=file.parent, target=str(WORKLOAD)))
        paths["workload"] = str(WORKLOAD / str(job.workload).removeprefix(f"{file.parent}/"))
    return ContainerJob(
        job=msgspec.structs.replace(job, dataset=_dataset(job.dataset, targets), **paths),
        mounts=(*mounts, trial_mount),
        hidden=() if answers is None else (str(targets[answers.parent.absolute()] / answers.name),),
    )


def _dataset(dataset: Dataset, targets: dict[Path, PurePosixPath]) -> Dataset:
    return replace(
        dataset,
        streams=tuple(_stream(stream, targets) for stream in dataset.streams),
        dictionaries=tuple(
            replace(file, path=_path(file.path, targets)) for file in dataset.dictionaries
        ),
    )


def _stream(stream: DatasetStream, targets: dict[Path, PurePosixPath]) -> DatasetStream:
    whole_stream = None if stream.whole is None else _stream(stream.whole, targets)
    further = tuple(replace(file, path=_path(file.path, targets)) for file in stream.further)
    return replace(stream, path=_path(stream.path, targets), further=further, whole=whole_stream)


def _path(path: Path, targets: dict[Path, PurePosixPath]) -> Path:
    return Path(targets[path.absolute().parent] / path.name)
