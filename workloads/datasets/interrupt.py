"""Makes Ctrl-C behave normally around Spark, which changes its handling.

A SparkContext replaces the SIGINT handler, and stopping the context does not restore it. The new handler calls Java to
cancel jobs, through the connection on which the interrupted thread is waiting. py4j logs a traceback for each
interrupted call, and may raise its own error instead of KeyboardInterrupt.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def restore_interrupts() -> Iterator[None]:
    """Restore the SIGINT handler after the block.

    Raises:
        KeyboardInterrupt: a Ctrl-C came in the block, but Python dropped its exception. Python drops exceptions in
            callbacks of weak references, and py4j calls Java in such callbacks.
    """
    previous = signal.getsignal(signal.SIGINT)
    if not _can_handle() or previous is None:
        yield
        return
    received: list[int] = []
    if callable(previous):
        signal.signal(signal.SIGINT, _record(received, previous))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if received:
        raise KeyboardInterrupt


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the block ends, so that a second one cannot disturb the cleanup."""
    previous = signal.getsignal(signal.SIGINT)
    if not _can_handle() or previous is None:
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if received:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def quiet_py4j() -> Iterator[None]:
    """Drop py4j's log messages in the block. They repeat errors that py4j raises, or report interrupts as errors."""
    root, logger = logging.getLogger(), logging.getLogger("py4j")
    level = logger.level
    root.addFilter(_not_from_py4j)  # py4j logs some messages to the root logger
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
        root.removeFilter(_not_from_py4j)


def was_interrupted(error: BaseException) -> bool:
    """Return whether an error was raised while handling an interrupt."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _record(received: list[int], handler: Handler) -> Handler:
    """Return a handler that records each signal, then calls `handler`."""

    def record(number: int, frame: FrameType | None) -> None:
        received.append(number)
        handler(number, frame)

    return record


def _can_handle() -> bool:
    """Return whether this is the main thread. Python allows no other thread to set handlers."""
    return threading.current_thread() is threading.main_thread()


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts
