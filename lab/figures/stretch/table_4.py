"""Reproduces table IV of STRETCH: the number of instances after one reconfiguration."""

from collections.abc import Sequence

from streamlab.lab.figures.experiment import plain
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import Posed, PublishedClaim, judge
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import cores, sweep_points
from streamlab.lab.figures.stretch.one_step import (
    BOTH,
    NEEDS,
    by_start,
    elastic,
    rate_steps,
    step_notes,
)
from streamlab.lab.figures.stretch.shared import facts
from streamlab.lab.figures.stretch.steps import PROVISION, STAGES, Step, expected_after, scale
from streamlab.lab.figures.stretch.systems import OPERATOR_10
from streamlab.lab.figures.verdict import SHAPE
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.results.stats.estimates import Middle


def _outcome(options: Options, runs: Runs) -> Outcome:
    trials = elastic(options, runs)
    posed: list[Posed] = []
    panels = []
    for direction in BOTH:
        afters = _afters(trials, direction)
        published = {int(fact.x): fact for fact in facts().of(figure="T4", series=direction)}
        for start, values in afters.items():
            expected = expected_after(direction, start)
            fact = published.get(start)
            sign = 1 if direction == PROVISION else -1
            after, more = Middle(tuple(values)), Middle(tuple(sign * (v - start) for v in values))
            same_start = [s for s in trials if (s.direction, s.start) == (direction, start)]
            posed.append(
                PublishedClaim(
                    text=f"{direction} from {start}: instances after it",
                    published=f"{fact.low:g}" if fact else f"{expected} by the paper's rule",
                    source=fact.source if fact else "section 8.4",
                )
                .of(OPERATOR_10)
                .given(cores(options, max(start, expected)), rate_steps(same_start))
                .near(after, expected, expected, 0.0)
            )
            posed.append(
                PublishedClaim(
                    text=f"{direction} from {start}: there are {_direction(direction)} afterwards",
                    published=_direction(direction),
                    source="section 8.4",
                )
                .of(OPERATOR_10)
                .given(cores(options, start), rate_steps(same_start))
                .at_least(more, 1, kind=SHAPE)
            )
        missing = [n for n in published if n not in afters]
        if missing:
            posed.append(
                PublishedClaim(
                    text=f"{direction} from {', '.join(map(str, missing))}",
                    published=", ".join(f"{published[n].low:g}" for n in missing),
                    source="table IV",
                )
                .of(OPERATOR_10)
                .given(cores(options, min(missing)), sweep_points("trials with such starts", 0, 1))
                .near(None, 1, 1, 0.0)
            )
        panels.append(
            Panel(
                title=direction,
                y_label="instances afterwards",
                x_label="instances at the start",
                lines=[
                    Line(
                        name="measured",
                        points=by_start(afters, options),
                        style="marks",
                    )
                ],
                marks=[
                    Mark(name="table IV", x=float(n), low=fact.low, high=fact.high)
                    for n, fact in published.items()
                ],
                write=plain,
                whole=True,
                empty="no reconfiguration was measured",
            )
        )
    figure_notes = step_notes(options, runs)
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers={d: {str(n): v for n, v in _afters(trials, d).items()} for d in BOTH},
        draw=lambda: draw(
            Layout(
                title="STRETCH, table IV: instances before and after",
                rows=[panels],
                notes=figure_notes,
            )
        ),
    )


def _afters(trials: Sequence[Step], direction: str) -> dict[int, list[int]]:
    by_number: dict[int, list[int]] = {}
    for step in trials:
        if step.direction == direction:
            by_number.setdefault(step.start, []).append(
                step.start if step.after is None else step.after
            )
    return dict(sorted(by_number.items()))


def _direction(direction: str) -> str:
    return "more instances" if direction == PROVISION else "fewer instances"


FIGURE = Figure(
    id="stretch:T4",
    title="instances before and after one reconfiguration",
    shows="instances after provisioning and decommissioning, for each number at the start",
    needs=NEEDS,
    stages=STAGES,
    scale=scale,
    outcome=_outcome,
)
