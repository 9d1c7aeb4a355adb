"""Runs a program with another /sys/class, in its own mount namespace."""

import os
import shlex
import subprocess
import sys

import pytest

from tests.processes import Popen


def bind_class(directory, command, **options):
    """Start a command that sees `directory` as /sys/class; skips where that is not allowed."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-r", "--mount"]
    mount = f"mount --bind {shlex.quote(str(directory))} /sys/class"
    try:
        tried = subprocess.run(
            [*unshare, "sh", "-c", mount], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("SKIPPED: no program unshare (util-linux), so no fake /sys/class")
    if tried.returncode != 0:
        pytest.skip(f"SKIPPED: no private mount over /sys/class here: {tried.stderr.strip()}")
    return Popen(
        [*unshare, "sh", "-c", f"{mount} && exec {shlex.join(command)}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def python(script, *arguments):
    """A command that runs this script, with every warning an error."""
    return [sys.executable, "-W", "error", "-c", script, *arguments]
