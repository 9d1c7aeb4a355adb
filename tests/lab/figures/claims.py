"""Outcomes of the claims of figures, and the cells that figures plan."""

from streamlab.lab.figures.registry import find
from streamlab.lab.matrix.cells import expand
from streamlab.lab.matrix.matrix import parse_matrix


def hollow(text, system, opponent):
    """Return the fault in the sides of a claim, in words; None without a fault."""
    if system is None:
        return f"{text!r} names no system; use .between(system, opponent) or .of(system)"
    if opponent is not None and system.algorithm == opponent.algorithm:
        return (
            f"{text!r} compares {system.name} with {opponent.name}, but both are "
            f"{system.algorithm!r}: it compares nothing"
        )
    return None


def hollow_claims(outcome):
    """What is wrong with the systems that the claims name: nothing may be."""
    found = [hollow(claim.text, claim.system, claim.opponent) for claim in outcome.claims]
    return [wrong for wrong in found if wrong is not None]


def judged(outcome):
    assert not hollow_claims(outcome)
    return {claim.text: claim.outcome for claim in outcome.claims}


def outcomes(outcome, part):
    found = {claim.outcome for claim in outcome.claims if part in claim.text}
    assert found, f"no claim speaks of {part!r}"
    return found


def planned(figure_id, options, runs=()):
    """The plan and the matrix of the stage that follows these runs."""
    figure = find(figure_id)
    stage = figure.stages[len(runs)]
    plan = stage.plan(options, runs)
    return plan, parse_matrix(figure.text(stage, plan, options), figure.id)


def cells_of(figure_id, options, runs=()):
    plan, matrix = planned(figure_id, options, runs)
    return expand(matrix, plan.only)


def form_of(cell):
    """Return the form of synchronization plans of a cell of DGS."""
    return cell.options.get("form", "own")
