"""Requests judgements from a server process (`streamlab.lab.judge.server`).

The server starts with the first trial and ends with the lab.
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
"""Key of a judgement: true if the lab itself, not an engine, had no disk space for its files."""
TIMEOUT_S = 3600.0
"""Time limit for a judgement; classifying the rows of a wrong answer is slow."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Requests a judgement, or the size of the expected answer before the trial.

    Attributes:
        job: fields of the job (`streamlab.lab.trial.spec.fields_of`).
        folder: folder of the trial, with its evidence; None: request the size.
        sightings: the lab's readings of the trial; None: not observed.
        log: file that the judgement's output is appended to.
        environ: environment of the trial's process, which determines where workloads are found.
        cwd: base folder of relative references to workloads.
    """

    job: Any
    folder: str | None
    sightings: tuple[Sighting, ...] | None
    log: str
    environ: dict[str, str]
    cwd: str


class Judge:
    """Client of a judge's server; starts the server on first use."""

    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        """Create a client; `env` has variables of the server, in addition to this process's."""
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
        """Return the columns of a job from its evidence; empty without evidence.

        If the judgement itself fails, the trial is `invalid`: its answer is unknown.
        The job has this machine's paths; for the other arguments see `Request`.

        Raises:
            KeyboardInterrupt: a signal came (`streamlab.lab.interrupt`).
        """
        result, ending = self._reply(job, folder, sightings, log=log, environ=environ)
        if isinstance(result, dict):
            return result
        return {
            "status": schema.INVALID,
            "reason": f"the comparison of the answer {ending}; see {log}",
        }

    def expected_rows(self, job: Job, *, log: Path, environ: Mapping[str, str]) -> int | None:
        """Return the number of records in a trial's expected answer; None: not computed yet.

        Raises:
            KeyboardInterrupt: a signal came (`streamlab.lab.interrupt`).
        """
        size, _ = self._reply(job, None, None, log=log, environ=environ)
        return size if isinstance(size, int) else None

    def _reply(
        self,
        job: Job,
        folder: Path | None,
        sightings: Sequence[Sighting] | None,
        *,
        log: Path,
        environ: Mapping[str, str],
    ) -> tuple[object, str]:
        """Return the server's result, and a text about how its process ended."""
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
        result = next((reply["found"] for reply in replies if "found" in reply), None)
        codes = [reply["ended"] for reply in replies if "ended" in reply]
        if codes:
            return result, f"ended with code {codes[0]}"
        late = time.monotonic() >= deadline
        return result, f"took more than {TIMEOUT_S:g} s" if late else "lost its process twice"

    def close(self) -> None:
        """End the server and its judgement."""
        server, self._server = self._server, None
        if server is not None:
            server.kill()  # the kernel ends the judgement as well (PR_SET_PDEATHSIG)
            server.wait()
            for pipe in (server.stdin, server.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _ask(self, request: bytes, deadline: float) -> list[dict[str, Any]]:
        """Return the replies to a request: the result, if any, and the exit code of its process.

        If the server dies or the time is up, closes the server and returns the replies so far.
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
                # Without this, a signal to the lab's process group would kill the server.
                start_new_session=True,
                # BLAS starts threads when loaded, and a process with threads must not fork.
                env={**os.environ, **self._env, "OPENBLAS_NUM_THREADS": "1"},
            )
        return self._server


MOST_SERVERS = 2
"""A gate needs a server for each arm."""
_judges: dict[tuple[str, ...], Judge] = {}


def judge_of(python: str, env: Mapping[str, str]) -> Judge:
    """Return this process's judge for an interpreter and its variables."""
    key = (python, *(f"{name}={value}" for name, value in sorted(env.items())))
    judge = _judges.pop(key, None) or Judge(python, env)
    _judges[key] = judge  # ordered by last use
    if len(_judges) > MOST_SERVERS:
        _judges.pop(next(iter(_judges))).close()
    return judge


@atexit.register
def _close_all() -> None:
    for judge in _judges.values():
        judge.close()
