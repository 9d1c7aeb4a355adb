"""Compiles the Java programs into the engine's environment, against the jars of its pom.xml."""

import os
from pathlib import Path

from streamlab.engines.broker.broker import RECORDS
from streamlab.engines.environment import Environment
from streamlab.engines.java_compiler import compile_java

NAME = "kafka-streams"
HERE = Path(__file__).parent
PROGRAMS = (*RECORDS, *sorted((HERE / "java").rglob("[!.]*.java")))
MAIN = "streamlab.Main"


def class_path(folder: Path) -> str:
    """Return the class path of an environment."""
    return os.pathsep.join([str(_classes(folder)), str(folder / "jars" / "*")])


def _classes(folder: Path) -> Path:
    return folder / "streamlab-classes"


def compile_programs(folder: Path) -> None:
    """Compile the programs into an environment that has the jars."""
    compile_java(NAME, PROGRAMS, class_path(folder), _classes(folder))


def kafka_streams_version(folder: Path) -> str:
    """Return `kafka-streams` and its version in an environment; `-` without one."""
    versions = [jar.stem.rpartition("-")[2] for jar in folder.glob("jars/kafka-streams-*.jar")]
    return f"kafka-streams {versions[0] if versions else '-'}"


ENVIRONMENT = Environment(
    lock=HERE / "pom.xml",
    jars=HERE / "jars.sha256",
    inputs=(*PROGRAMS, HERE / "build.py"),
    build=compile_programs,
)
