"""Computes the minimum memory of a run's windows, and refuses runs with too many."""

from collections.abc import Sequence

from streamlab.workloads.model import Operator
from streamlab.workloads.model.operators.program import SINGLE

MOST_WINDOWS = 1 << 21
"""Maximum number of windows of a run with one key per bucket, over all operators and their states.

With the default of 1,024 buckets this allows 2,048 overlapping windows, which take at least 192 MiB. A tuple updates
all of them for each of its keys, so at that point the work per tuple is the limit, not the memory.
"""

_LEAST_BYTES = 4 * 24
"""Minimum size of a window: the smallest table has four entries, and a window has key, boundary and state."""


def max_open_windows(operator: Operator) -> int:
    """Return the maximum number of open windows of a key; a table entry holds all of them."""
    window = operator.window
    return 1 if window.type == SINGLE else -(-window.size // window.advance)


def check_windows(operators: Sequence[Operator], states: int = 1) -> str | None:
    """Return why a run's operators have too many windows, or None.

    The core has a table for each bucket of keys, whose entries hold all windows of a key.

    Args:
        operators: operators of the run that have window tables.
        states: number of states of each operator: 1 if its instances share it, else one per instance.
    """
    keyed = list(operators)
    windows = [max_open_windows(operator) * operator.buckets for operator in keyed]
    total = sum(windows) * states
    if total <= MOST_WINDOWS:
        return None
    most = max(windows)
    operator = keyed[windows.index(most)]
    window, overlaps = operator.window, max_open_windows(operator)
    described = (
        f"operator {operator.name}: windows of size {window.size} that advance by "
        f"{window.advance} overlap {overlaps} times; with {operator.buckets} buckets of one key "
        f"each that is {most} windows"
    )
    if states > 1:
        described += f", for each of {states} shared-nothing instances"
    if len(keyed) > 1:
        described += f", and {total} with the other operators"
    elif states > 1:
        described += f", and {total} in total"
    remedies = _remedies(operator, (MOST_WINDOWS - (total - most * states)) // states)
    if states > 1 and sum(windows) <= MOST_WINDOWS:
        remedies.append(f"take at most {MOST_WINDOWS // sum(windows)} instances")
    if not remedies:
        remedies.append("give the operator fewer buckets and a larger advance")
    return (
        f"{described}, at least {total * _LEAST_BYTES >> 20:,} MiB; "
        f"the maximum of a run is {MOST_WINDOWS} windows; {', or '.join(remedies)}"
    )


def _remedies(operator: Operator, room: int) -> list[str]:
    """Return changes that limit an operator's windows per state to `room`."""
    remedies = []
    if operator.buckets <= room and max_open_windows(operator) > 1:
        least = -(-operator.window.size // (room // operator.buckets))
        remedies.append(f"let the window advance by at least {least}")
    if max_open_windows(operator) <= room:
        most = room // max_open_windows(operator)
        remedies.append(f"give the operator at most {most} buckets")
    return remedies
