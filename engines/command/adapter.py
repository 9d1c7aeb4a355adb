"""Adapts a command: a program in any language that reads a file of events and writes a file of outputs.

The lab replaces these placeholders in the command:

    {input}     file of the events in total order, as CSV: ts, stream, kind, key, and the columns of the program
    {output}    file for the answer, as CSV with the columns of the program's output
    {workers}   number of workers

Without {input}, the command reads the events from standard input. Without {output}, it prints the answer to standard
output. Spaces separate the values of a list column.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from streamlab.engines.base import BatchEngine
from streamlab.engines.conditions import DECODING, FILE, READING, START_UP, WHOLE, Conditions
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.options import options_of
from streamlab.engines.protocol import Task, Variant
from streamlab.workloads.datasets import pa, pa_csv
from streamlab.workloads.default_folders import start_folder
from streamlab.workloads.model import Columns
from streamlab.workloads.model.streams.lists import ListColumn
from streamlab.workloads.model.streams.total_order import MergedInput, merge

INPUT, OUTPUT, WORKERS = "{input}", "{output}", "{workers}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    """Options of the engine.

    Attributes:
        command: the command; the lab splits it into words as a shell does, but runs no shell.
    """

    command: str = ""

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise ValueError(f"option command is {self.command!r}: {error}") from error
        if not words:
            raise ValueError(
                "option command is missing: give the command that reads {input} and prints the "
                "answer, e.g. --command './program {input}'"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command to run.

    Attributes:
        words: the program and its arguments.
        stdin: file for standard input; None if it is empty.
        prints: whether the command prints its answer to standard output.
        answer: file with the answer.
    """

    words: Sequence[str]
    stdin: Path | None
    prints: bool
    answer: Path


class CommandEngine(BatchEngine):
    """Runs a command on the events as CSV, and reads its answer as CSV."""

    name = "command"
    max_workers: ClassVar[int | None] = None
    known_variants = (
        Variant(
            name="csv",
            summary="your command, which reads the events as CSV and writes the answer as CSV",
            label="command",
            conditions=Conditions(
                unit=WHOLE, origin=FILE, also_timed=(READING, DECODING, START_UP)
            ),
            options=CommandOptions,
        ),
    )

    def kept_folders(self) -> Sequence[Path]:
        """Return the current folder, where the command starts: build tools such as cargo write there."""
        folder = start_folder()
        return () if folder == folder.parent else (folder,)

    def refused(self, task: Task) -> str | None:
        """Refuse missing programs, several workers without {workers}, and outputs that are not numbers."""
        command = options_of(task, CommandOptions).command
        program = shlex.split(command)[0]
        if shutil.which(program) is None:
            return (
                f"no program {program!r} in PATH or the current folder; build it first, and name "
                "a file of this folder as ./program"
            )
        if task.workers > 1 and WORKERS not in command:
            return f"the command has no {WORKERS}, so it runs with 1 worker, got {task.workers}"
        output = task.workload.program.output
        for name in output.names or ():
            if output[name].shape or output[name].kind not in "iufb":
                return f"CSV has no values for column {name} of the output, of type {output[name]}"
        return None

    def load(self, task: Task) -> Job:
        """Write the events as CSV."""
        events, answer = task.scratch / "events.csv", task.scratch / "answer.csv"
        write_events(task, events)
        command = options_of(task, CommandOptions).command
        values = {INPUT: str(events), OUTPUT: str(answer), WORKERS: str(task.workers)}
        return Job(
            words=[_fill(word, values) for word in shlex.split(command)],
            stdin=None if INPUT in command else events,
            prints=OUTPUT not in command,
            answer=answer,
        )

    def compute(self, task: Task, data: Job) -> Job:
        """Run the command to its end; its errors go to the trial's log."""
        with (
            (data.stdin or Path(os.devnull)).open("rb") as stdin,
            (data.answer if data.prints else Path(os.devnull)).open("wb") as stdout,
        ):
            try:
                run = subprocess.run(data.words, stdin=stdin, stdout=stdout, check=False)
            except OSError as error:
                raise EngineCrashError(
                    f"{data.words[0]} cannot be started: {error.strerror}; a script begins with #! and "
                    "its interpreter, or is an argument of it"
                ) from error
        code = run.returncode
        if code != 0:
            ending = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise EngineCrashError(
                f"{shlex.join(data.words)} {ending}; the trial's log has its errors"
            )
        return data

    def columns(self, task: Task, answer: Job) -> Mapping[str, object]:
        """Read the answer; an empty file has no rows."""
        output = task.workload.program.output
        if not answer.answer.is_file():
            raise EngineCrashError(f"the command wrote no file {OUTPUT}")
        if not answer.answer.stat().st_size:
            return {name: np.empty(0, output[name]) for name in output.names or ()}
        return read_answer(answer.answer, output)

    def plan(self, task: Task) -> str:
        """Return the command."""
        return options_of(task, CommandOptions).command


def write_events(task: Task, path: Path) -> None:
    """Write all events in total order as CSV with a header."""
    merged = merge(task.dataset.load(), task.workload.program)
    columns = event_columns(merged, task.dataset.alphabet.kinds)
    with path.open("wb") as file:
        # Arrow would quote the names of the header.
        file.write((",".join(columns) + "\n").encode())
        pa_csv.write_csv(
            pa.table(columns),
            file,
            pa_csv.WriteOptions(include_header=False, quoting_style="none"),
        )


def event_columns(merged: MergedInput, kinds: Sequence[str]) -> dict[str, object]:
    """Return the columns of the events' file, in total order."""
    order = merged.order
    columns: dict[str, object] = {"ts": merged.columns["ts"][order], "stream": merged.stream[order]}
    kind = pa.array(merged.columns["kind"][order].astype(np.int32))
    columns["kind"] = pa.DictionaryArray.from_arrays(kind, pa.array(kinds)).cast(pa.string())
    columns |= {
        name: values[order] for name, values in merged.columns.items() if name not in columns
    }
    return columns | {name: _join_lists(part.take(order)) for name, part in merged.lists.items()}


def _join_lists(lists: ListColumn) -> list[str]:
    return [" ".join(map(str, row)) for row in lists.rows()]


def read_answer(path: Path, output: np.dtype[Any]) -> Columns:
    """Read the columns of an output from CSV.

    Raises:
        EngineCrashError: the file is no CSV, or lacks columns.
    """
    names = output.names or ()
    types = {name: pa.from_numpy_dtype(output[name]) for name in names}
    try:
        table = pa_csv.read_csv(
            path,
            convert_options=pa_csv.ConvertOptions(column_types=types, include_columns=list(names)),
        )
    except (pa.ArrowException, ValueError, KeyError) as error:
        raise EngineCrashError(
            f"the answer is not a CSV with the header {','.join(names)} and numbers: {error}"
        ) from error
    return {name: table[name].to_numpy() for name in names}


def _fill(word: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders in a word of the command."""
    for name, value in values.items():
        word = word.replace(name, value)
    return word
