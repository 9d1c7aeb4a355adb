"""Runs one trial from a request, with whatever lab it is started in: a file, not a module.

    python bootstrap.py REQUEST.json SPEC.json RESULT.json

The form of a trial's specification changes from revision to revision; its fields change less. So
the request has fields by name, and the arm writes the specification that its own `lab.trial` reads.
It imports only what every revision has.
"""

import json
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any


def main(request_path: str, spec_path: str, result_path: str) -> None:
    """Write the specification and run the trial; this process ends with it."""
    main_of = _first("lab.trial.process", "lab.trial").main
    spec = _first("lab.trial.spec", "lab.trial_spec")
    request: dict[str, Any] = json.loads(Path(request_path).read_text(encoding="utf-8"))
    request["dataset"] = _dataset(request["dataset"])
    if request.get("load") is not None:
        load = _first("lab.matrix.load.spec", "lab.load.spec")
        request["load"] = load.LoadSpec(**request["load"])
    known = {field.name for field in fields(spec.TrialSpec)}
    unknown = sorted(set(request) - known)
    if unknown:
        raise SystemExit(f"this revision does not know {', '.join(unknown)} of a trial")
    spec.write_spec(spec.TrialSpec(**request), Path(spec_path))
    main_of([spec_path, result_path])


def _first(*modules: str) -> Any:
    """Return the first of these modules that there is: where this revision has it, or an older."""
    for name in modules:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise  # it is there, and lacks something else
    raise SystemExit(f"this revision has none of the modules {', '.join(modules)}")


def _dataset(content: dict[str, Any]) -> Any:
    """Return the input; what this revision does not know of a stream, it does without."""
    from workloads.datasets.dataset import Dataset, DatasetStream
    from workloads.model import Alphabet

    known = {field.name for field in fields(DatasetStream)}
    streams = tuple(
        DatasetStream(
            **{
                **{name: value for name, value in stream.items() if name in known},
                "kinds": tuple(stream["kinds"]),
                "path": Path(stream["path"]),
                "columns": tuple((name, dtype) for name, dtype in stream["columns"]),
                "heartbeats": tuple(stream["heartbeats"]),
            }
        )
        for stream in content["streams"]
    )
    alphabet = Alphabet(kinds=tuple(content["kinds"]), keys=content["keys"])
    named = {key: content[key] for key in ("id", "workload", "origin", "source", "licence")}
    return Dataset(alphabet=alphabet, streams=streams, **named)


if __name__ == "__main__":
    main(*sys.argv[1:])
