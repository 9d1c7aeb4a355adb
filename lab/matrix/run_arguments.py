"""Makes the matrix for a run without a matrix file: some workloads on some engines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamlab.engines import registry
from streamlab.engines.errors import EngineError
from streamlab.lab.errors import LabError
from streamlab.lab.matrix.toml_table import write_toml
from streamlab.workloads import references
from streamlab.workloads.default_folders import start_folder
from streamlab.workloads.registry import short_name

COMMAND = "command"
"""Name of the engine that runs commands."""

WORKERS = "{workers}"
"""Placeholder for the number of workers in a command; a command without it runs with one worker."""

LONGEST_LABEL = 40
"""Longest label of a command, in characters. It fits a table, and fits `LONGEST_LABEL_BYTES` with a number added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """The arguments of `lab run WORKLOAD` and `lab.run(...)`; None or empty means a matrix's default.

    Attributes:
        workloads: references (`streamlab.workloads.registry`); files are relative to the current folder.
        name: name of the run; if empty, the run gets the workload's name, or `several` for several workloads.
        engines: names, or `name/variant`; several variants of an engine are several entries.
        commands: commands to run as engines (`streamlab.engines.command`).
        workers: numbers of workers, for engines that are not sequential.
        options: options of the engines; `engine.option` applies to one engine only.
        load: the keys of a matrix's `[[load]]`; empty to run as fast as possible.

    Raises:
        LabError: a number of workers or a batch is not a whole number of at least 1, or generated input is
            combined with a dataset.
    """

    workloads: Sequence[str]
    engines: Sequence[str]
    name: str = ""
    commands: Sequence[str] = ()
    workers: Sequence[int] = ()
    batch: Sequence[int] = ()
    repetitions: int | None = None
    timeout_s: float | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    events: int | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None
    dataset: str | None = None
    query: Mapping[str, object] = field(default_factory=dict)
    load: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, numbers in (("workers", self.workers), ("batch", self.batch)):
            if not isinstance(numbers, list | tuple) or not all(map(_is_count, numbers)):
                raise LabError(
                    f"{name} is {numbers!r}; use whole numbers of at least 1, such as "
                    f"--{name} 1,2 ({name}=[1, 2])"
                )
        input_settings = {"events": self.events, "params": self.params or None, "seed": self.seed}
        for name, value in input_settings.items():
            if self.dataset is not None and value is not None:
                raise LabError(
                    f"{name} cannot be combined with dataset; expected either dataset or "
                    "events/params/seed"
                )

    def to_toml(self) -> str:
        """Return the matrix of the run, with absolute paths."""
        workloads = [references.absolute(reference, start_folder()) for reference in self.workloads]
        names = [short_name(reference) for reference in workloads]
        name = self.name or (names[0] if len(names) == 1 else "several")
        keys = {
            "events": self.events,
            "params": self.params or None,
            "query": self.query or None,
            "seed": self.seed,
            "dataset": self.dataset,
        }
        return write_toml(
            {
                "run": {
                    "name": name,
                    "repetitions": self.repetitions,
                    "timeout_s": self.timeout_s,
                },
                "workload": [{"name": reference, **keys} for reference in workloads],
                "engine": [
                    *(self._engine(engine) for engine in dict.fromkeys(self.engines)),
                    *self._commands(),
                ],
                "load": [dict(self.load)] if self.load else None,
            }
        )

    def describe_ignored_workers(self) -> str | None:
        """Return a text about numbers of workers that sequential engines ignore; None if they ignore none."""
        sequential = [name for name in self._engine_names() if _is_sequential(name)]
        sequential += [label_of(command) for command in self.commands if WORKERS not in command]
        if not sequential or set(self.workers) <= {1}:
            return None
        numbers = ", ".join(str(number) for number in dict.fromkeys(self.workers))
        return (
            f"{' and '.join(sequential)} is sequential: it runs with 1 worker and ignores workers = "
            f"{numbers}"
        )

    def _commands(self) -> list[dict[str, object]]:
        """Return an engine for each command, with a label that names the command in tables."""
        tables: dict[str, dict[str, object]] = {}
        for command in dict.fromkeys(self.commands):
            label = base = label_of(command)
            number = 1
            while label in tables:
                number += 1
                label = f"{base}-{number}"
            tables[label] = {
                "name": COMMAND,
                "label": label,
                "workers": self.workers or None if WORKERS in command else None,
                "options": {"command": command},
            }
        return list(tables.values())

    def _engine_names(self) -> list[str]:
        return list(dict.fromkeys(engine.partition("/")[0] for engine in self.engines))

    def _engine(self, engine: str) -> dict[str, object]:
        name, _, variant = engine.partition("/")
        engines = self._engine_names()
        options = {}
        for option, value in self.options.items():
            prefix, dot, suffix = option.partition(".")
            if not dot or prefix not in engines:
                options[option] = value
            elif prefix == name:
                options[suffix] = value
        return {
            "name": name,
            "variants": [variant] if variant else None,
            "workers": None if _is_sequential(name) else self.workers or None,
            "batch": self.batch or None,
            "options": options or None,
        }


def label_of(command: str) -> str:
    """Return a label for a command: its words without folders, options and placeholders."""
    words = [word for word in command.split() if not word.startswith(("-", "{"))]
    text = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(word.rpartition("/")[2] for word in words))
    return text.strip("-_.")[:LONGEST_LABEL] or COMMAND


def _is_sequential(name: str) -> bool:
    """Return whether all variants of an engine run on one worker only; False if the engine cannot be loaded."""
    try:
        return all(variant.sequential for variant in registry.engine(name).variants())
    except EngineError:
        return False  # Reported when the matrix is expanded.


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
