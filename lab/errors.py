"""The whole error tree, each branch defined in its own package.

    ModelError      workloads.model     a program, plan, stream or parameter is malformed
      ProgramError                      a DGS program breaks one of its laws
      PlanError                         a plan is not valid for its program
      DuckdbError   workloads.inputs    DuckDB refused a statement or a file
    DatasetError    workloads.datasets  an input cannot be made, imported, found or read
      DamagedError                      a file of it is not what was written
    EngineError     engines             an engine could not do what was asked
      UnsupportedError                  it cannot run this workload, variant or option
      EngineCrashError                  it failed while it ran
        OutOfMemoryError                for lack of memory
    ResultsError    results             a stored run is missing, damaged or of another version
    LabError        lab                 what a person asked of the lab cannot be done
      MatrixError                       a matrix file is malformed
      ResumeError                       a run cannot be resumed
      LoadError     lab.load          a load does not fit its input
      SearchError   lab.parent.search    a search's record does not fit its run
      EnergyError   lab.measure.energy  no such energy provider
      IsolationError  lab.isolate       a trial cannot be kept apart as asked
      DiskFullError lab.isolate         nothing more can be recorded
      GateError     lab.gate            a gate cannot compare what it was given
      GitError      lab.host            git is missing, or cannot read a repository

Exit codes are chosen in `lab/cli/__init__.py` and nowhere else.
"""


class LabError(Exception):
    """What was asked cannot be done; the message names the place, the value seen and the remedy."""


class MatrixError(LabError):
    """A matrix is malformed; the message names file, table, key, value and what it wants."""


class ResumeError(LabError):
    """A run cannot be resumed because something differs; the message names the field."""
