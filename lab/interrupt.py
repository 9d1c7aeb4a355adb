"""Remembers Ctrl-C and termination signals in a flag, which every wait of the lab checks.

Python raises KeyboardInterrupt wherever the main thread happens to be.
A finaliser, a callback or a broad `except` can swallow it.
The handler therefore also sets a flag, which waits check at least every `LOOK_S` seconds.
Nothing is raised while processes are started or ended.
"""

import atexit
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LOOK_S = 0.2
"""Longest time, in seconds, between two checks of the flag."""
_INSISTENT_SIGNALS = 3
"""From this many signals on, every signal raises again."""
_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


class _Flag:
    """Handles signals and counts them.

    Attributes:
        signals: number of signals so far.
        raised: whether KeyboardInterrupt was raised.
        open_blocks: number of open `defer_signals` blocks, in which nothing is raised.
    """

    def __init__(self) -> None:
        self.signals = 0
        self.raised = False
        self.open_blocks = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1
        # A second signal must not disturb the clean-up after the first. A third one raises again:
        # foreign code (Spark, a user's function) may have swallowed the exception.
        if not self.open_blocks and (not self.raised or self.signals >= _INSISTENT_SIGNALS):
            self.throw()

    def throw(self) -> None:
        self.raised = True
        raise KeyboardInterrupt

    def leave(self) -> None:
        """Ignore further signals at exit, so that an interrupted process ends with its exit code.

        At exit, Python restores the system's handlers, which would kill the process.
        """
        if self.signals:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)


def keep_interrupts() -> None:
    """Install the handler for the rest of this process."""
    flag = _Flag()
    for number in _SIGNALS:
        # `nohup` ignores SIGHUP, so that the lab outlives its terminal.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, flag)
    atexit.register(flag.leave)  # registered first, so called last at exit


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals in the block, so that only `check` raises for them."""
    flag = _flag()
    if flag is None:
        yield
        return
    flag.open_blocks += 1
    try:
        yield
    finally:
        flag.open_blocks -= 1


@contextmanager
def interruptible() -> Iterator[None]:
    """In the block, let signals raise at once, even inside `defer_signals`."""
    flag = _flag()
    if flag is None:
        yield
        return
    blocks, flag.open_blocks = flag.open_blocks, 0
    try:
        check()  # for a signal received before the block
        yield
    finally:
        flag.open_blocks = blocks


def check() -> None:
    """Raise if a signal was received, even if the signal has raised before."""
    flag = _flag()
    if flag is not None and flag.signals:
        flag.throw()


def pause(seconds: float) -> None:
    """Sleep for some seconds, checking for signals."""
    deadline = time.monotonic() + seconds
    check()
    while (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(left_s, LOOK_S))
        check()


def _flag() -> _Flag | None:
    """Return the handler; None without `keep_interrupts`."""
    # Ask for SIGTERM's handler, because other code sometimes replaces SIGINT's.
    handler = signal.getsignal(signal.SIGTERM)
    return handler if isinstance(handler, _Flag) else None
