"""What is projected: a workload, its input by frequencies, and its plan for a number of workers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.errors import LabError
from lab.project.simulation import Work, require_simulated, work_of
from workloads.datasets.catalog import Catalog
from workloads.model import Alphabet, DGSProgram, Workload
from workloads.model.narrow import WORDS
from workloads.model.profile import StreamProfile, profile, profile_of_specs
from workloads.optimizers import DEFAULT, PlanRequest, choose
from workloads.registry import workload as find_workload

BY_COST = "cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A workload on an input.

    Attributes:
        reference: the workload, as it was named.
        events: of generated input, about; with `grow`, for each worker.
        params: of the generator.
        dataset: input of the catalogue, by its id; None: generated.
        grow: a parameter that is the number of workers; None: all have the same input.
        optimizer: who chooses the plan; None: the default.
    """

    reference: str
    events: int
    params: Mapping[str, Any] = field(default_factory=dict)
    dataset: str | None = None
    grow: str | None = None
    optimizer: str | None = None

    def checked(self) -> "Subject":
        """Return this, whose workload has a plan and whose parameters exist.

        Raises:
            LabError: what is asked does not fit the workload.
            ModelError, DatasetError: there is no such workload, parameter or dataset; or its plans
                cannot be simulated.
        """
        workload = self.workload()
        if not isinstance(workload.program, DGSProgram):
            raise LabError(
                f"workload {workload.name} is {WORDS[type(workload.program)]}; only "
                "synchronization plans are simulated, of programs with dependency-guided "
                "synchronization (`lab plan WORKLOAD -w 4` shows whether there is one)"
            )
        require_simulated(workload.program)
        if self.optimizer == BY_COST:
            raise LabError(
                f"--optimizer is {BY_COST}, which chooses the number of workers; here "
                "each number is to be seen. Give by-stream, balanced or appendix-b"
            )
        if self.dataset is not None:
            for name, given in (("--grow", self.grow), ("--param", self.params)):
                if given:
                    raise LabError(
                        f"{name} belongs to generated input; dataset {self.dataset} is as it is"
                    )
            self._read()
        elif workload.source is not None:
            raise LabError(
                f"workload {workload.name} generates nothing by itself; name its "
                "input with --dataset (`lab data list` has those that there are)"
            )
        self.work(1)
        return self

    def workload(self) -> Workload:
        """Return the workload."""
        return find_workload(self.reference)

    def params_for(self, workers: int) -> dict[str, Any]:
        """Return the generator's parameters for so many workers, checked and complete."""
        grown = {} if self.grow is None else {self.grow: workers}
        params: dict[str, Any] = dict(self.workload().params({**self.params, **grown}))
        return params

    def events_for(self, workers: int) -> int:
        """Return about how many events generated input has for so many workers."""
        return self.events if self.grow is None else self.events * workers

    def streams(self, workers: int) -> tuple[Alphabet, tuple[StreamProfile, ...]]:
        """Return the alphabet and how often each tag occurs in each stream."""
        if self.dataset is not None:
            return self._read()
        workload, params = self.workload(), self.params_for(workers)
        alphabet = Alphabet(kinds=workload.program.kinds, keys=workload.keys(params))
        specs = workload.streams(params, self.events_for(workers))
        return alphabet, profile_of_specs(specs, alphabet)

    def _read(self) -> tuple[Alphabet, tuple[StreamProfile, ...]]:
        assert self.dataset is not None
        workload, found = self.workload(), Catalog.default().get(self.dataset)
        if found.workload != workload.input_name:
            raise LabError(
                f"dataset {self.dataset} is input of {found.workload}, not of "
                f"{workload.input_name}; see `lab data list`"
            )
        data = found.load()
        return data.alphabet, profile(data)

    def work(self, workers: int) -> Work:
        """Return what so many workers do, by the plan that is chosen for them.

        The plan may have work for fewer.

        Raises:
            PlanError: there is no such plan, or it cannot be simulated.
        """
        alphabet, streams = self.streams(workers)
        program = self.workload().program
        assert isinstance(program, DGSProgram)
        asked = PlanRequest(program=program, alphabet=alphabet, streams=streams, workers=workers)
        return work_of(choose(self.optimizer or DEFAULT, asked).plan, streams)
