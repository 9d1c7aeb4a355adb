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
from streamlab.lab.judge.lab_readings import PhaseReport
from streamlab.lab.trial.spec import Job, fields_of
from streamlab.results import schema
from streamlab.workloads.default_folders import start_folder

LACKED_SPACE = "lab_lacked_space"
"""JSON key of `Judgement.lacked_space` in the judge's reply."""
TIMEOUT_S = 3600.0
"""Time limit for a judgement; classifying the rows of a wrong answer is slow."""


class SizeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Requests the number of records in the expected answer, before the trial.

    Attributes:
        job: fields of the job (`streamlab.lab.trial.spec.fields_of`).
        log: file to which the judge's output is appended.
        environ: environment of the trial's process, which determines where workloads are found.
        cwd: base folder of relative references to workloads.
    """

    job: Any
    log: str
    environ: dict[str, str]
    cwd: str


class JudgementRequest(SizeRequest, frozen=True, kw_only=True):
    """Requests a judgement.

    Attributes:
        folder: folder of the trial, with its evidence.
        phase_reports: the lab's readings of the trial; None: not observed.
    """

    folder: str
    phase_reports: tuple[PhaseReport, ...] | None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's report on a job.

    Attributes:
        columns: columns of the trial's row (`streamlab.results.schema.TrialRow`); empty without evidence.
        lacked_space: whether the lab itself, not an engine, had no disk space for its files.
    """

    columns: dict[str, object]
    lacked_space: bool = False


def write_request(request: SizeRequest) -> bytes:
    """Return a request as one line of JSON, in a form that all revisions of the lab read."""
    fields = {"folder": None, "phase_reports": None, **msgspec.to_builtins(request)}
    return json.dumps(fields).encode("ascii") + b"\n"


def read_request(line: bytes) -> SizeRequest:
    """Return the request that `write_request` wrote as a line."""
    fields = json.loads(line)
    kind = SizeRequest if fields["folder"] is None else JudgementRequest
    request: SizeRequest = msgspec.convert(fields, type=kind)
    return request


def write_judgement(judgement: Judgement) -> dict[str, object]:
    """Return a judgement as one JSON object, in a form that all revisions of the lab read."""
    return {**judgement.columns, LACKED_SPACE: judgement.lacked_space}


def read_judgement(content: dict[str, object]) -> Judgement:
    """Return the judgement from the object that `write_judgement` returned; takes a key out of `content`."""
    lacked_space = bool(content.pop(LACKED_SPACE, False))
    return Judgement(columns=content, lacked_space=lacked_space)


class Judge:
    """Client of a judge's server; starts the server on first use."""

    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        """Create a client; `env` has the server's variables in addition to this environment."""
        self._python = python
        self._env = dict(env)
        self._server: subprocess.Popen[bytes] | None = None

    def judge(
        self,
        job: Job,
        folder: Path,
        phase_reports: Sequence[PhaseReport] | None,
        *,
        log: Path,
        environ: Mapping[str, str],
    ) -> Judgement:
        """Return the judgement of a job with this machine's paths; see `JudgementRequest`.

        If judging itself fails, the trial is `invalid`, because its answer was not checked.
        """
        request = JudgementRequest(
            folder=str(folder),
            phase_reports=None if phase_reports is None else tuple(phase_reports),
            **msgspec.structs.asdict(_size_request(job, log, environ)),
        )
        result, end_text = self._request(request)
        if isinstance(result, dict):
            return read_judgement(result)
        reason = f"the comparison of the answer {end_text}; see {log}"
        return Judgement(columns={"status": schema.INVALID, "reason": reason})

    def expected_rows(self, job: Job, *, log: Path, environ: Mapping[str, str]) -> int | None:
        """Return the number of records in a trial's expected answer; None: not computed yet."""
        size, _ = self._request(_size_request(job, log, environ))
        return size if isinstance(size, int) else None

    def _request(self, request: SizeRequest) -> tuple[object, str]:
        """Return the result, and a text that says how the judging process ended."""
        line = write_request(request)
        deadline = time.monotonic() + TIMEOUT_S
        try:
            replies = self._exchange(line, deadline) or self._exchange(line, deadline)
        except BaseException:
            self.close()
            raise
        result = next((reply["found"] for reply in replies if "found" in reply), None)
        codes = [reply["ended"] for reply in replies if "ended" in reply]
        if codes:
            return result, f"ended with code {codes[0]}"
        is_late = time.monotonic() >= deadline
        return result, f"took more than {TIMEOUT_S:g} s" if is_late else "lost its process twice"

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

    def _exchange(self, request: bytes, deadline: float) -> list[dict[str, object]]:
        """Return the replies to a request: the result, if any, and the exit code of its process.

        If the server dies or the time is up, closes the server and returns the replies so far.
        """
        server = self._ensure_server()
        assert server.stdin is not None and server.stdout is not None
        poll = select.poll()
        poll.register(server.stdout, select.POLLIN)
        replies: list[dict[str, object]] = []
        partial_line = b""
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
                *lines, partial_line = (partial_line + part).split(b"\n")
                replies += map(json.loads, lines)
        return replies

    def _ensure_server(self) -> subprocess.Popen[bytes]:
        if self._server is not None and self._server.poll() is not None:
            self.close()
        if self._server is None:
            self._server = subprocess.Popen(
                [self._python, "-P", "-m", "streamlab.lab.judge"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Use a new session, so that a signal to the lab's process group does not kill the server.
                start_new_session=True,
                # BLAS starts threads when loaded, and a process with threads must not fork.
                env={**os.environ, **self._env, "OPENBLAS_NUM_THREADS": "1"},
            )
        return self._server


def _size_request(job: Job, log: Path, environ: Mapping[str, str]) -> SizeRequest:
    return SizeRequest(
        job=fields_of(job),
        log=str(log.absolute()),
        environ=dict(environ),
        cwd=str(start_folder()),
    )


MAX_SERVERS = 2
"""A gate needs a server for each arm."""
_judges: dict[tuple[str, ...], Judge] = {}


def judge_of(python: str, env: Mapping[str, str]) -> Judge:
    """Return this process's judge for an interpreter and its variables."""
    key = (python, *(f"{name}={value}" for name, value in sorted(env.items())))
    judge = _judges.pop(key, None) or Judge(python, env)
    _judges[key] = judge  # ordered by last use
    if len(_judges) > MAX_SERVERS:
        _judges.pop(next(iter(_judges))).close()
    return judge


@atexit.register
def _close_all() -> None:
    for judge in _judges.values():
        judge.close()
