"""Enables Python's garbage collector in the measured process."""

import gc


def collect_from_now_on() -> None:
    """Enable the collector for new objects; it ignores the lab's earlier objects.

    Does nothing if the collector is already enabled, because a trial within another process must not hide that
    process's objects.
    Forked processes inherit the setting, and an engine may disable the collector.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
