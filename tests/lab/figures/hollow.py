"""What is wrong with the systems that a figure's claims name: nothing may be."""

from streamlab.lab.figures.systems import hollow


def hollow_claims(outcome):
    found = [hollow(claim.text, claim.system, claim.opponent) for claim in outcome.claims]
    return [wrong for wrong in found if wrong is not None]
