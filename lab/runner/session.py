"""Opens and closes a session of a run, and holds what its trials share.

Opening chooses the energy provider and measures the idle machine.
Closing measures the idle machine again and fills in the net energy of the session's rows.
If the session is killed, these columns stay null; the rest of its rows is complete.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from streamlab.engines.registry import engine as find_engine
from streamlab.lab.interrupt import pause
from streamlab.lab.isolate.check import check, check_contains
from streamlab.lab.isolate.isolation import CONTAINER
from streamlab.lab.isolate.process import why_unconfined
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.measure.energy import idle
from streamlab.lab.measure.energy.choose import AUTO, NONE, Choice, by_name, choose
from streamlab.lab.runner.generators import Generators
from streamlab.lab.runner.trial_folder import remove_orphaned_folders
from streamlab.results.meta import RunMeta
from streamlab.results.schema import TrialRow
from streamlab.results.store import write_trial
from streamlab.workloads.references import file_of
from streamlab.workloads.registry import places

Watts = Mapping[str, float] | None


@dataclass(kw_only=True)
class Session:
    """State that the trials of a session share.

    Attributes:
        run_dir: the run directory.
        settings: settings of the matrix.
        energy: the chosen energy provider.
        generators: ceilings of the load generators.
        idle_before: watts of the idle machine by domain; None: not measured or not readable.
        measured: rows of this session's trials, by name.
    """

    run_dir: Path
    settings: Settings
    energy: Choice
    generators: Generators
    idle_before: Watts = None
    measured: dict[str, TrialRow] = field(default_factory=dict)

    def advice(self) -> str | None:
        """Return a hint on how to improve the session's energy figures, or None."""
        if self.energy.reason is not None and self.settings.energy not in (AUTO, NONE):
            return (
                f'energy = "{self.settings.energy}" cannot be read, so trials have no energy '
                f"figures: {self.energy.reason}; see `lab doctor`"
            )
        if self.energy.reason is None and self.settings.idle_s == 0:
            return (
                f"energy is read through {self.energy.name} without an idle baseline; set "
                f"idle_s = {idle.SECONDS:g} in [run] to get net joules"
            )
        return None

    def confinement(self) -> str:
        """Return the mechanism that confines trials, or why they are unconfined (docs/trust.md)."""
        if self.settings.isolation.kind == CONTAINER:
            return "container"
        why = why_unconfined()
        return "mount namespace" if why is None else f"none: {why}"


def surroundings(settings: Settings, cells: Sequence[Cell]) -> dict[str, str] | None:
    """Check that trials can run in isolation; return facts about the container engine for run.json.

    Raises:
        IsolationError: trials cannot run; the message has the remedy.
    """
    if settings.isolation.kind != CONTAINER:
        return None

    facts = check(settings.isolation)
    references = dict.fromkeys(cell.entry.found_by for cell in cells)
    workloads = [name for name in references if file_of(name) is None and not _ours(places(name))]
    names = dict.fromkeys(cell.engine for cell in cells)
    engines = [name for name in names if not _ours([type(find_engine(name)).__module__])]
    if workloads or engines:
        check_contains(settings.isolation, workloads, engines)
    return asdict(facts)


def _ours(modules: Iterable[str]) -> bool:
    """Return whether modules belong to the lab's source, which every image contains."""
    return all(
        module.startswith(("streamlab.engines.", "streamlab.workloads.")) for module in modules
    )


def begin(run_dir: Path, meta: RunMeta, settings: Settings) -> Session:
    """Open a session; blocks for `settings.idle_s`.

    Raises:
        EnergyError: no provider has the name in `settings.energy`.
    """
    remove_orphaned_folders()
    choice = choose(settings.energy)
    return Session(
        run_dir=run_dir,
        settings=settings,
        energy=choice,
        generators=Generators(run_dir, meta.generators, settings.isolation),
        idle_before=_idle(choice, settings.idle_s),
    )


def finish(session: Session, *, interrupted: bool) -> Watts:
    """Close a session: fill in the net energy of its rows, each rewritten atomically.

    Returns the watts of the idle machine; an interrupted session does not measure them.
    """
    after: Watts = None
    with suppress(KeyboardInterrupt):
        after = None if interrupted else _idle(session.energy, session.settings.idle_s)
    for name, row in session.measured.items():
        if row.energy_gross_j is not None:
            net = idle.net(row, before=session.idle_before, after=after)
            write_trial(session.run_dir, name, net)
    return after


def _idle(choice: Choice, seconds: float) -> Watts:
    if seconds == 0 or choice.reason is not None:
        return None
    return idle.measure(by_name(choice.name), seconds, pause=pause)
