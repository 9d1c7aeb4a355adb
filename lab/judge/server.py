"""Serves judgements, each in a forked process: `python -m streamlab.lab.judge`.

The server never loads an engine or a workload, so a fork is as clean as a fresh process, and takes milliseconds.
The server reads one JSON request per line from standard input, and writes the judgement to standard output as JSON.
The server ends when its input ends; a running judgement ends with the server.
"""

import ctypes
import faulthandler
import json
import os
import select
import signal
import sys
import traceback
from pathlib import Path

from streamlab.lab.judge.client import (
    JudgementRequest,
    SizeRequest,
    read_request,
    write_judgement,
)
from streamlab.lab.judge.judgement import expected_size, judge
from streamlab.lab.trial.spec import job_of

_PR_SET_PDEATHSIG = 1


def serve() -> None:
    """Answer requests until the input ends."""
    faulthandler.enable()
    buffer = b""
    while True:
        part = os.read(0, 1 << 16)
        if not part:
            return
        buffer += part
        while b"\n" in buffer:
            line, _, buffer = buffer.partition(b"\n")
            if not _serve_request(line):
                return


def _serve_request(line: bytes) -> bool:
    """Judge in a forked process; return False if the lab ends before the judgement."""
    pid = os.fork()
    if pid == 0:
        _run_judgement(line)
    exit_fd = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(exit_fd, select.POLLIN)
    poll.register(0, 0)  # reports only that the other end is closed
    events = dict(poll.poll())
    os.close(exit_fd)
    if 0 in events and exit_fd not in events:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return False
    _, status = os.waitpid(pid, 0)
    os.write(1, json.dumps({"ended": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
    return True


def _run_judgement(line: bytes) -> None:
    """Judge, write the judgement, and end this process."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        reply = os.dup(1)
        os.set_inheritable(reply, False)
        request = read_request(line)
        log = os.open(os.fsencode(request.log), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _adopt_environment(request)
        job = job_of(request.job)
        result: object
        if isinstance(request, JudgementRequest):
            result = write_judgement(judge(job, Path(request.folder), request.phase_reports))
        else:
            result = expected_size(job)
        sys.stdout.flush()
        with os.fdopen(reply, "wb") as file:
            file.write(json.dumps({"found": result}).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _adopt_environment(request: SizeRequest) -> None:
    """Adopt the folder and environment of the trial's process, so that this process finds the same workloads."""
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.environ)
    folders = request.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [folder for folder in folders if folder and folder not in sys.path]
