"""Ctrl-C and termination: a flag that cannot be lost, at which every wait of the lab looks.

Python turns a signal into an exception wherever the main thread happens to be. There it can be
lost: in a finaliser, in a callback, in code that turns every exception into one of its own. So the
handler keeps the flag; the exception of the first signal only makes it quicker. Waits look at the
flag at least every `LOOK_S`, and nothing is raised while processes are started or ended.
"""

import atexit
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LOOK_S = 0.2
"""How long a wait may go on without looking at the flag."""
_INSISTS = 3
_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


class _Flag:
    """The handler of both signals, and so the one thing in a process that knows of them.

    `came` counts signals, `deferred` the blocks in which nothing is raised.
    """

    def __init__(self) -> None:
        self.came = 0
        self.raised = False
        self.deferred = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came += 1
        # A second signal must not disturb the clearing up behind the first. Who insists may be
        # right: what is not ours to wait in (Spark, a user's function) may have lost the exception.
        if not self.deferred and (not self.raised or self.came >= _INSISTS):
            self.throw()

    def throw(self) -> None:
        self.raised = True
        raise KeyboardInterrupt

    def leave(self) -> None:
        """Let nothing but the exit code end a process that was interrupted and is cleared up.

        An interpreter that ends gives each handler of its own up for the system's, which kills.
        """
        if self.came:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)


def keep_interrupts() -> None:
    """From now on keep in mind that a signal came, for the rest of this process."""
    flag = _Flag()
    for number in _SIGNALS:
        # A lab that was started with `nohup` outlives its terminal.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, flag)
    atexit.register(flag.leave)  # the last of what is called at the end, if it is the first here


@contextmanager
def deferred() -> Iterator[None]:
    """Raise nothing in the block for a signal, but where `check` is called."""
    flag = _flag()
    if flag is None:
        yield
        return
    flag.deferred += 1
    try:
        yield
    finally:
        flag.deferred -= 1


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise for a signal at once in the block, within `deferred`; what it calls may lose that.

    Raises:
        KeyboardInterrupt: a signal has come.
    """
    flag = _flag()
    if flag is None:
        yield
        return
    blocks, flag.deferred = flag.deferred, 0
    try:
        check()  # it may have come before
        yield
    finally:
        flag.deferred = blocks


def check() -> None:
    """Raise if a signal has come, however often it was raised before.

    Raises:
        KeyboardInterrupt: one came since `keep_interrupts` was called.
    """
    flag = _flag()
    if flag is not None and flag.came:
        flag.throw()


def pause(seconds: float) -> None:
    """Do nothing for so long.

    Raises:
        KeyboardInterrupt: a signal has come.
    """
    deadline = time.monotonic() + seconds
    check()
    while (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(left_s, LOOK_S))
        check()


def _flag() -> _Flag | None:
    """Return the handler, None without `keep_interrupts`; other code takes over SIGINT at times."""
    handler = signal.getsignal(signal.SIGTERM)
    return handler if isinstance(handler, _Flag) else None
