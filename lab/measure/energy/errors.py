"""What a person can ask of the energy measurement that cannot be done."""

from lab.errors import LabError


class EnergyError(LabError):
    """There is no energy provider of the requested name; the message lists those that exist."""
