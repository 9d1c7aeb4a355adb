"""Defines the errors of the programming models; `lab/errors.py` shows the whole error tree."""

from pathlib import Path
from traceback import extract_tb


class ModelError(Exception):
    """Reports a malformed program, plan, stream or parameter; the message names the remedy."""


class ProgramError(ModelError):
    """Reports a program that is malformed or breaks one of its declared laws."""


class PlanError(ModelError):
    """Reports a synchronization plan that is invalid for its program (DGS paper, Definition 3.2)."""


def place_of(error: BaseException) -> str:
    """Return where an exception was raised, as `function (file:line)`.

    Frames inside this package are skipped: a mistake reported by `out.emit` is placed at the program's call.
    """
    frames = extract_tb(error.__traceback__)
    if not frames:
        return "nowhere"
    models = str(Path(__file__).parent)
    last = next((f for f in reversed(frames) if not f.filename.startswith(models)), frames[-1])
    return f"{last.name} ({last.filename}:{last.lineno})"
