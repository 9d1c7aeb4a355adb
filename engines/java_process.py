"""Starts the Java process of a trial."""

from collections.abc import Sequence

from streamlab.engines.command_process import CommandProcess
from streamlab.engines.errors import EngineError
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.java import JavaHome, find_java


def find_engine_java(engine: str) -> JavaHome:
    """Return the Java that runs an engine, or raise EngineError."""
    try:
        return find_java()
    except DatasetError as error:
        raise EngineError(f"cannot start {engine}: {error}") from error


class JavaProcess(CommandProcess):
    """Controls a JVM with an engine."""

    def __init__(self, engine: str, arguments: Sequence[str]) -> None:
        """Start the JVM with these flags, class and arguments; `ready` waits for it."""
        java = find_engine_java(engine)
        self.java = java.version
        super().__init__([str(java.path / "bin" / "java"), *arguments], engine=engine)
