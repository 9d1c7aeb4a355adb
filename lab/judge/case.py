"""Defines the input of the judge: a trial's request and readings."""

from dataclasses import dataclass

from streamlab.engines.protocol import OfferedLoad
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.trial.evidence import Timed
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trial to judge, whose run ended normally.

    Attributes:
        workload: the workload.
        dataset: the input; with a load, truncated to its length.
        load, spec: the offered load and its specification; None for catch-up.
        timed: readings of the timed part.
        warnings: texts about doubtful values; the judge adds to them.
    """

    workload: Workload
    dataset: Dataset
    load: OfferedLoad | None
    spec: LoadSpec | None
    timed: Timed
    warnings: list[str]

    @property
    def duration_s(self) -> float:
        """Return the length of the timed part by the trial's clock, in seconds."""
        return (self.timed.end_ns - self.timed.start_ns) / 1e9
