"""What a trial leaves for its judge: readings, the engine's report, and the answer.

A trial states no status of success and no rate. It writes two things into its folder:

    evidence.json      `Evidence`: why it failed, or the readings of its timed part
    answer/            the answer, one or two `.npy` files a column

`streamlab.lab.judge` reads them in another process and sets status and rates.
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import Measured
from streamlab.lab.measure.series import Track
from streamlab.workloads.model import Columns, ListColumn

EVIDENCE, ANSWER = "evidence.json", "answer"
NUMBERS, LISTS = "numbers", "lists"


class AnswerColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the answer: `<index>.npy`, of lists with their offsets in `<index>.o.npy`."""

    name: str
    kind: str


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """The readings around a run that ended.

    Attributes:
        start_ns, ran_ns, end_ns: monotonic clock: the timed part, and in it when the engine was
            done; what the lab adds itself to try a gate comes after that.
        measured: what the engine reports.
        tracks: what was sampled meanwhile, by column of the series.
        energy: columns of energy.
        answer: the columns of the answer; None where they cannot be stored.
        answer_error: why they cannot.
    """

    start_ns: int
    ran_ns: int
    end_ns: int
    measured: Measured
    tracks: dict[str, Track]
    energy: dict[str, Any]
    answer: tuple[AnswerColumn, ...] | None
    answer_error: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one trial, or another job of the lab, found.

    Attributes:
        status, reason: why there is no measurement; both None where there is one.
        lacked_space: the lab's own files, and no engine's, found no space.
        columns: readings by name of the column; the judge takes those in `READINGS`.
        warnings: what is doubtful about it, in words.
        timed: None where the engine's run did not end.
    """

    status: str | None = None
    reason: str | None = None
    lacked_space: bool = False
    columns: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    timed: Timed | None = None


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
    }
)
"""Columns that a trial reads itself. Everything else in a row is the judge's or the lab's."""


def write_evidence(evidence: Evidence, folder: Path) -> None:
    """Write the file whole or not at all."""
    partial = folder / f"{EVIDENCE}.partial"
    content = msgspec.to_builtins(evidence, enc_hook=_plain)
    partial.write_text(json.dumps(content), encoding="ascii")
    partial.replace(folder / EVIDENCE)


def read_evidence(folder: Path) -> Evidence | None:
    """Read what `write_evidence` wrote; None where there is no file.

    Raises:
        ValueError: it is not what a trial writes.
    """
    path = folder / EVIDENCE
    if not os.path.lexists(path):
        return None
    _check_regular(path)
    content = json.loads(path.read_text(encoding="ascii"))
    evidence: Evidence = msgspec.convert(content, type=Evidence, dec_hook=_typed)
    return evidence


def store_answer(answer: Columns, folder: Path) -> tuple[AnswerColumn, ...]:
    """Write the columns of an answer.

    Raises:
        TypeError: a column is neither numbers nor lists of numbers.
        OSError: there is no space.
    """
    target = folder / ANSWER
    target.mkdir(exist_ok=True)
    columns = []
    for index, (name, values) in enumerate(answer.items()):
        if isinstance(values, ListColumn):
            np.save(target / f"{index}.o.npy", values.offsets, allow_pickle=False)
        numbers = values.values if isinstance(values, ListColumn) else np.asarray(values)
        if numbers.dtype.hasobject:
            raise TypeError(f"output column {name} has type {numbers.dtype}, no numbers")
        np.save(target / f"{index}.npy", numbers, allow_pickle=False)
        kind = LISTS if isinstance(values, ListColumn) else NUMBERS
        columns.append(AnswerColumn(name=str(name), kind=kind))
    return tuple(columns)


def load_answer(columns: tuple[AnswerColumn, ...], folder: Path) -> Columns:
    """Return a stored answer, mapped from its files.

    Raises:
        OSError, ValueError, ModelError: a file is missing or is not what `store_answer` writes.
    """
    found: dict[str, Any] = {}
    for index, column in enumerate(columns):
        values = _mapped(folder / ANSWER / f"{index}.npy")
        if column.kind == LISTS:
            offsets = _mapped(folder / ANSWER / f"{index}.o.npy")
            found[column.name] = ListColumn(offsets=offsets, values=values)
        else:
            found[column.name] = values
    return found


def _check_regular(path: Path) -> None:
    """Refuse what is no file of its own: reading a pipe would never end.

    Raises:
        ValueError: it is a link, a folder, a pipe or a device.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError(f"{path.name} is no regular file")


def _mapped(path: Path) -> npt.NDArray[Any]:
    _check_regular(path)
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        shape, _, _ = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(file)
    # An empty file cannot be mapped.
    mode: Literal["r"] | None = "r" if math.prod(shape) else None
    values: npt.NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    return values


def _plain(value: object) -> object:
    """Return a value of an engine's report as JSON has it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _typed(kind: Any, value: object) -> object:
    """Return an array from the list that `_plain` made of it."""
    if not isinstance(value, list):
        raise ValueError(f"expected a list of numbers, got {type(value).__name__}")
    _, dtype = get_args(kind)  # numpy.ndarray[shape, numpy.dtype[int64]]
    return np.array(value, dtype=get_args(dtype)[0])
