"""Starts the Java process of a trial.

Also measures how fast the source can hand over events that are all due, without work on them.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from streamlab.engines import environment
from streamlab.engines.errors import EngineError
from streamlab.engines.event_files import LONG, write_properties
from streamlab.engines.flink.build import ENVIRONMENT, HERE, MAIN, class_path
from streamlab.engines.flink.workloads import LOAD_BUFFER_TIMEOUT_MS
from streamlab.engines.java_process import JavaProcess

CEILING_EVENTS = 4_000_000
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
    buffers of 32 KB, and each end some more; half a MB per channel is several times that.
    """
    return 64 + workers * workers // 2


class FlinkProcess(JavaProcess):
    """Controls a JVM with a Flink cluster."""

    def __init__(self, *folders: Path, heap_mb: int, workers: int, more_classes: str = "") -> None:
        """Start the JVM on the job in a folder; `ready` waits for it, and after `next` for that in the next folder.

        `more_classes` is a class path to append.
        """
        folder = folders[0]
        (folder / "flink").mkdir()
        classes = (class_path(environment.folder("flink")), more_classes)
        arguments = (
            *java_flags(heap_mb=heap_mb, direct_mb=network_mb(workers) + _FRAMEWORK_DIRECT_MB),
            "-Djava.rmi.server.hostname=127.0.0.1",
            f"-Djava.io.tmpdir={folder}",
            *("-cp", os.pathsep.join(filter(None, classes)), MAIN, *map(str, folders)),
        )
        super().__init__("flink", arguments)


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
        write_properties(job, folder)
        process = FlinkProcess(folder, heap_mb=CEILING_HEAP_MB, workers=1)
        try:
            process.ready()
            took_ns, events = process.ask("go")
            return events * 1e9 / took_ns
        finally:
            process.close()
