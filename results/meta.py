"""Checks that run.json has the parts that reading, comparing or resuming a run needs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from streamlab.results.errors import ResultsError

_NOTHING = type(None)
_PARTS: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "matrix_text": (str,),
    "only": (list,),
    "keep_outputs": (bool,),
    "settings": (dict,),
    "settings.isolation": (dict,),
    "cells": (dict,),
    "vcs": (dict,),
    "vcs.commit": (str, _NOTHING),
    "vcs.dirty_diff_sha256": (str, _NOTHING),
    "host": (dict,),
    "software": (dict,),
    "software.packages": (dict,),
    "datasets": (dict,),
    "sessions": (list,),
    "complete": (bool,),
}


_TYPE_NAMES = {
    str: "a text",
    dict: "an object",
    list: "a list",
    bool: "true or false",
    _NOTHING: "null",
}
_ABSENT = object()


_TO_READ = ("vcs.commit", "vcs.dirty_diff_sha256", "host")
"""Parts that every command needs; resuming a run needs all parts."""


def check_meta(run_dir: Path, meta: Mapping[str, Any], *, to_resume: bool = False) -> None:
    """Check the parts of a run.json from `read_meta`.

    Args:
        run_dir: the run.
        meta: its run.json.
        to_resume: whether to check the parts for resuming the run too.

    Raises:
        ResultsError: a part is missing or of the wrong type; the message names it.
    """
    for path, kinds in _PARTS.items():
        part: Any = meta
        for name in path.split("."):
            part = part.get(name, _ABSENT) if isinstance(part, Mapping) else _ABSENT
        if part is _ABSENT and not to_resume and path not in _TO_READ:
            continue
        if not isinstance(part, kinds):
            _refuse(run_dir, path, part, " or ".join(_TYPE_NAMES[kind] for kind in kinds))
    if not all(isinstance(pattern, str) for pattern in meta.get("only", [])):
        _refuse(run_dir, "only", meta["only"], "a list of texts")
    datasets, sessions = meta.get("datasets", {}), meta.get("sessions", [])
    if not all(isinstance(entry, dict) and "id" in entry for entry in datasets.values()):
        _refuse(run_dir, "datasets", datasets, "objects with an id")
    codes = meta.get("code", {})  # older runs have none
    if not isinstance(codes, dict) or not all(isinstance(code, str) for code in codes.values()):
        _refuse(run_dir, "code", codes, "texts")
    if not isinstance(meta.get("matrix_folder", ""), str):
        _refuse(run_dir, "matrix_folder", meta["matrix_folder"], "a text")
    ceilings = meta.get("generators", {})
    if not isinstance(ceilings, dict) or not all(isinstance(c, dict) for c in ceilings.values()):
        _refuse(run_dir, "generators", ceilings, "objects")
    if not all(isinstance(session, dict) for session in sessions):
        _refuse(run_dir, "sessions", sessions, "a list of objects")


def _refuse(run_dir: Path, path: str, value: object, expected: str) -> NoReturn:
    shown = "absent" if value is _ABSENT else str(value)[:80]
    raise ResultsError(
        f"{run_dir / 'run.json'} is damaged: {path} is {shown}; expected {expected}; "
        "take run.json from a copy, or run it again"
    )
