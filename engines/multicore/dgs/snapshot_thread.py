"""A thread beside a run that takes its snapshots."""

import threading
from collections.abc import Callable
from typing import Any


class Beside:
    """Runs a function while a core runs; its exception calls the run off, and comes out of `end`.

    Args:
        core: the run's.
        name: of the thread.
        body: is given an event that is set at the end, and returns when the core has no snapshot
            for it any more.
    """

    def __init__(self, core: Any, name: str, body: Callable[[threading.Event], None]) -> None:
        self._core = core
        self._body = body
        self._ending = threading.Event()
        self._done = threading.Event()  # an interrupted `join` takes its thread for ended
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name)

    def start(self) -> None:
        """Begin, before the run."""
        self._thread.start()

    def end(self, *, whole: bool) -> None:
        """Wait for its end; behind the snapshot that it has if the run went to its end, else now.

        Raises:
            BaseException: what the function raised.
        """
        self._ending.set()
        self._core.close_snapshots(not whole)
        try:
            self._done.wait()
        except BaseException:  # Ctrl-C: what it uses is let go next, so it must have ended
            self._core.close_snapshots(True)
            self._done.wait()
            raise
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it leads back here

    def _work(self) -> None:
        try:
            self._body(self._ending)
        except BaseException as error:  # whatever it is, the run's caller is to have it
            self._error = error
            self._core.call_off()
        finally:
            # It leads back to whoever made this: a cycle, which would hold all of the run's memory.
            del self._body
            self._done.set()
