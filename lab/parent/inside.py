"""Translates what a trial is told from this machine's paths to those of its container.

/data/0, /data/1, ...   the folders that hold the input (and the oracle's kept answer); read-only
/workload               the folder of the workload's file, where it is found by one; read-only
/trial                  specification, result, and what the trial writes; moved out afterwards
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from lab.isolate.container import Mount
from lab.trial.spec import CeilingJob, Job
from workloads.datasets.dataset import Dataset, DatasetStream
from workloads.references import file_of

FOLDER = PurePosixPath("/trial")
WORKLOAD = PurePosixPath("/workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """A job as its container sees it.

    Attributes:
        job: it, with the container's paths.
        mounts: what has to be mounted for them to be there.
        outputs: folders in which the trial's files will lie on this machine, and where what is in
            them belongs.
    """

    job: Job
    mounts: tuple[Mount, ...]
    outputs: tuple[tuple[Path, Path], ...]


def translate(job: Job, folder: Path) -> Inside:
    """Return a job for a container in which `folder` is mounted as FOLDER.

    Every path of the job itself is taken for an output; its folder is made now, so that it belongs
    to this user.
    """
    own = Mount(host=folder, inside=str(FOLDER), writable=True)
    if isinstance(job, CeilingJob):
        return Inside(job=job, mounts=(own,), outputs=())
    outputs: list[tuple[Path, Path]] = []
    paths: dict[str, Any] = {}
    for number, (field, value) in enumerate(msgspec.structs.asdict(job).items()):
        if isinstance(value, Path):
            # Files of one name may belong to different folders.
            (folder / str(number)).mkdir()
            paths[field] = Path(FOLDER / str(number) / value.name)
            outputs.append((folder / str(number), value.parent))
    whole = job.dataset.whole()
    files = [stream.path for stream in whole.streams] + [file.path for file in whole.dictionaries]
    hosts = dict.fromkeys(path.absolute().parent for path in files)
    inside = {host: PurePosixPath(f"/data/{number}") for number, host in enumerate(hosts)}
    mounts = [Mount(host=host, inside=str(path)) for host, path in inside.items()]
    file = None if job.workload is None else file_of(job.workload)
    if file is not None:
        mounts.append(Mount(host=file.parent, inside=str(WORKLOAD)))
        paths["workload"] = str(WORKLOAD / str(job.workload).removeprefix(f"{file.parent}/"))
    return Inside(
        job=msgspec.structs.replace(job, dataset=_dataset(job.dataset, inside), **paths),
        mounts=(*mounts, own),
        outputs=tuple(outputs),
    )


def collect(outputs: Sequence[tuple[Path, Path]]) -> None:
    """Move what a trial has written to where it belongs, each file whole or not at all."""
    for folder, target in outputs:
        for found in folder.iterdir():
            if found.suffix == ".partial":
                continue  # The trial was stopped while it wrote.
            target.mkdir(parents=True, exist_ok=True)
            partial = target / f"{found.name}.partial"
            shutil.move(found, partial)
            partial.replace(target / found.name)


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
