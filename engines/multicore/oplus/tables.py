"""How much room the window tables of an operator take before its first tuple."""

from engines.multicore import _core
from workloads.model import Operator
from workloads.model.operator import SINGLE

MOST_TABLES = 1 << 21
"""128 MiB for each state (of which shared-nothing instances have one each), zeroed before the run.
With the default of 1,024 buckets that is 2,048 overlapping windows, in each of which a tuple
updates each of its keys: by then the work for a tuple is the limit, not the memory.
"""


def windows_alive(operator: Operator) -> int:
    """Return how many windows of a key can be open at once: so many tables has a bucket."""
    window = operator.window
    return 1 if window.type == SINGLE else -(-window.size // window.advance)


def too_many_tables(operator: Operator) -> str | None:
    """Return why an operator's windows overlap too much for its buckets, or None.

    The core keeps a table for each bucket of keys and each window of a key that may be open.
    """
    window = operator.window
    overlaps = windows_alive(operator)
    tables = overlaps * operator.buckets
    if operator.join is not None or tables <= MOST_TABLES:
        return None
    remedies = []
    if operator.buckets <= MOST_TABLES:
        least = -(-window.size // (MOST_TABLES // operator.buckets))
        remedies.append(f"let the window advance by at least {least}")
    if overlaps <= MOST_TABLES:
        remedies.append(f"give the operator at most {MOST_TABLES // overlaps} buckets")
    if not remedies:
        remedies.append("give the operator fewer buckets and a larger advance")
    return (
        f"operator {operator.name}: windows of size {window.size} that advance by "
        f"{window.advance} overlap {overlaps} times; with {operator.buckets} buckets of keys that "
        f"is {tables} window tables, {tables * _core.WINDOW_TABLE_BYTES >> 20:,} MiB before "
        f"the first tuple, "
        f"and at most {MOST_TABLES} are taken; {', or '.join(remedies)}"
    )
