"""Keeps Ctrl-C simple around Spark, which handles it in ways of its own.

A SparkContext takes SIGINT over: its handler calls Java to cancel jobs, through the very connection
that the interrupted thread is waiting on, and stays when the context has been stopped. py4j logs a
traceback for each call that is interrupted, and may raise an error of its own in its place.
"""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def interrupts_as_before() -> Iterator[None]:
    """Put the handler of SIGINT back that there was before the block."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if _can_handle() and before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def interrupts_after() -> Iterator[None]:
    """Let a Ctrl-C in the block take effect after it: a second one must not disturb clearing up."""
    before = signal.getsignal(signal.SIGINT)
    if not _can_handle() or before is None:
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def quiet_py4j() -> Iterator[None]:
    """Drop what py4j logs in the block: it raises the same, and an interrupt is no error."""
    root, own = logging.getLogger(), logging.getLogger("py4j")
    level = own.level
    root.addFilter(_not_from_py4j)  # it logs some to the root logger
    own.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        own.setLevel(level)
        root.removeFilter(_not_from_py4j)


def was_interrupted(error: BaseException) -> bool:
    """Return whether an error was raised while an interrupt was being handled."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _can_handle() -> bool:
    """Return whether this is the main thread: Python lets no other one set handlers."""
    return threading.current_thread() is threading.main_thread()


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts
