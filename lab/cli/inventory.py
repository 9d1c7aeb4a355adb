"""What there is, as the records that `lab list ... --json` prints: docs/json.md has their keys.

What cannot be used is a record, too: its `error` says why, and what is not known is null or empty.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamlab.engines.protocol import Engine, Variant
    from streamlab.workloads.model.workload import Parameter

Record = dict[str, Any]


def workloads() -> list[Record]:
    """Return the workloads that have a name, with their parameters."""
    from streamlab.workloads.registry import names

    return [_workload(name) for name in names()]


def _workload(name: str) -> Record:
    from streamlab.workloads.model import Dataflow, DGSProgram, ModelError, Pipeline, Query
    from streamlab.workloads.registry import workload

    empty: Record = {
        "name": name,
        "title": None,
        "paper": None,
        "model": None,
        "input": None,
        "stages": [],
        "parameters": [],
        "query": [],
        "error": None,
    }
    try:
        found = workload(name)
    except ModelError as error:
        return {**empty, "error": str(error)}
    program = found.program
    models = {DGSProgram: "dgs", Query: "query", Pipeline: "pipeline", Dataflow: "dataflow"}
    stages = program.stages if isinstance(program, Pipeline) else ()
    return {
        **empty,
        "title": found.title,
        "paper": found.paper or None,
        "model": models[type(program)],
        "input": found.input_name,
        "stages": [{"name": stage.name, "kind": str(stage.kind)} for stage in stages],
        "parameters": _parameters(found.parameters),
        "query": _parameters(found.query),
    }


def _parameters(given: "Mapping[str, Parameter]") -> list[Record]:
    return [{"name": n, "default": spec.default, "help": spec.help} for n, spec in given.items()]


def engines() -> list[Record]:
    """Return the installed engines, with their variants."""
    from streamlab.engines.errors import EngineError
    from streamlab.engines.registry import engine, names

    listed = []
    for name in names():
        empty: Record = {
            "name": name,
            "version": None,
            "environment": None,
            "variants": [],
            "error": None,
        }
        try:
            listed.append({**empty, **_engine(engine(name), name)})
        except EngineError as error:
            listed.append({**empty, "error": str(error)})
    return listed


def _engine(found: "Engine", name: str) -> Record:
    from streamlab.engines import environment

    wanted = environment.declared_environment(found)
    own = None
    if wanted is not None:
        folder = str(environment.folder(name))
        own = {"folder": folder, "lacking": environment.unusable_reason(name, wanted)}
    variants = found.variants()
    return {
        "version": found.version(),
        "environment": own,
        "variants": [_variant(variant, variants) for variant in variants],
    }


def _variant(variant: "Variant", among: "Iterable[Variant]") -> Record:
    from streamlab.engines.protocol import MODELS, default_variant

    models = [model for model in MODELS if model in variant.models]
    chosen = [MODELS[m] for m in models if default_variant(tuple(among), m) is variant]
    return {
        "name": variant.name,
        "summary": variant.summary,
        "uses_batch": variant.uses_batch,
        "models": [MODELS[model] for model in models],
        "default_for": chosen,
        "lacking": dict(variant.lacking),
        "written_for": None if variant.written_for is None else sorted(variant.written_for),
    }


def figures() -> list[Record]:
    """Return the figures of papers that can be made again, and packages' that cannot be loaded."""
    from streamlab.lab.figures.registry import figures as known
    from streamlab.lab.figures.registry import missing_needs, unusable

    broken: list[Record] = [
        {"id": None, "title": None, "shows": None, "lacking": [], "error": why}
        for why in unusable()
    ]
    return broken + [
        {
            "id": figure.id,
            "title": figure.title,
            "shows": figure.shows,
            "lacking": list(missing_needs(figure)),
            "error": None,
        }
        for figure in known()
    ]


def runs(root: Path) -> list[Record]:
    """Return the runs below a folder, oldest name first."""
    from streamlab.results.errors import ResultsError
    from streamlab.results.store import list_runs, read_summary

    listed = []
    for run_dir in list_runs(root):
        record: Record = {
            "name": run_dir.name,
            "path": str(run_dir),
            "cells": None,
            "commit": None,
            "complete": None,
            "error": None,
        }
        try:
            told = read_summary(run_dir)
        except ResultsError as error:
            listed.append({**record, "error": str(error)})
            continue
        known = {"cells": told.cells, "commit": told.commit, "complete": told.complete}
        listed.append({**record, **known})
    return listed
