"""How much room the window tables of a run's operators take before its first tuple."""

from collections.abc import Sequence

from engines.multicore import _core
from workloads.model import Operator
from workloads.model.operator import SINGLE

MOST_TABLES = 1 << 21
"""128 MiB for a run, zeroed before its first tuple: for all its operators, and for each state of
theirs, of which instances that share nothing have one each. With the default of 1,024 buckets that
is 2,048 overlapping windows, in each of which a tuple updates each of its keys: by then the work
for a tuple is the limit, not the memory.
"""


def windows_alive(operator: Operator) -> int:
    """Return how many windows of a key can be open at once: so many tables has a bucket."""
    window = operator.window
    return 1 if window.type == SINGLE else -(-window.size // window.advance)


def too_many_tables(operators: Sequence[Operator], states: int = 1) -> str | None:
    """Return why a run's operators take too many window tables, or None.

    The core keeps a table for each bucket of keys and each window of a key that may be open.

    Args:
        operators: of the run, those that have window tables.
        states: that each of them has: 1 where its instances share it, else as many as instances.
    """
    keyed = list(operators)
    tables = [windows_alive(operator) * operator.buckets for operator in keyed]
    total = sum(tables) * states
    if total <= MOST_TABLES:
        return None
    most = max(tables)
    operator = keyed[tables.index(most)]
    window, overlaps = operator.window, windows_alive(operator)
    described = (
        f"operator {operator.name}: windows of size {window.size} that advance by "
        f"{window.advance} overlap {overlaps} times; with {operator.buckets} buckets of keys that "
        f"is {most} window tables"
    )
    if states > 1:
        described += f" for each of {states} instances, which share nothing"
    if len(keyed) > 1:
        described += f", and with the other operators {total}"
    elif states > 1:
        described += f", {total} in all"
    remedies = _remedies(operator, (MOST_TABLES - (total - most * states)) // states)
    if states > 1 and sum(tables) <= MOST_TABLES:
        remedies.append(f"take at most {MOST_TABLES // sum(tables)} instances")
    if not remedies:
        remedies.append("give the operator fewer buckets and a larger advance")
    return (
        f"{described}, {total * _core.WINDOW_TABLE_BYTES >> 20:,} MiB before the first tuple, "
        f"and a run takes at most {MOST_TABLES}; {', or '.join(remedies)}"
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
