"""Writes and reads a trial's evidence for the judge: readings, the engine's report and the answer.

A trial sets no status of success and no rate. It writes to its folder:

    evidence.json      `Evidence`: why the trial failed, or the readings of its timed part
    answer/            the answer, one or two `.npy` files for each column

`streamlab.lab.judge` reads them in another process and sets status and rates.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import Measured
from streamlab.lab.measure.series import Track
from streamlab.workloads.model import Columns, ListColumn

EVIDENCE, ANSWER = "evidence.json", "answer"
NUMBERS, LISTS = "numbers", "lists"

TREE_COLUMNS = (
    *("cpu_s", "user_s", "system_s", "minor_faults", "major_faults", "peak_rss_bytes"),
    *("prepare_cpu_s", "answer_cpu_s"),
)
"""Columns that describe the trial's process tree."""


class AnswerColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the answer, in `<index>.npy`; `<index>.o.npy` has the offsets of lists.

    Attributes:
        kind: NUMBERS or LISTS.
    """

    name: str
    kind: str


class TimedPart(msgspec.Struct, frozen=True, kw_only=True):
    """Readings of a timed part that ended normally.

    Attributes:
        start_ns, ran_ns, end_ns: start of the timed part, end of the engine's run, and end of the timed part, by the
            monotonic clock. Work that the lab adds to test a gate lies between `ran_ns` and `end_ns`.
        measured: report of the engine.
        tracks: samples by column of the series.
        energy: values by column of energy.
        answer: columns of the answer; None if they cannot be stored.
        answer_error: why the answer cannot be stored; None otherwise.
    """

    start_ns: int
    ran_ns: int
    end_ns: int
    measured: Measured
    tracks: dict[str, Track]
    energy: dict[str, object]
    answer: tuple[AnswerColumn, ...] | None
    answer_error: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence of a trial or another job of the lab.

    Attributes:
        status, reason: why the measurement failed; None if it succeeded.
        lacked_space: whether the disk was full for the lab's own files, not for an engine's files.
        columns: readings by column; the judge uses only the columns in `READINGS`.
        warnings: texts about doubtful values.
        timed: readings of the timed part; None if it did not end normally.
    """

    status: str | None = None
    reason: str | None = None
    lacked_space: bool = False
    columns: dict[str, object] = {}
    warnings: tuple[str, ...] = ()
    timed: TimedPart | None = None


READINGS = frozenset(
    {
        "engine_version",
        "properties",
        "startup_s",
        "prepare_s",
        "prepare_cpu_s",
        "answer_s",
        "answer_cpu_s",
        "duration_s",
        "cpu_s",
        "user_s",
        "system_s",
        "minor_faults",
        "major_faults",
        "peak_rss_bytes",
        "generator_ceiling_eps",
        "cluster",
        "nodes",
        "node_cores",
    }
)
"""Columns that the trial's process fills with its own readings; the judge and the lab set all others."""


def write_evidence(evidence: Evidence, folder: Path) -> None:
    """Write the evidence file atomically."""
    partial = folder / f"{EVIDENCE}.partial"
    content = msgspec.to_builtins(evidence, enc_hook=_to_builtin)
    partial.write_text(json.dumps(content), encoding="ascii")
    partial.replace(folder / EVIDENCE)


def read_evidence(folder: Path) -> Evidence | None:
    """Read the evidence file; return None if it does not exist.

    Raises:
        ValueError: the file is not valid evidence.
    """
    path = folder / EVIDENCE
    if not os.path.lexists(path):
        return None
    _check_regular(path)
    content = json.loads(path.read_text(encoding="ascii"))
    evidence: Evidence = msgspec.convert(content, type=Evidence, dec_hook=_to_array)
    return evidence


def store_answer(answer: Columns, folder: Path) -> tuple[AnswerColumn, ...]:
    """Write the columns of an answer.

    Raises:
        TypeError: a column has neither numbers nor lists of numbers.
        OSError: a file cannot be written.
    """
    target = folder / ANSWER
    target.mkdir(exist_ok=True)
    columns = []
    for index, (name, values) in enumerate(answer.items()):
        if isinstance(values, ListColumn):
            np.save(target / f"{index}.o.npy", values.offsets, allow_pickle=False)
        numbers = values.values if isinstance(values, ListColumn) else np.asarray(values)
        if numbers.dtype.hasobject:
            raise TypeError(f"output column {name} has type {numbers.dtype}; expected numbers")
        np.save(target / f"{index}.npy", numbers, allow_pickle=False)
        kind = LISTS if isinstance(values, ListColumn) else NUMBERS
        columns.append(AnswerColumn(name=str(name), kind=kind))
    return tuple(columns)


def load_answer(columns: tuple[AnswerColumn, ...], folder: Path) -> Columns:
    """Return a stored answer, memory-mapped from its files.

    Raises:
        OSError, ValueError, ModelError: a file is missing or invalid.
    """
    answer: dict[str, Any] = {}
    for index, column in enumerate(columns):
        values = _map_array(folder / ANSWER / f"{index}.npy")
        if column.kind == LISTS:
            offsets = _map_array(folder / ANSWER / f"{index}.o.npy")
            answer[column.name] = ListColumn(offsets=offsets, values=values)
        else:
            answer[column.name] = values
    return answer


def _check_regular(path: Path) -> None:
    """Check that a path is a regular file; reading a pipe would never end."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError(f"{path.name} is not a regular file")


def _map_array(path: Path) -> npt.NDArray[Any]:
    _check_regular(path)
    values: npt.NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    return values


def _to_builtin(value: object) -> object:
    """Convert a value of an engine's report to a value that JSON can hold."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _to_array(kind: Any, value: object) -> object:
    """Convert a list from `_to_builtin` back to an array."""
    if kind is object:  # a column of the row
        return value
    if not isinstance(value, list):
        raise ValueError(f"expected a list of numbers, got {type(value).__name__}")
    _, dtype = get_args(kind)  # numpy.ndarray[shape, numpy.dtype[int64]]
    return np.array(value, dtype=get_args(dtype)[0])
