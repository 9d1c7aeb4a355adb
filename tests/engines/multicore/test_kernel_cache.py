"""A kernel comes from the cache only if compiling it again would give the same code."""

import types

import pytest

from engines.multicore.kernels.fingerprint import UnstableError, fingerprint

SOURCE = """
import math
import numpy as np
import settings

LIMIT = {limit}

def helper(x):
    return x * {factor}

def update(state, event, out):
    state.total += helper(event.value) + LIMIT

def uses_numpy(state, event, out):
    state.total += np.int64(math.sqrt(event.value))

def uses_settings(state, event, out):
    state.total += settings.LIMIT
"""


def functions(limit=1, factor=2):
    namespace = {"__name__": "somewhere"}
    code = SOURCE.replace("import settings\n", "").format(limit=limit, factor=factor)
    exec(compile(code, "somewhere.py", "exec"), namespace)
    namespace["settings"] = types.ModuleType("settings")
    return namespace


def test_the_same_text_has_the_same_fingerprint():
    assert fingerprint(functions()["update"]) == fingerprint(functions()["update"])


def test_a_changed_constant_changes_it():
    assert fingerprint(functions()["update"]) != fingerprint(functions(limit=9)["update"])


def test_a_changed_helper_changes_it():
    assert fingerprint(functions()["update"]) != fingerprint(functions(factor=9)["update"])


def test_numpy_and_math_are_stable():
    assert fingerprint(functions()["uses_numpy"]) == fingerprint(functions()["uses_numpy"])


def test_another_module_may_change_so_there_is_no_fingerprint():
    with pytest.raises(UnstableError, match="settings is a module"):
        fingerprint(functions()["uses_settings"])
