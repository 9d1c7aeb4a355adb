"""Defines the options of a figure's experiment, and the stamp that records them in a run's matrix."""

import json
from dataclasses import asdict, dataclass

import msgspec

from streamlab.lab.errors import FigureError

_STAMP = "# figure: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A user's options; None means the figure's default.

    Attributes:
        cores: cores of the machine that runs, or ran, the experiment.
        workers: degrees of parallelism; None: powers of two up to the cores, and the cores.
        repetitions: fresh processes per cell.
        scale: share of the paper's lengths, for inputs, phases and windows alike; above 0.
        cores_within_ns: trials wait until a cache line takes at most this time between cores
            (`streamlab.lab.matrix.matrix.Settings`).
        quick: whether runs are as short as is still informative; a quick run has no verdict.
        dataset: start of a dataset's id; the dataset replaces the generated input of its workloads.
    """

    cores: int
    workers: tuple[int, ...] | None = None
    repetitions: int | None = None
    scale: float | None = None
    quick: bool = False
    cores_within_ns: float | None = None
    dataset: str | None = None

    @property
    def arguments(self) -> str:
        """Return the options as arguments of `lab figure`."""
        values = {
            "workers": self.workers and ",".join(map(str, self.workers)),
            "repetitions": self.repetitions,
            "scale": self.scale,
            "cores-within-ns": self.cores_within_ns,
            "dataset": self.dataset,
        }
        parts = ["--quick"] if self.quick else []
        parts += [f"--{name} {value}" for name, value in values.items() if value is not None]
        return " ".join(parts)

    @property
    def instances(self) -> tuple[int, ...]:
        """Return the degrees of parallelism, ascending."""
        if self.workers is not None:
            return tuple(sorted(set(self.workers)))
        powers = [1 << k for k in range(self.cores.bit_length()) if 1 << k <= self.cores]
        return tuple(sorted({*powers, self.cores}))

    @property
    def within(self) -> tuple[int, ...]:
        """Return the degrees of parallelism up to the number of cores."""
        return tuple(n for n in self.instances if n <= self.cores)

    def instances_and(self, extra: int) -> tuple[int, ...]:
        """Return the chosen degrees of parallelism, else the default ones and `extra`."""
        if self.workers is not None:
            return self.instances
        return tuple(sorted({*self.instances, extra}))

    def scaled(self, usual: float, quick: float) -> float:
        """Return the chosen scale, else the figure's default for a usual or quick run."""
        return self.scale if self.scale is not None else quick if self.quick else usual

    def repeated(self, usual: int) -> int:
        """Return the chosen number of repetitions, else 1 for a quick run, else `usual`."""
        if self.repetitions is not None:
            return self.repetitions
        return 1 if self.quick else usual


def stamp(figure: str, stage: str, options: Options) -> str:
    """Return the comment that records figure, stage and options in a matrix."""
    content = {"figure": figure, "stage": stage, "options": asdict(options)}
    return f"{_STAMP}{json.dumps(content)}\n"


def parse_stamp(matrix_text: str) -> tuple[str, str, Options] | None:
    """Parse figure, stage and options from the stamp in a run's matrix; None without a stamp.

    Raises:
        FigureError: the stamp is damaged.
    """
    for line in matrix_text.splitlines():
        if line.startswith(_STAMP):
            try:
                content = json.loads(line.removeprefix(_STAMP))
                options = msgspec.convert(content["options"], Options)
                return (content["figure"], content["stage"], options)
            except (ValueError, KeyError, TypeError) as error:
                raise FigureError(f"the run's stamp {line!r} is damaged: {error!r}") from error
    return None
