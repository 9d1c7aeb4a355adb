"""Changes the plan of a run while it runs, from the thread that takes its snapshots."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamlab.engines.multicore.dgs.adaptive.deciders import Decider
from streamlab.engines.multicore.dgs.adaptive.decision import Wish
from streamlab.engines.multicore.dgs.joined_state import JoinedStates, Layout
from streamlab.engines.multicore.dgs.recovery.cuts import Cuts, positions_at
from streamlab.workloads.model import Input
from streamlab.workloads.model.dgs.plan import Plan

MOST_CHANGES = 100
"""In a run: what a plan had is kept until the end."""
REST_PER_LOOK = 50
"""So many times as long as a look took is the least until the next: with 10,000 keys one takes some
25 ms of a core, which the workers lack, and whoever synchronizes waits for who has lost it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that was made.

    Attributes:
        at_ns: when all mailboxes had stopped, after the start of the run.
        took_ns: from then on until the workers were let go.
        events: before it.
        event_ts: event time at which all mailboxes switched.
        why: in words.
    """

    at_ns: int
    took_ns: int
    events: int
    event_ts: int
    why: str

    def __str__(self) -> str:
        """Return it in a line."""
        return (
            f"changed at {self.at_ns / 1e9:.3f} s, at event {self.events} (event time "
            f"{self.event_ts}), in {self.took_ns / 1e6:.3g} ms: {self.why}"
        )


class PlanChanger:
    """Asks who decides, and puts the new plan in place of the running one.

    `begin` comes before the run and `changes` after it; the rest is for the thread that takes
    snapshots.

    Args:
        core: the run's.
        data: what it processes.
        cuts: of that.
        plan: the first.
        layout: of that.
        decider: who decides.
        wire: lays a plan with these states out on the core, and returns where states are.

    Attributes:
        changes: in order.
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
        self._wish: Wish | None = None
        self._looked_s = self._started_s = time.monotonic()
        self._period_s = decider.period_s
        self.changes: list[Change] = []

    def run(self, ending: threading.Event) -> None:
        """Change the plan whenever that is wanted, until the end, in a run without checkpoints."""
        while True:
            if self._wish is not None:
                if not self._core.wait_snapshot():
                    return
                if self.change() is None:
                    return
            elif ending.wait(self._period_s):
                return
            self.ask()

    def begin(self) -> None:
        """Take the start of the run, before it; ask for what is wanted from there on."""
        self._looked_s = self._started_s = time.monotonic()
        self._ask_now()

    def ask(self) -> None:
        """Ask the core to stop if a change is wanted; asks the decider once a period."""
        if self._wish is None and time.monotonic() - self._looked_s >= self._period_s:
            self._ask_now()

    def _ask_now(self) -> None:
        if len(self.changes) == MOST_CHANGES:
            return
        self._looked_s, worked_s = time.monotonic(), time.thread_time()
        self._wish = self._decider.look(self._plan, self._core.cuts_decided())
        rest_s = REST_PER_LOOK * (time.thread_time() - worked_s)
        self._period_s = max(self._decider.period_s, rest_s)
        if self._wish is not None:
            self._core.request_change(self._wish.from_cut)

    def change(self) -> Layout | None:
        """Go on with the plan that was wanted, at a snapshot that stops; return its layout.

        None: the run has ended before its time, and there will be nothing more to do.
        """
        assert self._wish is not None, "nobody else asks the core to stop"
        wish, begun_s, cut = self._wish, time.monotonic(), self._core.snapshot_cut()
        states = self._layout.joined(self._core)
        if not self._core.take_plan_away():
            return None
        positions = positions_at(self._data, *self._cuts.key(cut))
        self._layout = self._wire(wish.plan, states, positions)
        self._plan, self._wish = wish.plan, None
        took_ns = int((time.monotonic() - begun_s) * 1e9)
        self.changes.append(
            Change(
                at_ns=int((begun_s - self._started_s) * 1e9),
                took_ns=took_ns,
                events=sum(positions),
                event_ts=int(self._cuts.ts[cut]),
                why=wish.why,
            )
        )
        self._decider.changed(took_ns)
        if self._decider.at_once:
            self._ask_now()
        self._core.go_on()
        return self._layout
