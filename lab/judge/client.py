"""Has trials judged by a server process that lives as long as the lab.

The server (`streamlab.lab.judge.server`) is started for the first trial and ends with the lab.
"""

import atexit
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from streamlab.lab.interrupt import LOOK_S, check
from streamlab.lab.judge.accounts import Sighting
from streamlab.lab.trial.spec import Job, fields_of
from streamlab.results import schema
from streamlab.workloads.default_folders import here

Result = dict[str, Any]

LACKED_SPACE = "lab_lacked_space"
"""Key of a judgement: true when the lab itself, and no engine, found no space for its files."""
TIMEOUT_S = 3600.0
"""For one judgement; classifying the rows of a wrong answer is slow."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for a judgement, or before the trial for the size of the expected answer.

    Attributes:
        job: its fields (`streamlab.lab.trial.spec.fields_of`).
        folder: of the trial, with its evidence; None: the size is asked for.
        sightings: what the lab saw of the trial; None: it was not observed.
        log: the file to which what the judgement prints is appended.
        environ: variables of the trial's process: workloads are found by them.
        cwd: the folder from which relative references to workloads are seen.
    """

    job: Any
    folder: str | None
    sightings: tuple[Sighting, ...] | None
    log: str
    environ: dict[str, str]
    cwd: str


class Judge:
    """The lab's end of a server; starts it when it is needed."""

    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        """Prepare.

        Args:
            python: the interpreter of the server.
            env: variables in addition to this process's.
        """
        self._python = python
        self._env = dict(env)
        self._server: subprocess.Popen[bytes] | None = None

    def judge(
        self,
        job: Job,
        folder: Path,
        sightings: Sequence[Sighting] | None,
        *,
        log: Path,
        environ: Mapping[str, str],
    ) -> Result:
        """Return the columns of a job from its evidence; none where there is no evidence.

        A judgement that fails makes the trial `invalid`: nothing is known of its answer.

        Args:
            job: what was to be done, with this machine's paths.
            folder: of the trial.
            sightings: what the lab saw of it; None: it was not observed.
            log: to which what the judgement prints is appended.
            environ: variables of the trial's process.

        Raises:
            KeyboardInterrupt: a signal came (`streamlab.lab.interrupt`).
        """
        found, ended = self._reply(job, folder, sightings, log=log, environ=environ)
        if isinstance(found, dict):
            return found
        return {
            "status": schema.INVALID,
            "reason": f"the comparison of the answer {ended}; see {log}",
        }

    def expected_rows(self, job: Job, *, log: Path, environ: Mapping[str, str]) -> int | None:
        """Return how many records the right answer of a trial has; None: it is not made yet.

        Args:
            job: a trial, with this machine's paths.
            log: as for `judge`.
            environ: as for `judge`.

        Raises:
            KeyboardInterrupt: a signal came (`streamlab.lab.interrupt`).
        """
        found, _ = self._reply(job, None, None, log=log, environ=environ)
        return found if isinstance(found, int) else None

    def _reply(
        self,
        job: Job,
        folder: Path | None,
        sightings: Sequence[Sighting] | None,
        *,
        log: Path,
        environ: Mapping[str, str],
    ) -> tuple[object, str]:
        """Return what the server found, and how the process that looked ended, in words."""
        fields = msgspec.to_builtins(
            Request(
                job=fields_of(job),
                folder=None if folder is None else str(folder),
                sightings=None if sightings is None else tuple(sightings),
                log=str(log.absolute()),
                environ=dict(environ),
                cwd=str(here()),
            )
        )
        request = json.dumps(fields).encode("ascii") + b"\n"
        deadline = time.monotonic() + TIMEOUT_S
        try:
            replies = self._ask(request, deadline) or self._ask(request, deadline)
        except BaseException:
            self.close()
            raise
        found = next((reply["found"] for reply in replies if "found" in reply), None)
        codes = [reply["ended"] for reply in replies if "ended" in reply]
        if codes:
            return found, f"ended with code {codes[0]}"
        late = time.monotonic() >= deadline
        return found, f"took more than {TIMEOUT_S:g} s" if late else "lost its process twice"

    def close(self) -> None:
        """End the server and what it does."""
        server, self._server = self._server, None
        if server is not None:
            server.kill()  # the kernel ends its judgement with it
            server.wait()
            for pipe in (server.stdin, server.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _ask(self, request: bytes, deadline: float) -> list[dict[str, Any]]:
        """Return the replies to a request: what was found, if anything, and how it ended.

        There are none when the server died, or the time is up; it is closed then.
        """
        server = self._running()
        assert server.stdin is not None and server.stdout is not None
        poll = select.poll()
        poll.register(server.stdout, select.POLLIN)
        replies: list[dict[str, Any]] = []
        rest = b""
        try:
            server.stdin.write(request)
            server.stdin.flush()
        except BrokenPipeError:
            self.close()
            return []
        while not any("ended" in reply for reply in replies):
            check()
            if time.monotonic() > deadline:
                self.close()
                break
            if poll.poll(1000 * LOOK_S):
                part = os.read(server.stdout.fileno(), 1 << 16)
                if not part:
                    self.close()
                    break
                *lines, rest = (rest + part).split(b"\n")
                replies += map(json.loads, lines)
        return replies

    def _running(self) -> subprocess.Popen[bytes]:
        if self._server is not None and self._server.poll() is not None:
            self.close()
        if self._server is None:
            self._server = subprocess.Popen(
                [self._python, "-P", "-m", "streamlab.lab.judge"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A signal for the lab's process group must leave it alone: the lab ends it.
                start_new_session=True,
                # A process with threads must not be forked: BLAS starts some when it is loaded.
                env={**os.environ, **self._env, "OPENBLAS_NUM_THREADS": "1"},
            )
        return self._server


MOST_SERVERS = 2
"""A gate has one for each arm."""
_judges: dict[tuple[str, ...], Judge] = {}


def judge_of(python: str, env: Mapping[str, str]) -> Judge:
    """Return this process's judge for an interpreter and its variables."""
    key = (python, *(f"{name}={value}" for name, value in sorted(env.items())))
    judge = _judges.pop(key, None) or Judge(python, env)
    _judges[key] = judge  # the last is the one that was used last
    if len(_judges) > MOST_SERVERS:
        _judges.pop(next(iter(_judges))).close()
    return judge


@atexit.register
def _close_all() -> None:
    for judge in _judges.values():
        judge.close()
