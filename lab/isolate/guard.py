"""Ends a trial whose lab was killed: `python -I -S guard.py MARK FOLDER [COMMAND...]`.

Standard input is a pipe whose other end only the lab holds. The lab writes a byte when the trial is
over; the end of the file without one means that the lab is gone. Then every process that carries
the mark is killed, the folder is removed, and the command is run. Imports the standard library
only: it starts with every trial.

Loses: a trial whose guard is killed together with its lab (a whole control group, say) goes on.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

MARK = "LAB_TRIAL_MARK"
"""The environment variable that every process of a trial inherits."""

# A child between fork and exec does not carry its mark yet; it does when this has passed.
_LOOK_AGAIN_S = 0.2


@contextmanager
def guarded(
    mark: str,
    folder: Path | None = None,
    command: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Guard what runs inside this context against the death of this process.

    Args:
        mark: value of the environment variable MARK by which processes are known.
        folder: removed when this process dies; left alone otherwise. None: there is none.
        command: run when this process dies, after the processes are gone.
        env: variables for that command, beside this process's own.
    """
    read, write = os.pipe()
    try:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, mark, str(folder or ""), *command],
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A signal for the lab's whole process group must leave the guard alive.
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    try:
        yield
    finally:
        try:
            os.write(write, b".")
        except BrokenPipeError:
            pass  # Somebody killed the guard; there is nothing left for it to do.
        finally:
            os.close(write)
            guard.wait()


def marked_pids(mark: str) -> list[int]:
    """Return the processes that carry the mark, as far as this user may see; zombies do not."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue  # It has ended, or belongs to somebody else.
    return found


def main(arguments: Sequence[str]) -> None:
    """Wait for the lab's end, then clear up."""
    mark, folder, *command = arguments
    if sys.stdin.buffer.read(1):
        return
    quiet = 0
    while quiet < 2:
        pids = marked_pids(mark)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        quiet = 0 if pids else quiet + 1
        time.sleep(_LOOK_AGAIN_S)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    if command:
        subprocess.run(command, stdin=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main(sys.argv[1:])
