"""Opens and closes a session (an uninterrupted part of a run), and holds the state that its trials share.

Opening chooses the energy provider and measures the idle machine.
Closing measures the idle machine again and fills in the net energy of the session's rows.
If the session is killed, the columns of net energy stay null; the rows are otherwise complete.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from streamlab.engines.broker.records import row_bytes
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.errors import LabError
from streamlab.lab.interrupt import pause
from streamlab.lab.isolate.check import check, check_contains
from streamlab.lab.isolate.isolation import CONTAINER, Isolation
from streamlab.lab.isolate.process import why_unconfined
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.matrix.matrix import Settings
from streamlab.lab.measure.energy import idle
from streamlab.lab.measure.energy.choose import AUTO, NONE, Choice, by_name, choose
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.scratch import remove_orphaned_folders
from streamlab.lab.trial.spec import BrokerJob, CeilingJob
from streamlab.results.meta import CeilingRecord, RunMeta
from streamlab.results.schema import TIMEOUT, TrialRow
from streamlab.results.store import write_trial
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.references import file_of
from streamlab.workloads.registry import places

Watts = Mapping[str, float] | None

SAFE_SHARE = 0.5
"""Highest share of a generator's ceiling that can be offered without a warning (docs/method.md).

Near the ceiling, a trial would measure the generator, not the engine.
"""
CEILING_TIMEOUT_S = 60.0
"""Time limit for measuring a generator, or for preparing a broker."""


@dataclass(kw_only=True)
class Session:
    """State that the trials of a session share.

    Attributes:
        run_dir: the run directory.
        settings: settings of the matrix.
        energy: the chosen energy provider.
        ceilings: highest rates of the load generators, by engine, variant and batch, for run.json.
        idle_before: watts of the idle machine by domain; None if not measured or not readable.
        measured: rows of this session's trials, by name.
    """

    run_dir: Path
    settings: Settings
    energy: Choice
    ceilings: dict[str, CeilingRecord] = field(default_factory=dict)
    idle_before: Watts = None
    measured: dict[str, TrialRow] = field(default_factory=dict)
    _measured_keys: set[str] = field(default_factory=set)

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

    def ceiling(self, cell: Cell, dataset: Dataset) -> CeilingRecord:
        """Return the ceiling of a cell's generator, which the first call in a session measures."""
        batch = cell.batch or 1
        broker = str(cell.options.get("broker", ""))
        row_size = row_bytes(dataset) if broker else 0
        key = f"{cell.engine}/{cell.variant}/b{batch}"
        job: CeilingJob | BrokerJob = CeilingJob(
            engine=cell.engine, variant=cell.variant, batch=batch
        )
        if broker:
            key = f"broker/{broker}/{row_size}-byte-rows"
            job = BrokerJob(address=broker, row_bytes=row_size)
        if key not in self._measured_keys:
            log = self.run_dir / "logs" / f"generator-{key.replace('/', '__')}.log"
            self.ceilings[key] = measure_ceiling(job, log, self.settings.isolation)
            self._measured_keys.add(key)
        return self.ceilings[key]

    def prepare_brokers(self, cells: Sequence[Cell]) -> list[str]:
        """Check and warm up the brokers of cells, because a cold JVM would slow down the first trial.

        Returns a warning for each broker that cannot be used or was not warm in time.

        Raises:
            LabError: no broker can be used, and all cells need one.
        """
        addresses = [str(cell.options.get("broker", "")) for cell in cells]
        texts: list[str] = []
        unusable: dict[str, str] = {}
        for address in dict.fromkeys(addresses):
            if not address:
                continue
            log = self.run_dir / "logs" / f"broker-{address.replace('/', '_')}.log"
            result = run_trial(
                BrokerJob(address=address),
                log=log,
                timeout_s=CEILING_TIMEOUT_S,
                isolate=self.settings.isolation,
            ).columns
            if (status := result.get("status")) is None:
                continue
            reason = f"{str(result['reason']).removeprefix('EngineError: ')} ({log})"
            if status != TIMEOUT:
                unusable[address] = reason
            texts.append(f"broker {address} could not be prepared: {reason}")
        if unusable and unusable.keys() >= set(addresses):
            raise LabError("; ".join(unusable.values()))
        return texts


def measure_ceiling(
    job: CeilingJob | BrokerJob, log: Path, isolate: Isolation | None = None
) -> CeilingRecord:
    """Measure the rate of a generator without an engine; takes a second, or up to a minute through a broker.

    For a virtual source, or if the measurement failed, the record has the reason instead of a rate.
    """
    result = run_trial(job, log=log, timeout_s=CEILING_TIMEOUT_S, isolate=isolate).columns
    if result.get("status") is not None:
        return CeilingRecord(reason=str(result["reason"]))
    if result.get("warnings"):  # the ceiling is not finite
        return CeilingRecord(reason="; ".join(json.loads(str(result["warnings"]))))
    ceiling_eps = result.get("generator_ceiling_eps")
    return CeilingRecord(ceiling_eps=ceiling_eps if isinstance(ceiling_eps, int | float) else None)


def ceiling_warnings(ceiling: CeilingRecord, offered_eps: float | None) -> list[str]:
    """Return warnings about offering events at this rate."""
    if ceiling.reason is not None:
        return [f"the generator's ceiling is unknown: {ceiling.reason}"]
    eps = ceiling.ceiling_eps
    if eps is None or offered_eps is None or offered_eps <= SAFE_SHARE * eps:
        return []
    return [
        f"the offered rate, {offered_eps:,.0f} events/s, is {offered_eps / eps:.0%} of "
        f"the generator's ceiling, {eps:,.0f}; above {SAFE_SHARE:.0%} the trial may "
        "measure the generator instead of the engine"
    ]


def check_isolation(settings: Settings, cells: Sequence[Cell]) -> dict[str, str] | None:
    """Check that trials can run in isolation; return facts about the container engine for run.json.

    Raises:
        IsolationError: trials cannot run; the message has the remedy.
    """
    if settings.isolation.kind != CONTAINER:
        return None
    facts = check(settings.isolation)
    references = dict.fromkeys(cell.entry.full_reference for cell in cells)
    workloads = [
        name for name in references if file_of(name) is None and not _are_lab_modules(places(name))
    ]
    names = dict.fromkeys(cell.engine for cell in cells)
    engines = [name for name in names if not _are_lab_modules([type(find_engine(name)).__module__])]
    if workloads or engines:
        check_contains(settings.isolation, workloads, engines)
    return asdict(facts)


def _are_lab_modules(modules: Iterable[str]) -> bool:
    """Return whether modules belong to the lab's source, which every image contains."""
    return all(
        module.startswith(("streamlab.engines.", "streamlab.workloads.")) for module in modules
    )


def begin(run_dir: Path, meta: RunMeta, settings: Settings) -> Session:
    """Open a session; blocks for `settings.idle_s`."""
    remove_orphaned_folders()
    choice = choose(settings.energy)
    return Session(
        run_dir=run_dir,
        settings=settings,
        energy=choice,
        ceilings=dict(meta.generators),
        idle_before=_measure_idle(choice, settings.idle_s),
    )


def finish(session: Session, *, interrupted: bool) -> Watts:
    """Close a session: fill in the net energy of its rows, each rewritten atomically.

    Returns the watts of the idle machine; an interrupted session does not measure them.
    """
    after: Watts = None
    with suppress(KeyboardInterrupt):
        after = None if interrupted else _measure_idle(session.energy, session.settings.idle_s)
    for name, row in session.measured.items():
        if row.energy_gross_j is not None:
            net = idle.net(row, before=session.idle_before, after=after)
            write_trial(session.run_dir, name, net)
    return after


def _measure_idle(choice: Choice, seconds: float) -> Watts:
    if seconds == 0 or choice.reason is not None:
        return None
    return idle.measure(by_name(choice.name), seconds, pause=pause)
