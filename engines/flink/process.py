"""Controls the Java process of a trial: sends commands as lines and reads a line as reply to each.

Also measures how fast the source can hand over events that are all due, without work on them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from streamlab.engines import environment
from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.flink.build import ENVIRONMENT, HERE, MAIN, class_path
from streamlab.engines.flink.files import LONG, write_lines
from streamlab.engines.flink.workloads import LOAD_BUFFER_TIMEOUT_MS
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import JavaHome, find_java

CLOSE_GRACE_S = 5.0
CEILING_EVENTS = 4_000_000
CEILING_WARM_UP_EVENTS = 1_000_000
CEILING_HEAP_MB = 1024
_FRAMEWORK_DIRECT_MB = 128
"""Flink's default for direct memory other than network buffers."""

_OPEN_PACKAGES = (
    *("lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent"),
)
"""Java packages that Flink accesses by reflection: the list of its `conf/config.yaml`, without SQL."""


def find_flink_java() -> JavaHome:
    """Return the Java that runs Flink, or raise EngineError."""
    try:
        return find_java()
    except DatasetError as error:
        raise EngineError(f"cannot start flink: {error}") from error


def java_flags(*, heap_mb: int, direct_mb: int) -> tuple[str, ...]:
    """Return the flags of each Java process of Flink."""
    return (
        # A heap of fixed size, touched before the clock starts, and the same collector on every machine.
        *(f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", "-XX:+AlwaysPreTouch", "-XX:+UseG1GC"),
        f"-XX:MaxDirectMemorySize={direct_mb}m",
        *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPEN_PACKAGES),
        f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
    )


def network_mb(workers: int) -> int:
    """Return the memory for Flink's network buffers.

    Flink's default of 64 MB suffices for a few workers. If every task sends to every other task, a channel needs two
    buffers of 32 KB, and each end some more; half a MB per channel is several times that.
    """
    return 64 + workers * workers // 2


class FlinkProcess:
    """Controls a JVM with a Flink cluster; the JVM ends when its standard input ends."""

    def __init__(self, *folders: Path, heap_mb: int, workers: int) -> None:
        """Start the JVM on the job in a folder; `ready` waits for it, and after `next` for that in the next folder."""
        folder = folders[0]
        java = find_flink_java()
        self.java = java.version
        (folder / "flink").mkdir()
        command = [
            str(java.path / "bin" / "java"),
            *java_flags(heap_mb=heap_mb, direct_mb=network_mb(workers) + _FRAMEWORK_DIRECT_MB),
            "-Djava.rmi.server.hostname=127.0.0.1",
            f"-Djava.io.tmpdir={folder}",
            *("-cp", class_path(environment.folder("flink")), MAIN, *map(str, folders)),
        ]
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            command,
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
                raise EngineCrashError(f"flink failed: {rest}; its log has more")
            print(line, end="", file=sys.stderr)  # The JVM may print warnings to standard output.
        raise self._ended()

    def _ended(self) -> EngineCrashError:
        assert self._process is not None
        code = self._process.wait()
        return EngineCrashError(f"the Java process of flink ended with code {code}; see its log")


def measure_ceiling() -> float:
    """Run a job of one source and one task that drops all events, and return its events/s.

    A job with more workers has more sources, so this is a lower bound.
    """
    reason = environment.unusable_reason("flink", ENVIRONMENT)
    if reason is not None:
        raise EngineError(reason)
    with tempfile.TemporaryDirectory(prefix="flink-ceiling-") as name:
        folder = Path(name)
        empty = np.empty(0)
        columns = {
            "ts": np.arange(CEILING_EVENTS),
            "due_ns": np.zeros(CEILING_EVENTS),
            "beat_ts": empty,
            "beat_due_ns": empty,
        }
        for column, values in columns.items():
            values.astype(LONG).tofile(folder / f"0.{column}")
        job = {
            "workload": "nothing",
            "variant": "ceiling",
            "workers": 1,
            "slots": 1,
            "offered": "yes",
            "streams": 1,
            "rows.0": CEILING_EVENTS,
            "time_per_event": 1.0,
            "checkpoint_ms": 0,
            "kinds": 1,
            "kinds_of.0": 0,
            "state": "heap",
            "buffer_timeout_ms": LOAD_BUFFER_TIMEOUT_MS,
            "managed_memory_mb": 16,
            "network_mb": network_mb(1),
            "warm_up_rounds": 2,
            "warm_up_rows.0": CEILING_WARM_UP_EVENTS,
        }
        write_lines(job, folder)
        process = FlinkProcess(folder, heap_mb=CEILING_HEAP_MB, workers=1)
        try:
            process.ready()
            took_ns, events = process.ask("go")
            return events * 1e9 / took_ns
        finally:
            process.close()
