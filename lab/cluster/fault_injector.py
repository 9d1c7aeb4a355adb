"""Breaks a cluster in the middle of a trial: kills a worker, or cuts the network.

KILL sends SIGKILL to the last worker's daemon and to all of the daemon's processes. Then it starts the daemon again at
once, as a supervisor on a node would do. CUT switches off the bridge between the workers' namespaces and the driver.
"""

import threading
import time
from collections.abc import Mapping
from types import TracebackType

from streamlab.engines.clusters import ClusterEngine, ClusterState
from streamlab.engines.errors import EngineError
from streamlab.lab.cluster.daemons import cluster_engine, kill_worker, restart_daemon
from streamlab.lab.cluster.fault import CUT, KILL, Fault
from streamlab.lab.cluster.network import set_bridge
from streamlab.lab.cluster.record import ClusterRecord, read_record
from streamlab.lab.errors import ClusterError, LabError

WHOLE_TIMEOUT_S = 60.0
"""Seconds after a trial within which a cluster must have all of its workers again."""
_LOOK_S = 0.1
"""Seconds between two looks at the cluster's state."""


def refusal(fault: Fault, engine: str, options: Mapping[str, object]) -> str | None:
    """Return why the lab cannot cause a fault in a task with these options; None if it can."""
    try:
        option = cluster_engine(engine).cluster_option
        address, record = options.get(option), read_record(engine)
    except ClusterError as error:
        return f"fault: {error}"
    if record is None or record.address != address:
        return (
            f"fault: {option} is {address or 'not set'}; expected the address of a cluster that the lab "
            f"started: lab cluster up --engine {engine}"
        )
    if fault.action == CUT and not record.namespaces:
        return (
            "fault: only the network between namespaces can be cut: lab cluster up "
            f"--engine {engine} --network namespaces"
        )
    return None


class FaultInjector:
    """Causes a fault at the requested time, and observes when the cluster works with all cores again.

    Use it as a context manager around a trial, and call `begin` as the timed part begins.
    """

    def __init__(self, fault: Fault, engine: str) -> None:
        """Prepare a fault of an engine's cluster; call `refusal` first, which must return None."""
        record = read_record(engine)
        assert record is not None, "callers call refusal"
        self._fault = fault
        self._engine: ClusterEngine = cluster_engine(engine)
        self._record: ClusterRecord = record
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lab-fault", daemon=True)
        self.caused_s: float | None = None
        """Seconds from the beginning of the timed part to the fault; None if the timed part ended before the fault."""
        self.recovery_s: float | None = None
        """Seconds from the fault until tasks had as many cores as before; None if the timed part ended earlier."""
        self._error: Exception | None = None

    def __enter__(self) -> "FaultInjector":
        return self

    def begin(self) -> None:
        """Start to count the seconds until the fault."""
        self._thread.start()

    def end(self) -> None:
        """Note the end of the timed part, after which no fault happens."""
        self._ended.set()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        if self.caused_s is not None:
            self._await_all_workers()

    def _run(self) -> None:
        try:
            self._cause_and_observe()
        except (LabError, EngineError) as error:
            self._error = error

    def _cause_and_observe(self) -> None:
        begin_ns = time.monotonic_ns()
        if self._ended.wait(self._fault.after_s):
            return
        initial_state = self._state()
        fault_ns = time.monotonic_ns()
        self.caused_s = (fault_ns - begin_ns) / 1e9
        if self._fault.action == KILL:
            daemon = kill_worker(self._record)
            self._record = restart_daemon(self._record, daemon)
        else:
            set_bridge(self._record.engine, up=False)
            try:
                self._ended.wait(self._fault.for_s)
            finally:
                set_bridge(self._record.engine, up=True)
        has_lost_cores = self._fault.action == CUT
        while initial_state is not None and not self._ended.wait(_LOOK_S):
            state = self._state()
            used_cores = -1 if state is None else state.used_cores
            has_lost_cores = has_lost_cores or used_cores < initial_state.used_cores
            if has_lost_cores and used_cores >= initial_state.used_cores:
                self.recovery_s = (time.monotonic_ns() - fault_ns) / 1e9
                return

    def _state(self) -> ClusterState | None:
        return self._engine.cluster_state(self._record.plan)

    def _await_all_workers(self) -> None:
        workers = len(self._record.plan.worker_hosts)
        deadline = time.monotonic() + WHOLE_TIMEOUT_S
        while (state := self._state()) is None or state.workers < workers:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"after {self._fault.action}, the cluster of {self._record.engine} did not get its "
                    f"{workers} workers back within {WHOLE_TIMEOUT_S:g} s; start it again: lab cluster down, up"
                )
            time.sleep(_LOOK_S)
