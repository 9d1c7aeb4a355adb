"""Controls an engine's own process, such as Java: sends commands as lines, and reads one line as the reply."""

import subprocess
import sys
from collections.abc import Sequence

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import JavaHome, find_java

CLOSE_GRACE_S = 5.0
_REPLIES = {"go": "done", "answer": "written"}
"""The first word of the reply to each command."""


class CommandProcess:
    """A process with a job; it ends when its standard input ends."""

    def __init__(self, command: Sequence[str], *, engine: str) -> None:
        """Start the process; `ready` waits until its job can start."""
        self._engine = engine
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def ready(self) -> str:
        """Wait until the job can start, and return the reply's text after `ready`.

        Raises:
            EngineCrashError: the process failed or ended.
        """
        return self._read_reply("ready")

    def ask(self, command: str) -> tuple[int, ...]:
        """Send `go` (optionally with a number) or `answer`, and return the numbers in the reply."""
        self._send(command)
        return tuple(map(int, self._read_reply(_REPLIES[command.partition(" ")[0]]).split()))

    def next(self) -> None:
        """Start the next job, and wait until it is ready."""
        self._send("next")
        self.ready()

    def close(self) -> None:
        """End the process. May be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.close()
            process.wait(CLOSE_GRACE_S)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()

    def _send(self, command: str) -> None:
        assert self._process is not None, "the process is closed"
        assert self._process.stdin is not None
        try:
            print(command, file=self._process.stdin, flush=True)
        except OSError as error:
            raise self._exit_error() from error

    def _read_reply(self, expected: str) -> str:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == expected:
                return rest
            if word == "failed":
                raise EngineCrashError(f"{self._engine} failed: {rest}; its log has more")
            print(line, end="", file=sys.stderr)  # A runtime may print warnings to standard output.
        raise self._exit_error()

    def _exit_error(self) -> EngineCrashError:
        assert self._process is not None
        code = self._process.wait()
        return EngineCrashError(
            f"the process of {self._engine} ended with code {code}; see its log"
        )


def find_engine_java(engine: str) -> JavaHome:
    """Return the Java that runs an engine, or raise EngineError."""
    try:
        return find_java()
    except DatasetError as error:
        raise EngineError(f"cannot start {engine}: {error}") from error


class JavaProcess(CommandProcess):
    """Controls a JVM that runs an engine."""

    def __init__(self, engine: str, arguments: Sequence[str]) -> None:
        """Start the JVM with these flags, class and arguments; `ready` waits for it."""
        java = find_engine_java(engine)
        self.java = java.version
        super().__init__([str(java.path / "bin" / "java"), *arguments], engine=engine)
