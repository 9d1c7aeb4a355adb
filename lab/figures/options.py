"""What a person may choose of a figure's experiment, and how a run remembers it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from streamlab.lab.errors import FigureError

_STAMP = "# figure: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The choices; None stands for the figure's own default.

    Attributes:
        cores: of the machine that runs, or ran, the experiment.
        workers: degrees of parallelism; None: powers of two up to the cores, and the cores.
        repetitions: fresh processes a cell.
        scale: share of the paper's lengths: inputs, phases and windows, all together; above 0.
        cores_within_ns: trials wait until the cores are so close (`streamlab.lab.matrix.matrix.Settings`).
        quick: as short as still says something; for trying things out. It has no verdict.
    """

    cores: int
    workers: tuple[int, ...] | None = None
    repetitions: int | None = None
    scale: float | None = None
    quick: bool = False
    cores_within_ns: float | None = None

    @property
    def instances(self) -> tuple[int, ...]:
        """Return the degrees of parallelism, ascending."""
        if self.workers is not None:
            return tuple(sorted(set(self.workers)))
        powers = [1 << k for k in range(self.cores.bit_length()) if 1 << k <= self.cores]
        return tuple(sorted({*powers, self.cores}))

    @property
    def within(self) -> tuple[int, ...]:
        """Return those of `instances` that have a core each."""
        return tuple(n for n in self.instances if n <= self.cores)

    def scaled(self, usual: float, quick: float) -> float:
        """Return the scale: as chosen, else the figure's own for this kind of run."""
        return self.scale if self.scale is not None else quick if self.quick else usual

    def repeated(self, usual: int) -> int:
        """Return the number of repetitions; a quick run has one unless more were asked for."""
        if self.repetitions is not None:
            return self.repetitions
        return 1 if self.quick else usual


def stamp(figure: str, stage: str, options: Options) -> str:
    """Return the comment that makes a matrix say for which figure, and how, it was made."""
    content = {"figure": figure, "stage": stage, "options": asdict(options)}
    return f"{_STAMP}{json.dumps(content)}\n"


def stamped(meta: Mapping[str, Any]) -> tuple[str, str, Options] | None:
    """Return figure, stage and options of a run; None where its matrix was written by hand.

    Args:
        meta: its run.json.

    Raises:
        FigureError: the stamp is damaged.
    """
    for line in str(meta.get("matrix_text", "")).splitlines():
        if line.startswith(_STAMP):
            try:
                content = json.loads(line.removeprefix(_STAMP))
                workers = content["options"].pop("workers")
                options = Options(
                    workers=None if workers is None else tuple(workers), **content["options"]
                )
                return (content["figure"], content["stage"], options)
            except (ValueError, KeyError, TypeError) as error:
                raise FigureError(f"the run's stamp {line!r} is damaged: {error!r}") from error
    return None
