"""Compiles the Java programs into the engine's environment, against the jars of its pom.xml."""

import os
from pathlib import Path

from streamlab.engines.environment import Environment
from streamlab.engines.java_compiler import compile_java

HERE = Path(__file__).parent
PROGRAMS = tuple(sorted((HERE / "java").rglob("[!.]*.java")))
CHANNELS = tuple(sorted((HERE / "viper").rglob("[!.]*.java")))
"""Classes that replace Storm's own of the same name, for channels that order tuples."""

MAIN = "streamlab.Main"


def class_path(folder: Path, *, ordered_channels: bool) -> str:
    """Return the class path of an environment; with `ordered_channels`, Storm's receive queue is replaced."""
    replaced = [str(_channels(folder))] if ordered_channels else []
    return os.pathsep.join([*replaced, str(_programs(folder)), str(folder / "jars" / "*")])


def _programs(folder: Path) -> Path:
    return folder / "streamlab-classes"


def _channels(folder: Path) -> Path:
    return folder / "channel-classes"


def compile_programs(folder: Path) -> None:
    """Compile the programs into an environment that has Storm's jars."""
    path = class_path(folder, ordered_channels=False)
    compile_java("storm", PROGRAMS, path, _programs(folder))
    compile_java("storm", CHANNELS, path, _channels(folder))


def storm_version(folder: Path) -> str:
    """Return `storm` and its version in an environment; `-` without one."""
    versions = [jar.stem.rpartition("-")[2] for jar in folder.glob("jars/storm-server-*.jar")]
    return f"storm {versions[0] if versions else '-'}"


ENVIRONMENT = Environment(
    lock=HERE / "pom.xml", inputs=(*PROGRAMS, *CHANNELS, HERE / "build.py"), build=compile_programs
)
