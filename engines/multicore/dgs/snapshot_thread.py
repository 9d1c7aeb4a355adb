"""Provides the thread that takes snapshots during a run."""

import threading
from collections.abc import Callable
from typing import Any


class SnapshotThread:
    """Runs a function in parallel to a run. Its exception stops the run, and `end` raises it.

    The function `body` gets an event that is set at the end of the run, and must return when the core
    has no further snapshot.
    """

    def __init__(self, core: Any, name: str, body: Callable[[threading.Event], None]) -> None:
        self._core = core
        self._body = body
        self._ending = threading.Event()
        self._done = threading.Event()  # An interrupted `Thread.join` counts its thread as ended.
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name)

    def start(self) -> None:
        """Start the thread; call it before the run starts."""
        self._thread.start()

    def end(self, *, complete: bool) -> None:
        """Wait until the thread ends; raise the exception of its function.

        If the run is complete, the thread finishes its current snapshot.
        """
        self._ending.set()
        self._core.close_snapshots(not complete)
        try:
            self._done.wait()
        except BaseException:
            # Ctrl-C: the caller frees the core next, so the thread must end first.
            self._core.close_snapshots(True)
            self._done.wait()
            raise
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # Breaks a reference cycle through the traceback.

    def _work(self) -> None:
        try:
            self._body(self._ending)
        except BaseException as error:  # `end` raises it in the caller's thread.
            self._error = error
            self._core.call_off()
        finally:
            # Breaks a reference cycle that would hold all memory of the run.
            del self._body
            self._done.set()
