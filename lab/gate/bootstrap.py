"""Runs one trial from a request, with the lab of the arm's revision; started as a file, not as a module.

    python bootstrap.py REQUEST.json SPEC.json

Revisions change the format of a trial's specification more often than its fields.
So the request has the fields by name, and the arm writes the specification for its own `streamlab.lab.trial`.
The trial leaves its evidence in the folder of SPEC.json.
"""

import gc
import json
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec

from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.trial import process
from streamlab.lab.trial.spec import EngineTrial, OracleJob, write_job
from streamlab.workloads.datasets.dataset import Dataset


def main(request_path: str, spec_path: str) -> None:
    """Write the specification and run the trial, which ends this process."""
    gc.disable()  # As `streamlab.lab.trial` does: the trial enables it for the engine's objects.
    fields: dict[str, Any] = json.loads(Path(request_path).read_text(encoding="utf-8"))
    if fields.pop("type") == "OracleJob":
        del fields["spawned_ns"]
        kind: Any = OracleJob
    else:
        kind = EngineTrial
    fields["dataset"] = _convert_dataset(fields["dataset"])
    if fields.get("load") is not None:
        fields["load"] = LoadSpec(**fields["load"])
    unknown = sorted(set(fields) - set(signature(kind).parameters))
    if unknown:
        raise SystemExit(f"this revision has no field {', '.join(unknown)} of a trial")
    write_job(kind(**fields), Path(spec_path))
    process.main([spec_path, str(Path(spec_path).parent)])


def _convert_dataset(content: dict[str, Any]) -> Dataset:
    """Return the dataset, without fields that this revision lacks."""
    return msgspec.convert(content, Dataset, dec_hook=_convert_path)


def _convert_path(kind: type, value: Any) -> Any:
    return Path(value) if kind is Path else value


if __name__ == "__main__":
    main(*sys.argv[1:])
