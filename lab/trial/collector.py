"""Python's garbage collector in the measured process."""

import gc


def collect_from_now_on() -> None:
    """Switch the collector on, for what is made from now on: the lab's own objects stay unseen.

    Where it is on already nothing is done: a trial within another process must not hide from the
    collector what that process has made. Processes that an engine forks inherit it, and an engine
    that switches it off has its way.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
