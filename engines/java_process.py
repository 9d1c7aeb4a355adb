"""Controls the Java process of a trial: sends commands as lines and reads a line as reply to each."""

import subprocess
import sys
from collections.abc import Sequence

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import JavaHome, find_java

CLOSE_GRACE_S = 5.0


def find_engine_java(engine: str) -> JavaHome:
    """Return the Java that runs an engine, or raise EngineError."""
    try:
        return find_java()
    except DatasetError as error:
        raise EngineError(f"cannot start {engine}: {error}") from error


class JavaProcess:
    """Controls a JVM with an engine; the JVM ends when its standard input ends."""

    def __init__(self, engine: str, arguments: Sequence[str]) -> None:
        """Start the JVM with these flags, class and arguments; `ready` waits for it."""
        java = find_engine_java(engine)
        self.java = java.version
        self._engine = engine
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            [str(java.path / "bin" / "java"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def ready(self) -> str:
        """Wait until the job is deployed and warm, and return its id; or raise EngineError with the reason."""
        return self._answer("ready")

    def ask(self, command: str) -> tuple[int, ...]:
        """Send a command and return the numbers in its reply (Main.java)."""
        self._send(command)
        numbers = self._answer({"go": "done", "answer": "written"}[command])
        return tuple(map(int, numbers.split()))

    def next(self) -> None:
        """Deploy the job in the next folder, and wait until it is ready."""
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
            raise self._ended() from error

    def _answer(self, expected: str) -> str:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == expected:
                return rest
            if word == "failed":
                raise EngineCrashError(f"{self._engine} failed: {rest}; its log has more")
            print(line, end="", file=sys.stderr)  # The JVM may print warnings to standard output.
        raise self._ended()

    def _ended(self) -> EngineCrashError:
        assert self._process is not None
        code = self._process.wait()
        return EngineCrashError(
            f"the Java process of {self._engine} ended with code {code}; see its log"
        )
