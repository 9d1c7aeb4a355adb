"""Python's garbage collector in the measured process."""

import gc


def collect_from_now_on() -> None:
    """Switch the collector on, for what is made from now on: the lab's own objects stay unseen.

    Processes that an engine forks inherit it, and an engine that switches it off has its way.
    """
    gc.freeze()
    gc.enable()
