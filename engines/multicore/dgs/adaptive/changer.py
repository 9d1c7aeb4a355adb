"""Changes the plan during a run, in the snapshot thread."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamlab.engines.multicore.dgs.adaptive.deciders import Decider, PlanProposal
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.engines.multicore.dgs.snapshots import JoinedStates, Layout
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan

MAX_CHANGES = 100
"""Maximum number of changes in a run, because the memory of each plan stays in use until the end."""
REST_PER_LOOK = 50
"""Minimum pause between checks of the rates, as a multiple of the duration of a check.
With 10,000 keys a check takes about 25 ms of a core that the workers need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A plan change.

    Attributes:
        at_ns: time of the run at which all mailboxes had stopped.
        took_ns: duration of the change.
        events: number of events before the change.
        event_ts: event time of the cut.
        why: the reason, in words.
    """

    at_ns: int
    took_ns: int
    events: int
    event_ts: int
    why: str

    def __str__(self) -> str:
        """Return the change as one line."""
        return (
            f"changed at {self.at_ns / 1e9:.3f} s, at event {self.events} (event time "
            f"{self.event_ts}), in {self.took_ns / 1e6:.3g} ms: {self.why}"
        )


class PlanChanger:
    """Replaces the running plan by the plans that a decider proposes.

    Call `begin` before the run and read `changes` after it. The snapshot thread calls all other methods.

    `wire` builds a plan on the core from joined states and stream positions, and returns the plan's layout.
    """

    def __init__(
        self,
        core: Any,
        data: Input,
        cuts: Cuts,
        plan: Plan,
        layout: Layout,
        decider: Decider,
        wire: Callable[[Plan, JoinedStates, tuple[int, ...]], Layout],
    ) -> None:
        self._core = core
        self._data = data
        self._cuts = cuts
        self._plan = plan
        self._layout = layout
        self._decider = decider
        self._wire = wire
        self._proposal: PlanProposal | None = None
        self._looked_s = self._started_s = time.monotonic()
        self._period_s = decider.period_s
        self.changes: list[Change] = []

    def run(self, ending: threading.Event) -> None:
        """Change the plan whenever the decider proposes it, in a run without checkpoints."""
        while True:
            if self._proposal is not None:
                if not self._core.wait_snapshot():
                    return
                if self.change() is None:
                    return
            elif ending.wait(self._period_s):
                return
            self.ask()

    def begin(self) -> None:
        """Record the start of the run, and ask the decider for a first change."""
        self._looked_s = self._started_s = time.monotonic()
        self._ask_now()

    def ask(self) -> None:
        """Ask the decider at most once a period, and request a stop of the core for a change."""
        if self._proposal is None and time.monotonic() - self._looked_s >= self._period_s:
            self._ask_now()

    def _ask_now(self) -> None:
        if len(self.changes) == MAX_CHANGES:
            return
        self._looked_s, worked_s = time.monotonic(), time.thread_time()
        self._proposal = self._decider.consider(self._plan, self._core.cuts_decided())
        rest_s = REST_PER_LOOK * (time.thread_time() - worked_s)
        self._period_s = max(self._decider.period_s, rest_s)
        if self._proposal is not None:
            self._core.request_change(self._proposal.from_cut)

    def change(self) -> Layout | None:
        """Replace the plan at a snapshot that has stopped the workers; return the new layout.

        Returns None if the run was aborted; in that case no further snapshot follows.
        """
        assert self._proposal is not None, "only this object requests stops"
        proposal, begun_s, cut = self._proposal, time.monotonic(), self._core.snapshot_cut()
        states = self._layout.joined_states(self._core)
        if not self._core.remove_plan():
            return None
        positions = positions_at(self._data, *self._cuts[cut].item())
        self._layout = self._wire(proposal.plan, states, positions)
        self._plan, self._proposal = proposal.plan, None
        took_ns = int((time.monotonic() - begun_s) * 1e9)
        self.changes.append(
            Change(
                at_ns=int((begun_s - self._started_s) * 1e9),
                took_ns=took_ns,
                events=sum(positions),
                event_ts=int(self._cuts["ts"][cut]),
                why=proposal.why,
            )
        )
        self._decider.changed(took_ns)
        if self._decider.at_once:
            self._ask_now()
        self._core.resume()
        return self._layout
