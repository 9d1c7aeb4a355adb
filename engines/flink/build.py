"""Compiles the Java programs into the engine's environment, against the jars of its lock."""

import os
from pathlib import Path

from streamlab.engines import environment
from streamlab.engines.broker import broker
from streamlab.engines.broker.broker import RECORDS
from streamlab.engines.environment import Environment
from streamlab.engines.java_compiler import compile_java

HERE = Path(__file__).parent
SOURCES = (*RECORDS, *sorted((HERE / "java").rglob("[!.]*.java")))
BROKER_SOURCES = tuple(sorted((HERE / "broker").rglob("[!.]*.java")))
"""Programs for tasks whose input is on a broker; they need the connector in the broker's environment."""
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
    """Compile the programs into an environment that has Flink's jars."""
    compile_java("flink", SOURCES, class_path(folder), classes(folder))


def broker_jars() -> str:
    """Return the class path of Flink's connector and Kafka's client."""
    jars = environment.folder(broker.NAME) / "jars"
    patterns = ("flink-connector-kafka-*.jar", "kafka-clients-*.jar")
    return os.pathsep.join(str(jar) for pattern in patterns for jar in sorted(jars.glob(pattern)))


def compile_broker_programs(folder: Path) -> str:
    """Compile the programs for brokers into a folder, and return the class path to add for them."""
    path = class_path(environment.folder("flink")) + os.pathsep + broker_jars()
    compile_java("flink", BROKER_SOURCES, path, folder)
    return os.pathsep.join([str(folder), broker_jars()])


ENVIRONMENT = Environment(
    lock=HERE / "requirements.txt", inputs=(*SOURCES, HERE / "build.py"), build=compile_programs
)
