"""Lists workloads."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlab.workloads.model import Dataflow, DGSProgram, ModelError, Pipeline, Query
from streamlab.workloads.model.workload import Parameter
from streamlab.workloads.registry import names, workload

_MODELS = {DGSProgram: "dgs", Query: "query", Pipeline: "pipeline", Dataflow: "dataflow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRecord:
    """A registered workload, with its parameters."""

    name: str
    title: str | None = None
    paper: str | None = None
    model: str | None = None
    input: str | None = None
    stages: tuple[dict[str, str], ...] = ()
    parameters: tuple[dict[str, object], ...] = ()
    query: tuple[dict[str, object], ...] = ()
    error: str | None = None


def records(root: Path) -> list[WorkloadRecord]:
    """Return the registered workloads."""
    return [_record(name) for name in names()]


def _record(name: str) -> WorkloadRecord:
    try:
        entry = workload(name)
    except ModelError as error:
        return WorkloadRecord(name=name, error=str(error))
    program = entry.program
    stages = program.stages if isinstance(program, Pipeline) else ()
    return WorkloadRecord(
        name=name,
        title=entry.title,
        paper=entry.paper or None,
        model=_MODELS[type(program)],
        input=entry.input_name,
        stages=tuple({"name": stage.name, "kind": str(stage.kind)} for stage in stages),
        parameters=_parameters(entry.parameters),
        query=_parameters(entry.query),
    )


def _parameters(parameters: Mapping[str, Parameter]) -> tuple[dict[str, object], ...]:
    return tuple(
        {"name": n, "default": spec.default, "help": spec.help} for n, spec in parameters.items()
    )


def lines(records: Iterable[WorkloadRecord]) -> Iterator[str]:
    """Yield the text of records."""
    for record in records:
        if record.error is not None:
            yield f"{record.name}  not usable: {record.error}"
            continue
        yield f"{record.name}  {record.title}" + (f" ({record.paper})" if record.paper else "")
        if record.stages:
            stages = [f"{stage['name']} ({stage['kind']})" for stage in record.stages]
            yield f"    ordered pipeline: {' -> '.join(stages)}"
        for prefix, specs in (("", record.parameters), ("query.", record.query)):
            for spec in specs:
                yield f"    {prefix}{spec['name']} = {spec['default']!r}  {spec['help']}"
