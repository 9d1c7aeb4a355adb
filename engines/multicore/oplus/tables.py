"""How much room the windows of a run's operators take at least."""

from collections.abc import Sequence

from streamlab.workloads.model import Operator
from streamlab.workloads.model.operators.program import SINGLE

MOST_WINDOWS = 1 << 21
"""Of a key in every bucket of a run: for all its operators, and for each state of theirs, of which
instances that share nothing have one each. With the default of 1,024 buckets that is 2,048
overlapping windows, in each of which a tuple updates each of its keys: by then the work for a tuple
is the limit, not the memory, which is at least 192 MiB.
"""

_LEAST_BYTES = 4 * 24
"""Of a window: a table with an entry has room for four, and a window has a key, its left boundary
and a state.
"""


def windows_alive(operator: Operator) -> int:
    """Return how many windows of a key can be open at once: an entry has room for all of them."""
    window = operator.window
    return 1 if window.type == SINGLE else -(-window.size // window.advance)


def too_many_windows(operators: Sequence[Operator], states: int = 1) -> str | None:
    """Return why a run's operators have too many windows, or None.

    The core keeps a table for each bucket of keys, whose entries have room for every window of a
    key that may be open.

    Args:
        operators: of the run, those that have window tables.
        states: that each of them has: 1 where its instances share it, else as many as instances.
    """
    keyed = list(operators)
    windows = [windows_alive(operator) * operator.buckets for operator in keyed]
    total = sum(windows) * states
    if total <= MOST_WINDOWS:
        return None
    most = max(windows)
    operator = keyed[windows.index(most)]
    window, overlaps = operator.window, windows_alive(operator)
    described = (
        f"operator {operator.name}: windows of size {window.size} that advance by "
        f"{window.advance} overlap {overlaps} times; with {operator.buckets} buckets of keys that "
        f"is {most} windows once each has a key"
    )
    if states > 1:
        described += f", for each of {states} instances, which share nothing"
    if len(keyed) > 1:
        described += f", and with the other operators {total}"
    elif states > 1:
        described += f", {total} in all"
    remedies = _remedies(operator, (MOST_WINDOWS - (total - most * states)) // states)
    if states > 1 and sum(windows) <= MOST_WINDOWS:
        remedies.append(f"take at most {MOST_WINDOWS // sum(windows)} instances")
    if not remedies:
        remedies.append("give the operator fewer buckets and a larger advance")
    return (
        f"{described}, at least {total * _LEAST_BYTES >> 20:,} MiB, "
        f"and a run takes at most {MOST_WINDOWS}; {', or '.join(remedies)}"
    )


def _remedies(operator: Operator, room: int) -> list[str]:
    """Return what makes the tables of a state of an operator fit into `room`."""
    remedies = []
    if operator.buckets <= room and windows_alive(operator) > 1:
        least = -(-operator.window.size // (room // operator.buckets))
        remedies.append(f"let the window advance by at least {least}")
    if windows_alive(operator) <= room:
        most = room // windows_alive(operator)
        remedies.append(f"give the operator at most {most} buckets")
    return remedies
