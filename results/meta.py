"""What run.json must say for a run to be read, compared or resumed."""

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


_CALLED = {
    str: "a text",
    dict: "an object",
    list: "a list",
    bool: "true or false",
    _NOTHING: "null",
}
_ABSENT = object()


_TO_READ = ("vcs.commit", "vcs.dirty_diff_sha256", "host")
"""Without these no command says what a run is of; to go on with it all are needed."""


def check_meta(run_dir: Path, meta: Mapping[str, Any], *, to_resume: bool = False) -> None:
    """Check that run.json says what commands ask of it; `read_meta` reads what is there.

    Args:
        run_dir: the run.
        meta: its run.json.
        to_resume: whether it is to be gone on with, and not only read.

    Raises:
        ResultsError: a part is missing, or is not what it must be; names it.
    """
    for path, kinds in _PARTS.items():
        part: Any = meta
        for name in path.split("."):
            part = part.get(name, _ABSENT) if isinstance(part, Mapping) else _ABSENT
        if part is _ABSENT and not to_resume and path not in _TO_READ:
            continue
        if not isinstance(part, kinds):
            _refuse(run_dir, path, part, " or ".join(_CALLED[kind] for kind in kinds))
    if not all(isinstance(pattern, str) for pattern in meta.get("only", [])):
        _refuse(run_dir, "only", meta["only"], "a list of texts")
    datasets, sessions = meta.get("datasets", {}), meta.get("sessions", [])
    if not all(isinstance(one, dict) and "id" in one for one in datasets.values()):
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


def _refuse(run_dir: Path, path: str, seen: object, expected: str) -> NoReturn:
    said = "absent" if seen is _ABSENT else str(seen)[:80]
    raise ResultsError(
        f"{run_dir / 'run.json'} is damaged: {path} is {said}; expected {expected}; "
        "take run.json from a copy, or run it again"
    )
