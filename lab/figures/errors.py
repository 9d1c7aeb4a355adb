"""What can be wrong with asking for a figure."""

from lab.errors import LabError


class FigureError(LabError):
    """There is no such figure, or a run cannot serve it; the message says what is lacking."""
