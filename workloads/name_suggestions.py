"""What was probably meant by a name that is none."""

from collections.abc import Iterable
from difflib import get_close_matches

FEW = 4
"""So many names can be read at a glance; more are left to a command that lists them."""


def meant(given: str, known: Iterable[str], listed_by: str = "") -> str:
    """Return the remedy for a name that is none of the known: those close to it, or where they are.

    Args:
        given: the name.
        known: the names that there are.
        listed_by: the command that lists them; without one, all are named where none is close.
    """
    names = tuple(known)
    if not names:
        return "there is none"
    by_folded = {name.lower(): name for name in names}
    close = [by_folded[name] for name in get_close_matches(given.lower(), by_folded, n=3)]
    if close:
        found = f"did you mean {' or '.join(close)}?"
        return f"{found} `{listed_by}` shows all" if listed_by else found
    if listed_by and len(names) > FEW:
        return f"`{listed_by}` shows all {len(names)}"
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
