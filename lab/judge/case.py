"""The trial that is judged: what was asked, and what its process read."""

from dataclasses import dataclass

from streamlab.engines.protocol import OfferedLoad
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.trial.evidence import Timed
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trial whose run ended.

    Attributes:
        workload: what was to be computed.
        dataset: the input, under a load cut to its length.
        load, spec: the offered load and its specification; None for catch-up.
        timed: the readings around the run.
        warnings: what is doubtful about it, in words; the judge adds to it.
    """

    workload: Workload
    dataset: Dataset
    load: OfferedLoad | None
    spec: LoadSpec | None
    timed: Timed
    warnings: list[str]

    @property
    def duration_s(self) -> float:
        """Length of the timed part by the trial's clock, s."""
        return (self.timed.end_ns - self.timed.start_ns) / 1e9
