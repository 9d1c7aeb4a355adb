"""What a person can ask of the energy measurement that cannot be done."""

from lab.errors import LabError


class EnergyError(LabError):
    """A provider or an estimate that was asked for is malformed; names the value and the remedy."""
