"""Keeps what was measured for a projection, by machine, workload and input; the folder may go."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.parent.host import host
from lab.project.calibration import Calibration, Told, calibrate
from lab.project.subject import Subject
from lab.project.validation import Measured, measure, numbers_of_workers
from results.machines import exact_fields
from workloads.model.fingerprint import code_of
from workloads.places import user_folder

VERSION = 2
"""Of the file; it grows when what is measured means something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was measured.

    Attributes:
        calibration: the costs.
        measured: the runs that the simulation is compared with.
        at: when, UTC.
    """

    calibration: Calibration
    measured: tuple[Measured, ...]
    at: str


def place(subject: Subject, processes: int) -> Path:
    """Return where the measurements of a subject on this machine are kept."""
    said = {
        "version": VERSION,
        "machine": exact_fields(host()),
        "subject": asdict(subject),
        "processes": processes,
        "code": code_of(subject.workload().program),
    }
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
    return user_folder() / "projections" / f"{digest[:16]}.json"


def measurements(
    subject: Subject,
    *,
    anew: bool,
    told: Told,
    processes: int,
) -> Kept:
    """Return what was measured before, or measure now.

    Args:
        subject: what is projected.
        anew: measure whatever is kept.
        told: is called with what is done.
        processes: that measure costs, and for each point that the simulation is compared with.

    Raises:
        LabError: a process failed, or no run was verified.
    """
    path = place(subject, processes)
    if not anew and path.exists():
        try:
            return msgspec.json.decode(path.read_bytes(), type=Kept)
        except msgspec.DecodeError:
            told(f"{path} is damaged; measured again")
    calibration = calibrate(subject, processes=processes, told=told)
    workers = numbers_of_workers(subject, calibration.costs.cores)
    kept = Kept(
        calibration=calibration,
        measured=measure(subject, workers, repetitions=processes, told=told),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(msgspec.json.encode(kept))
    partial.replace(path)
    return kept
