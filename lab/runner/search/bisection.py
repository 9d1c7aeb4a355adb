"""Searches for the highest sustained rate, as a pure function of the verdicts so far.

1. Double the first rate until a rate fails; if the first rate fails, halve it until a rate passes.
2. Bisect between the highest pass and the lowest fail.
3. Confirm both ends in fresh processes.
4. Measure the latency at shares of the passing rate.

The search uses no clock, randomness or files: equal verdicts give equal steps, so a run can resume from its rows.
docs/method.md has the rules and their error rates.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace

from streamlab.lab.matrix.load_table import SearchSettings
from streamlab.lab.runner.search.state import (
    BISECT,
    CONFIRM,
    CRASH,
    DOUBLE,
    FAIL,
    INVALID,
    LEVEL,
    PASS,
    REFUTE,
    STOP,
    TOO_SHORT,
    VERDICTS,
    Bracket,
    Probe,
    State,
    Step,
    Vote,
)

HALVINGS = 12
"""Limit of halvings; the lowest rate is 1/4096 of the first rate."""
STEPS_DOWN = 12
"""Limit of steps down while confirming, each by one tolerance: at 2 %, down to 78 % of the rate."""
STEPS_UP = 36
"""Limit of steps up while refuting, each by one tolerance: at 2 %, up to twice the rate. Most steps take one
trial. Many steps are needed only after a low rate failed by accident."""
INVALID_VOTES = 4
"""This many invalid votes end a probe. A shared machine loses a few milliseconds only now and then, but a generator
that is too slow fails every time."""


def replay(
    settings: SearchSettings, votes: Sequence[Vote], *, feasible_eps: float | None = None
) -> State:
    """Return the state of a search after these votes.

    Args:
        settings: settings of the search.
        votes: one vote for each step so far, in order.
        feasible_eps: the highest rate for which the input has enough events; None if unknown.

    Raises:
        ValueError: the search ended before the last vote.
    """
    search = _Search(settings, feasible_eps)
    steps = search.run()
    step = next(steps, None)
    for vote in votes:
        if step is None:
            raise ValueError(f"got {len(votes)} votes, but the search ended before the last one")
        try:
            step = steps.send(vote)
        except StopIteration:
            step = None
    return State(next=step, probes=tuple(search.probes), bracket=search.bracket())


class _SearchEnd(Exception):  # noqa: N818 - not an error: the search has no result
    pass


_Steps = Generator[Step, Vote, None]
_StepsToOutcome = Generator[Step, Vote, str]


class _Search:
    """One run of the search; `run` is a generator that yields steps and receives votes through `send`."""

    def __init__(self, settings: SearchSettings, feasible_eps: float | None) -> None:
        self._settings = settings
        self._cap_eps: float | None = None
        self._cap_reason = ""
        for cap, reason in (
            (settings.max_eps, "the search tries no rate above {:,.6g} events/s (max_eps)"),
            (feasible_eps, "the input is too short for rates above {:,.6g} events/s"),
        ):
            if cap is not None and (self._cap_eps is None or cap < self._cap_eps):
                self._cap_eps, self._cap_reason = cap, reason.format(cap)
        self.probes: list[Probe] = []
        self._pass_eps: float | None = None
        self._fail_eps: float | None = None
        # The probe at the lowest rate that did not pass, whatever the reason.
        self._lowest_unpassed: Probe | None = None
        self._confirmed_eps: float | None = None
        self._refuted_eps: float | None = None
        self._given_up = False
        self._unrefuted = False
        self._end_reason: str | None = None

    def run(self) -> _Steps:
        try:
            yield from self._double()
            if self._pass_eps is not None:
                yield from self._bisect()
                yield from self._confirm()
                yield from self._refute()
                yield from self._measure_levels()
        except _SearchEnd:
            pass

    def bracket(self) -> Bracket:
        if self._end_reason is not None:
            return Bracket(
                r_pass_eps=None,
                r_fail_eps=None,
                confirmed=False,
                refuted=False,
                reason=self._end_reason,
            )
        return Bracket(
            r_pass_eps=self._confirmed_eps or self._pass_eps,
            r_fail_eps=None if self._unrefuted else self._refuted_eps or self._fail_eps,
            confirmed=self._confirmed_eps is not None,
            refuted=self._refuted_eps is not None,
            reason="; ".join(self._warnings()) or None,
        )

    def _double(self) -> _Steps:
        rate = self._round_rate(self._settings.start_eps)
        outcome = yield from self._vote_on(rate, DOUBLE)
        halvings = 0
        while outcome != PASS and halvings < HALVINGS:
            self._stop_if_only_crashes()
            halvings += 1
            rate = self._round_rate(rate / 2)
            outcome = yield from self._vote_on(rate, DOUBLE)
        while outcome == PASS and self._lowest_unpassed is None and rate != self._cap_eps:
            rate = self._round_rate(rate * 2)
            outcome = yield from self._vote_on(rate, DOUBLE)

    def _bisect(self) -> _Steps:
        while self._lowest_unpassed is not None and self._pass_eps is not None:
            low, high = self._pass_eps, self._lowest_unpassed.rate_eps
            middle = self._round_rate((low + high) / 2)
            if high - low <= self._settings.tolerance * low or not low < middle < high:
                return
            yield from self._vote_on(middle, BISECT)

    def _confirm(self) -> _Steps:
        times = self._settings.confirmations
        if times == 0 or self._pass_eps is None:
            return
        rate = self._pass_eps
        for _ in range(STEPS_DOWN + 1):
            outcome = yield from self._probe(rate, CONFIRM, passes=times, fails=1)
            if outcome == PASS:
                self._confirmed_eps = rate
                return
            rate = self._round_rate(rate * (1 - self._settings.tolerance))
        self._given_up = True

    def _refute(self) -> _Steps:
        """Verify the failing end of the bracket in several processes.

        A rate just below the capacity loses a majority vote now and then.
        Without this step, the capacity would lie above the bracket in up to a third of all searches
        (docs/decisions/0005-sustained.md).
        """
        times = self._settings.confirmations
        if times == 0 or self._fail_eps is None or self._given_up:
            return
        rate = self._fail_eps
        for _ in range(STEPS_UP + 1):
            outcome = yield from self._probe(rate, REFUTE, passes=1, fails=times)
            if outcome == FAIL:
                self._refuted_eps = rate
                return
            if outcome != PASS:
                self._lowest_unpassed = self.probes[-1]
                # If no process passed the rate, the majority's verdict stands.
                self._unrefuted = rate != self._fail_eps
                return
            if rate == self._cap_eps:
                break
            rate = self._round_rate(rate * (1 + self._settings.tolerance))
        self._unrefuted = True

    def _measure_levels(self) -> _Steps:
        r_pass_eps = self.bracket().r_pass_eps
        assert r_pass_eps is not None
        for level in self._settings.levels:
            rate = self._round_rate(level * r_pass_eps)
            self.probes.append(Probe(number=len(self.probes) + 1, purpose=LEVEL, rate_eps=rate))
            for _ in range(self._settings.level_repetitions):
                yield from self._cast_vote()

    def _vote_on(self, rate: float, purpose: str) -> _StepsToOutcome:
        """Probe a rate by majority, and update the bracket."""
        majority = self._settings.votes // 2 + 1
        fails = self._settings.votes - majority + 1
        outcome = yield from self._probe(rate, purpose, passes=majority, fails=fails)
        if outcome == PASS:
            self._pass_eps = rate
        else:
            self._lowest_unpassed = self.probes[-1]
            if outcome == FAIL:
                self._fail_eps = rate
        return outcome

    def _probe(self, rate: float, purpose: str, *, passes: int, fails: int) -> _StepsToOutcome:
        """Probe a rate until it has this many passes or fails, or too many invalid votes."""
        self.probes.append(Probe(number=len(self.probes) + 1, purpose=purpose, rate_eps=rate))
        while True:
            yield from self._cast_vote()
            verdicts = [vote.verdict for vote in self.probes[-1].votes]
            if verdicts[-1] == TOO_SHORT:
                outcome = TOO_SHORT
            elif verdicts.count(PASS) >= passes:
                outcome = PASS
            elif verdicts.count(FAIL) + verdicts.count(CRASH) >= fails:
                outcome = FAIL
            elif verdicts.count(INVALID) >= INVALID_VOTES:
                outcome = INVALID
            else:
                continue
            self.probes[-1] = replace(self.probes[-1], outcome=outcome)
            return outcome

    def _cast_vote(self) -> _Steps:
        """Request one more vote on the last probe."""
        probe = self.probes[-1]
        vote = yield Step(
            rate_eps=probe.rate_eps,
            purpose=probe.purpose,
            probe=probe.number,
            vote=len(probe.votes) + 1,
        )
        if vote.verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {vote.verdict!r}; use one of {', '.join(VERDICTS)}")
        self.probes[-1] = replace(probe, votes=(*probe.votes, vote))
        if vote.verdict == STOP:
            self.probes[-1] = replace(self.probes[-1], outcome=STOP)
            self._end(vote.reason or "the search was stopped")

    def _stop_if_only_crashes(self) -> None:
        """End the search if the engine crashed in every trial of the last probe.

        Otherwise, the search would halve the rate 12 times, usually with 26 crashes in all.
        A user whose first rate is too high for the engine can set a lower `start_eps`.
        """
        if all(vote.verdict == CRASH for vote in self.probes[-1].votes):
            rate = self.probes[-1].rate_eps
            why = self.probes[-1].reason
            self._end(f"the engine failed at {rate:,.6g} events/s, before any rate passed: {why}")

    def _end(self, reason: str) -> None:
        self._end_reason = reason
        raise _SearchEnd

    def _round_rate(self, rate: float) -> float:
        """Return the rate to 6 digits, at most the cap."""
        rounded_eps = float(f"{rate:.6g}")
        return rounded_eps if self._cap_eps is None else min(rounded_eps, self._cap_eps)

    def _warnings(self) -> list[str]:
        """Return warnings about the current bracket."""
        warnings = []
        probe_above = self._lowest_unpassed
        if self._pass_eps is None:
            if probe_above is None:
                return ["no probe has finished"]
            warnings.append(
                f"no rate was sustained, down to {probe_above.rate_eps:,.6g} events/s: {probe_above.reason}"
            )
        elif probe_above is None and self._pass_eps == self._cap_eps:
            warnings.append(f"no rate failed: {self._cap_reason}")
        if probe_above is not None and probe_above.outcome == INVALID:
            limit = (
                "generator"
                if (probe_above.reason or "").startswith("generator:")
                else "measurement"
            )
            warnings.append(
                f"the {limit}, not the engine, is the limit above {self._pass_eps or 0:,.6g} events/s: "
                f"at {probe_above.rate_eps:,.6g} trials were invalid ({probe_above.reason})"
            )
        if probe_above is not None and probe_above.outcome == TOO_SHORT:
            warnings.append(
                f"the input is the limit above {self._pass_eps or 0:,.6g} events/s: {probe_above.reason}"
            )
        if self._given_up:
            warnings.append(
                f"not confirmed: no rate down to {self._last_rate_eps(CONFIRM):,.6g} "
                f"events/s held in {self._settings.confirmations} processes"
            )
        elif self._confirmed_eps is None and self._pass_eps is not None:
            warnings.append("not confirmed")
        elif self._unrefuted:
            warnings.append(
                f"{self._fail_eps or 0:,.6g} events/s failed by majority, but no rate up to "
                f"{self._last_rate_eps(REFUTE):,.6g} failed in all of {self._settings.confirmations} "
                "processes"
            )
        return warnings

    def _last_rate_eps(self, purpose: str) -> float:
        return [probe.rate_eps for probe in self.probes if probe.purpose == purpose][-1]
