"""Starts the Java process of a trial."""

import os
from functools import partial
from pathlib import Path

from streamlab.engines import environment, event_files
from streamlab.engines.command_process import JavaProcess
from streamlab.engines.flink.build import ENVIRONMENT, HERE, MAIN, class_path
from streamlab.engines.flink.workloads import LOAD_BUFFER_TIMEOUT_MS

CEILING_WARM_UP_EVENTS = 1_000_000
CEILING_HEAP_MB = 1024
_FRAMEWORK_DIRECT_MB = 128
"""Flink's default for direct memory other than network buffers."""

_OPEN_PACKAGES = (
    *("lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent"),
)
"""Java packages that Flink accesses by reflection: the list of its `conf/config.yaml`, without SQL."""


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
    buffers of 32 KB, and each end needs a few more. Half a MB per channel is several times this need.
    """
    return 64 + workers * workers // 2


class FlinkProcess(JavaProcess):
    """Controls a JVM with a Flink cluster."""

    def __init__(
        self, *folders: Path, heap_mb: int, workers: int, extra_class_path: str = ""
    ) -> None:
        """Start the JVM on the first folder's job. `ready` waits for a job; `next` starts the next folder's job."""
        folder = folders[0]
        (folder / "flink").mkdir()
        classes = (class_path(environment.folder("flink")), extra_class_path)
        arguments = (
            *java_flags(heap_mb=heap_mb, direct_mb=network_mb(workers) + _FRAMEWORK_DIRECT_MB),
            "-Djava.rmi.server.hostname=127.0.0.1",
            f"-Djava.io.tmpdir={folder}",
            *("-cp", os.pathsep.join(filter(None, classes)), MAIN, *map(str, folders)),
        )
        super().__init__("flink", arguments)


def measure_ceiling() -> float:
    """Return the rate in events/s at which a source hands over events (`event_files.measure_ceiling`)."""
    job = {
        "slots": 1,
        "rows.0": event_files.CEILING_EVENTS,
        "time_per_event": 1.0,
        "checkpoint_ms": 0,
        "state": "heap",
        "buffer_timeout_ms": LOAD_BUFFER_TIMEOUT_MS,
        "managed_memory_mb": 16,
        "network_mb": network_mb(1),
        "warm_up_rounds": 2,
        "warm_up_rows.0": CEILING_WARM_UP_EVENTS,
    }
    start = partial(FlinkProcess, heap_mb=CEILING_HEAP_MB, workers=1)
    return event_files.measure_ceiling("flink", ENVIRONMENT, job, start)
