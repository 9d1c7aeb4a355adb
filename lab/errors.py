"""Defines the lab's errors and draws the whole error tree; lower packages define their own branches.

    ModelError      streamlab.workloads.model     a program, plan, stream or parameter is malformed
      ProgramError                      a DGS program breaks one of its laws
      PlanError                         a plan is not valid for its program
      DuckdbError   streamlab.workloads.inputs    DuckDB refused a statement or a file
    DatasetError    streamlab.workloads.datasets  an input cannot be made, imported, found or read
      DamagedError                      a file of a dataset changed after it was written
    EngineError     engines             an engine cannot serve a request
      UnsupportedError                  it cannot run this workload, variant or option
      EngineCrashError                  it failed while it ran
        OutOfMemoryError                it ran out of memory
    ResultsError    results             a stored run is missing, damaged or of another version
    LabError        lab                 the lab cannot serve a user's request
      MatrixError                       a matrix file is malformed
      ResumeError                       a run cannot be resumed
      LoadError                         a load does not fit its input
      SearchError                       a row does not fit its search
      EnergyError                       no energy provider has this name
      FigureError                       no figure has this id, or a run cannot serve it
      IsolationError                    a trial cannot be isolated as requested
      DiskFullError                     nothing more can be recorded
      GateError                         a gate cannot compare its two sides
      ClusterError                      a cluster cannot be started or stopped
      GitError      streamlab.lab.host  git is missing, or cannot read a repository

This module defines LabError's branches, except the branch of `streamlab.lab.host`.
Only `lab/cli/__init__.py` chooses exit codes.
"""


class LabError(Exception):
    """The lab cannot serve a request; the message names the place, the value and the remedy."""


class MatrixError(LabError):
    """A matrix is malformed; the message names file, table, key, value and what was expected."""


class ResumeError(LabError):
    """A run cannot be resumed because something changed; the message names the field."""


class LoadError(LabError):
    """An offered load cannot be made from this input; the message names a load that fits.

    Attributes:
        feasible_eps: highest mean rate, in events/s, for which the input has enough events. None if
            the load has no rate (`replay`) or no rate is feasible.
    """

    def __init__(self, message: str, *, feasible_eps: float | None = None) -> None:
        super().__init__(message)
        self.feasible_eps = feasible_eps


class SearchError(LabError):
    """A stored row does not fit its search; the message names the trial."""


class EnergyError(LabError):
    """No energy provider has the requested name; the message lists the known names."""


class FigureError(LabError):
    """No figure has this id, or a run cannot serve it; the message names the missing part."""


class IsolationError(LabError):
    """Trials cannot be isolated; the message has the cause and the remedy."""


class DiskFullError(LabError):
    """A trial could not be recorded because a disk is full; run the trial again."""


class GateError(LabError):
    """A gate cannot run: a revision, a build, a baseline or a list of accepted regressions is wrong."""


class ClusterError(LabError):
    """A cluster cannot be started or stopped; the message names the daemon and its log."""
