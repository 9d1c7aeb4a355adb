"""Python's garbage collector in the measured process."""

import gc


def collect_from_now_on() -> None:
    """Switch the collector on for objects made from now on; it ignores the lab's earlier objects.

    If it is already on, this does nothing: a trial within another process must not hide that
    process's objects from the collector. Processes that an engine forks inherit the setting. An
    engine may switch the collector off.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
