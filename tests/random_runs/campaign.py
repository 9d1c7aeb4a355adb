"""Many random runs, what they found, and what they covered."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.random_runs.case import Case
from tests.random_runs.drawing import drawn, smallest
from tests.random_runs.process import Outcome, Runner, families_at

TRIES = 10
"""How often a case that failed is run again, to see how often it does."""
MAX_TRIES = 40
"""Of each step of shrinking, where a case fails now and then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A run that failed: at first, in `TRIES` further runs, and with the smallest case found."""

    family: str
    seed: int
    outcome: Outcome
    case: Case
    again: int | None = None
    """How often it failed in further runs; None: not tried."""
    smaller: Case | None = None
    shrunk: Outcome | None = None

    def command(self) -> str:
        """Return what runs it again."""
        rare = self.again is not None and self.again < TRIES
        repeat = " --repeat 1000" if rare else ""
        return f"python -m tests.random_runs --family {self.family} --seed {self.seed}{repeat}"

    def text(self) -> str:
        """Return it for people."""
        parts = [f"{self.outcome.kind}: {self.family}, seed {self.seed}", self.outcome.text]
        if self.again is not None:
            parts.append(f"failed again in {self.again} of {TRIES} runs")
        if self.smaller is not None and self.shrunk is not None:
            parts += ["shrunk to:", self.smaller.text(), self.shrunk.text]
        elif self.again is not None:
            parts += ["as drawn:", self.case.text()]
        return "\n".join([*parts, f"again: {self.command()}"])


@dataclass(slots=True)
class Tally:
    """What the runs of a family came to: outcomes and reasons of refusals, values of options."""

    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    covered: dict[str, Counter[str]] = field(default_factory=dict)
    events: int = 0
    seconds: float = 0.0

    def count(self, case: Case, outcome: Outcome) -> None:
        """Count a run."""
        self.outcomes[outcome.kind] += 1
        if not outcome.bad and outcome.text:
            self.refusals[outcome.text] += 1
        self.events += case.data.events
        self.seconds += outcome.seconds
        for name, value in _options(case):
            self.covered.setdefault(name, Counter())[value] += 1

    def lines(self, name: str) -> list[str]:
        """Return it for people."""
        outcomes = ", ".join(f"{count} {kind}" for kind, count in self.outcomes.most_common())
        lines = [f"{name}: {outcomes}; {self.events} events, {self.seconds:.0f} s"]
        lines += [f"  refused: {count} x {why}" for why, count in self.refusals.most_common(5)]
        for option, values in self.covered.items():
            shown = ", ".join(f"{value} {count}" for value, count in values.most_common(40))
            lines.append(f"  {option}: {shown}")
        return lines


def _options(case: Case) -> Iterable[tuple[str, str]]:
    yield "program", case.program
    for name, value in case.how.items():
        if isinstance(value, Mapping) and name == "options":
            yield from ((inner, str(given)) for inner, given in value.items())
        elif isinstance(value, Mapping):
            kind = value.get("due") or value.get("kind")
            yield name, f"{kind} {value.get('batching', '')}".strip()
        elif isinstance(value, tuple):
            yield name, "some" if value else "none"
        else:
            yield name, str(value)
    lengths = [len(stream) for stream in case.data.streams]
    yield "streams", f"{len(lengths)} ({sum(not n for n in lengths)} empty)"
    beats = any(len(stream.heartbeats) for stream in case.data.streams)
    yield "heartbeats", "some" if beats else "none"
    size = case.data.events
    yield (
        "events",
        "none" if not size else "1-9" if size < 10 else "10-99" if size < 100 else "100+",
    )
    far = max((abs(int(s.ts[i])) for s in case.data.streams if len(s) for i in (0, -1)), default=0)
    yield "times", "at an edge" if far > 1 << 60 else "near 0"


class Campaign:
    """Random runs, one after the other.

    `families` is a `module:attribute`. After `bound_s` without an answer, a run hangs; the smallest
    failing case of a finding is looked for in `shrink_s`.
    """

    def __init__(
        self,
        families: str = "tests.random_runs.families:FAMILIES",
        *,
        bound_s: float = 60.0,
        shrink_s: float = 120.0,
    ) -> None:
        self.families = families_at(families)
        self.tallies = {name: Tally() for name in self.families}
        self.findings: list[Finding] = []
        self._shrink_s = shrink_s
        self._runner = Runner(families, bound_s)

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *raised: object) -> None:
        self._runner.close()

    def run(self, name: str, seed: int, *, repeat: int = 1, shrink: bool = True) -> Finding | None:
        """Do the run of a family's seed, up to `repeat` times; shrink what fails, if asked."""
        case = drawn(self.families[name], seed)
        for _ in range(repeat):
            outcome = self._runner.run(case)
            self.tallies[name].count(case, outcome)
            if outcome.bad:
                break
        else:
            return None
        finding = Finding(family=name, seed=seed, outcome=outcome, case=case)
        if shrink:
            finding = self._shrunk(finding)
        self.findings.append(finding)
        return finding

    def _shrunk(self, found: Finding) -> Finding:
        kind, begin = found.outcome.kind, time.monotonic()
        again = 0
        for _ in range(TRIES):
            again += self._runner.run(found.case).kind == kind
            if time.monotonic() - begin > self._shrink_s:
                break
        tries = min(MAX_TRIES, 3 * TRIES // again) if 0 < again < TRIES else 1
        how: list[Outcome] = []

        def fails(case: Case) -> bool:
            for _ in range(tries):
                outcome = self._runner.run(case)
                if outcome.kind == kind:
                    how.append(outcome)
                    return True
            return False

        smaller = None
        if again:
            smaller = smallest(self.families[found.family], found.seed, fails, self._shrink_s)
        shrunk = how[-1] if smaller is not None else None
        return replace(found, again=again, smaller=smaller, shrunk=shrunk)

    def summary(self, names: Sequence[str]) -> str:
        """Return what the runs of these families came to."""
        lines = [line for name in names for line in self.tallies[name].lines(name)]
        runs = sum(sum(self.tallies[name].outcomes.values()) for name in names)
        lines.append(f"{runs} runs, {len(self.findings)} findings")
        lines += [f"  {one.outcome.kind}: {one.command()}" for one in self.findings]
        return "\n".join(lines)
