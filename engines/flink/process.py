"""Controls the Java process of a trial: sends commands as lines and reads a line as reply to each."""

import subprocess
import sys
from pathlib import Path

from streamlab.engines import environment
from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.flink.build import HERE, MAIN, class_path
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import find_java

CLOSE_GRACE_S = 5.0
_FRAMEWORK_DIRECT_MB = 128
"""Flink's default for direct memory other than network buffers."""

_OPEN_PACKAGES = (
    *("lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent"),
)
"""Java packages that Flink accesses by reflection: the list of its `conf/config.yaml`, without SQL."""


def network_mb(workers: int) -> int:
    """Return the memory for Flink's network buffers.

    Flink's default of 64 MB suffices for a few workers. If every task sends to every other task, a channel needs two
    buffers of 32 KB, and each end some more; half a MB per channel is several times that.
    """
    return 64 + workers * workers // 2


class FlinkProcess:
    """Controls a JVM with a Flink cluster; the JVM ends when its standard input ends."""

    def __init__(self, folder: Path, *, heap_mb: int, workers: int) -> None:
        """Start the JVM on the job in a folder; `ready` waits for it.

        Raises:
            EngineError: no Java was found.
        """
        try:
            java = find_java()
        except DatasetError as error:
            raise EngineError(f"cannot start flink: {error}") from error
        self.java = java.version
        (folder / "flink").mkdir()
        command = [
            str(java.path / "bin" / "java"),
            # A heap of fixed size, touched before the clock starts, and the same collector on every machine.
            *(f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+AlwaysPreTouch", "-XX:+UseG1GC"),
            f"-XX:MaxDirectMemorySize={network_mb(workers) + _FRAMEWORK_DIRECT_MB}m",
            *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPEN_PACKAGES),
            f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
            "-Djava.rmi.server.hostname=127.0.0.1",
            f"-Djava.io.tmpdir={folder}",
            *("-cp", class_path(environment.folder("flink")), MAIN, str(folder)),
        ]
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )

    def ready(self) -> None:
        """Wait until the job is deployed and warm.

        Raises:
            EngineError: deployment or warm-up failed; the message has the reason.
        """
        self._answer("ready")

    def ask(self, command: str) -> tuple[int, ...]:
        """Send a command and return the numbers in its reply (Main.java).

        Raises:
            EngineCrashError: Flink or its process failed.
        """
        assert self._process is not None, "the process is closed"
        assert self._process.stdin is not None
        try:
            print(command, file=self._process.stdin, flush=True)
        except OSError as error:
            raise self._ended() from error
        numbers = self._answer({"go": "done", "answer": "written"}[command])
        return tuple(map(int, numbers.split()))

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

    def _answer(self, expected: str) -> str:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == expected:
                return rest
            if word == "failed":
                raise EngineCrashError(f"flink failed: {rest}; its log has more")
            print(line, end="", file=sys.stderr)  # The JVM may print warnings to standard output.
        raise self._ended()

    def _ended(self) -> EngineCrashError:
        assert self._process is not None
        code = self._process.wait()
        return EngineCrashError(f"the Java process of flink ended with code {code}; see its log")
