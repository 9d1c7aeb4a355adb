"""Suggests the closest known names for a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches

FEW = 4
"""Maximum number of names that a message lists. For more names, the message shows the command that lists them."""


def suggest_names(misspelt: str, known_names: Iterable[str], listed_by: str = "") -> str:
    """Return a remedy for an unknown name: the closest known names, or the command that lists all.

    If there is neither, the remedy lists all names.
    """
    names = tuple(known_names)
    if not names:
        return "none exist"
    by_folded = {name.lower(): name for name in names}
    close_names = [by_folded[name] for name in get_close_matches(misspelt.lower(), by_folded, n=3)]
    if close_names:
        suggestion = f"did you mean {' or '.join(close_names)}?"
        return f"{suggestion} `{listed_by}` shows all" if listed_by else suggestion
    if listed_by and len(names) > FEW:
        return f"`{listed_by}` shows all {len(names)}"
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
