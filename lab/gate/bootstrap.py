"""Runs one trial from a request, with whatever lab it is started in: a file, not a module.

    python bootstrap.py REQUEST.json SPEC.json RESULT.json

The form of a trial's specification changes from revision to revision; its fields change less. So
the request has fields by name, and the arm writes the specification that its own `lab.trial` reads.
It imports only what every revision has.
"""

import json
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

# Of revisions in which an oracle's job was a trial whose engine was not run.
NO_ENGINE = {"engine": "", "variant": "", "workers": 1, "batch": 1, "options": {}}


def main(request_path: str, spec_path: str, result_path: str) -> None:
    """Write the specification and run the trial; this process ends with it."""
    process = _first("lab.trial.process", "lab.trial")
    # A trial leaves evidence in its folder; in older revisions it judged itself.
    leaves = str(Path(result_path).parent) if hasattr(process, "gather") else result_path
    request: dict[str, Any] = json.loads(Path(request_path).read_text(encoding="utf-8"))
    write, kind, fields = _job(request)
    fields["dataset"] = _dataset(fields["dataset"])
    if fields.get("load") is not None:
        load = _first("lab.load.spec", "lab.matrix.load.spec")
        fields["load"] = load.LoadSpec(**fields["load"])
    if "expected_outputs" not in signature(kind).parameters:
        fields.pop("expected_outputs", None)  # older revisions look that up themselves
    unknown = sorted(set(fields) - set(signature(kind).parameters))
    if unknown:
        raise SystemExit(f"this revision does not know {', '.join(unknown)} of a trial")
    write(kind(**fields), Path(spec_path))
    process.main([spec_path, leaves])


def _job(request: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return what writes a job in this revision, the job's type, and its fields."""
    spec = _first("lab.trial.spec", "lab.trial_spec")
    fields = dict(request)
    runs_oracle = fields.pop("type") == "OracleJob"
    if not hasattr(spec, "TrialSpec"):
        if runs_oracle:
            del fields["spawned_ns"]
        return spec.write_job, spec.OracleJob if runs_oracle else spec.EngineTrial, fields
    if runs_oracle:
        fields = {**NO_ENGINE, **fields, "runs_oracle_only": True}
    return spec.write_spec, spec.TrialSpec, fields


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

    known = set(signature(DatasetStream).parameters)
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
    alphabet = content["alphabet"]
    named = {key: content[key] for key in ("id", "workload", "origin", "source", "licence")}
    return Dataset(
        alphabet=Alphabet(kinds=tuple(alphabet["kinds"]), keys=alphabet["keys"]),
        streams=streams,
        **named,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
