"""The whole error tree; packages below the lab define their own branch.

    ModelError      streamlab.workloads.model     a program, plan, stream or parameter is malformed
      ProgramError                      a DGS program breaks one of its laws
      PlanError                         a plan is not valid for its program
      DuckdbError   streamlab.workloads.inputs    DuckDB refused a statement or a file
    DatasetError    streamlab.workloads.datasets  an input cannot be made, imported, found or read
      DamagedError                      a file of it is not what was written
    EngineError     engines             an engine could not do what was asked
      UnsupportedError                  it cannot run this workload, variant or option
      EngineCrashError                  it failed while it ran
        OutOfMemoryError                for lack of memory
    ResultsError    results             a stored run is missing, damaged or of another version
    LabError        lab                 what a person asked of the lab cannot be done
      MatrixError                       a matrix file is malformed
      ResumeError                       a run cannot be resumed
      LoadError                       a load does not fit its input
      SearchError   streamlab.lab.runner.search    a search's record does not fit its run
      EnergyError                     no such energy provider
      FigureError                     no such figure, or a run cannot serve it
      IsolationError  streamlab.lab.isolate       a trial cannot be kept apart as asked
      DiskFullError streamlab.lab.isolate         nothing more can be recorded
      GateError     streamlab.lab.gate            a gate cannot compare what it was given
      GitError      streamlab.lab.host            git is missing, or cannot read a repository

LabError's branches are here, but for those of `streamlab.lab.gate`, `streamlab.lab.host`, `streamlab.lab.isolate` and
`streamlab.lab.runner.search`. Exit codes are chosen in `lab/cli/__init__.py` and nowhere else.
"""


class LabError(Exception):
    """What was asked cannot be done; the message names the place, the value seen and the remedy."""


class MatrixError(LabError):
    """A matrix is malformed; the message names file, table, key, value and what it wants."""


class ResumeError(LabError):
    """A run cannot be resumed because something differs; the message names the field."""


class LoadError(LabError):
    """An offered load cannot be made from this input; the message says what would do.

    Attributes:
        feasible_eps: the highest mean rate for which the input has enough events; None where no
            rate is given (`replay`) or none would do.
    """

    def __init__(self, message: str, *, feasible_eps: float | None = None) -> None:
        super().__init__(message)
        self.feasible_eps = feasible_eps


class EnergyError(LabError):
    """There is no energy provider of the requested name; the message lists those that exist."""


class FigureError(LabError):
    """There is no such figure, or a run cannot serve it; the message says what is lacking."""
