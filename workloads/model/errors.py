"""Errors of the programming models. The whole tree is drawn in `lab/errors.py`."""

from pathlib import Path
from traceback import extract_tb


class ModelError(Exception):
    """A program, plan, stream or parameter is malformed; the message names the remedy."""


class ProgramError(ModelError):
    """A DGS program is malformed or breaks one of its declared laws."""


class PlanError(ModelError):
    """A synchronization plan is not valid for its program (Definition 3.2 of the DGS paper)."""


def place_of(error: BaseException) -> str:
    """Return where an exception was raised, as `function (file:line)`.

    What the programming models raise at a program's mistake, in `out.emit` for example, was raised
    where the program called them.
    """
    frames = extract_tb(error.__traceback__)
    if not frames:
        return "nowhere"
    models = str(Path(__file__).parent)
    last = next((f for f in reversed(frames) if not f.filename.startswith(models)), frames[-1])
    return f"{last.name} ({last.filename}:{last.lineno})"
