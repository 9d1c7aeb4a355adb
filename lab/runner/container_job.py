"""Translates what a trial is told from this machine's paths to those of its container.

/data/0, /data/1, ...   the folders that hold the input; read-only
/workload               the folder of the workload's file, where it is found by one; read-only
/trial                  specification and evidence
"""

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from streamlab.lab.isolate.container import Mount
from streamlab.lab.trial.spec import CeilingJob, Job
from streamlab.workloads.datasets.dataset import Dataset, DatasetStream
from streamlab.workloads.datasets.oracle_cache import answers_folder
from streamlab.workloads.references import file_of

FOLDER = PurePosixPath("/trial")
WORKLOAD = PurePosixPath("/workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """A job as its container sees it.

    Attributes:
        job: it, with the container's paths.
        mounts: what has to be mounted for them to be there.
        hidden: folders below these that are to be empty.
    """

    job: Job
    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...] = ()


def translate(job: Job, folder: Path) -> Inside:
    """Return a job for a container in which `folder` is mounted as FOLDER.

    Files of the run are the judge's to write, on this machine.
    """
    own = Mount(host=folder, inside=str(FOLDER), writable=True)
    if isinstance(job, CeilingJob):
        return Inside(job=job, mounts=(own,))
    paths: dict[str, Any] = {
        field: None
        for field, value in msgspec.structs.asdict(job).items()
        if isinstance(value, Path)
    }
    whole = job.dataset.complete()
    files = [stream.path for stream in whole.streams] + [file.path for file in whole.dictionaries]
    hosts = dict.fromkeys(path.absolute().parent for path in files)
    inside = {host: PurePosixPath(f"/data/{number}") for number, host in enumerate(hosts)}
    mounts = [Mount(host=host, inside=str(path)) for host, path in inside.items()]
    answers = answers_folder(job.dataset)
    if answers is not None and not answers.is_dir():
        answers = None
    file = None if job.workload is None else file_of(job.workload)
    if file is not None:
        mounts.append(Mount(host=file.parent, inside=str(WORKLOAD)))
        paths["workload"] = str(WORKLOAD / str(job.workload).removeprefix(f"{file.parent}/"))
    return Inside(
        job=msgspec.structs.replace(job, dataset=_dataset(job.dataset, inside), **paths),
        mounts=(*mounts, own),
        hidden=() if answers is None else (str(inside[answers.parent.absolute()] / answers.name),),
    )


def _dataset(dataset: Dataset, inside: dict[Path, PurePosixPath]) -> Dataset:
    return replace(
        dataset,
        streams=tuple(_stream(stream, inside) for stream in dataset.streams),
        dictionaries=tuple(
            replace(file, path=_path(file.path, inside)) for file in dataset.dictionaries
        ),
    )


def _stream(stream: DatasetStream, inside: dict[Path, PurePosixPath]) -> DatasetStream:
    whole = None if stream.whole is None else _stream(stream.whole, inside)
    return replace(stream, path=_path(stream.path, inside), whole=whole)


def _path(path: Path, inside: dict[Path, PurePosixPath]) -> Path:
    return Path(inside[path.absolute().parent] / path.name)
