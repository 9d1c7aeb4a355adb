"""Lists workloads, engines, figures and runs as records, for `lab list`; docs/json.md has the keys.

A broken item has a record, too: `error` has the reason, and unknown values are None or empty.
Imports stand in functions, because `lab list runs` needs no engine and no figure.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamlab.engines.protocol import Engine, Variant
    from streamlab.workloads.model.workload import Parameter

Record = dict[str, Any]


def workloads() -> list[Record]:
    """Return the registered workloads, with their parameters."""
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
        loaded = workload(name)
    except ModelError as error:
        return {**empty, "error": str(error)}
    program = loaded.program
    models = {DGSProgram: "dgs", Query: "query", Pipeline: "pipeline", Dataflow: "dataflow"}
    stages = program.stages if isinstance(program, Pipeline) else ()
    return {
        **empty,
        "title": loaded.title,
        "paper": loaded.paper or None,
        "model": models[type(program)],
        "input": loaded.input_name,
        "stages": [{"name": stage.name, "kind": str(stage.kind)} for stage in stages],
        "parameters": _parameters(loaded.parameters),
        "query": _parameters(loaded.query),
    }


def _parameters(parameters: "Mapping[str, Parameter]") -> list[Record]:
    return [
        {"name": n, "default": spec.default, "help": spec.help} for n, spec in parameters.items()
    ]


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


def _engine(adapter: "Engine", name: str) -> Record:
    from streamlab.engines import environment

    required = environment.declared_environment(adapter)
    environment_record = None
    if required is not None:
        folder = str(environment.folder(name))
        environment_record = {
            "folder": folder,
            "lacking": environment.unusable_reason(name, required),
        }
    variants = adapter.variants()
    return {
        "version": adapter.version(),
        "environment": environment_record,
        "variants": [_variant(variant, variants) for variant in variants],
    }


def _variant(variant: "Variant", variants: "Iterable[Variant]") -> Record:
    from streamlab.engines.protocol import MODELS, default_variant

    models = [model for model in MODELS if model in variant.models]
    defaults = [MODELS[m] for m in models if default_variant(tuple(variants), m) is variant]
    return {
        "name": variant.name,
        "summary": variant.summary,
        "uses_batch": variant.uses_batch,
        "models": [MODELS[model] for model in models],
        "default_for": defaults,
        "lacking": dict(variant.lacking),
        "written_for": None if variant.written_for is None else sorted(variant.written_for),
    }


def figures() -> list[Record]:
    """Return the known figures of papers, and those whose package fails to load."""
    from streamlab.lab.figures.registry import figures as registered
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
        for figure in registered()
    ]


def runs(root: Path) -> list[Record]:
    """Return the runs in a folder, sorted by name."""
    from streamlab.results.errors import ResultsError
    from streamlab.results.meta import check_meta
    from streamlab.results.store import list_runs, read_meta

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
            meta = read_meta(run_dir)
            check_meta(run_dir, meta)
        except ResultsError as error:
            listed.append({**record, "error": str(error)})
            continue
        facts = {"cells": len(meta.cells), "commit": meta.vcs.commit, "complete": meta.complete}
        listed.append({**record, **facts})
    return listed
