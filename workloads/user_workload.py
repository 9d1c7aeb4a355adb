"""Makes a workload of a user's program and input, and infers all other attributes."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from streamlab.workloads.argument_errors import check_arguments
from streamlab.workloads.datasets.tables import Table, TableSet
from streamlab.workloads.datasets.user_input import InputFunction, input_function
from streamlab.workloads.model import (
    Columns,
    Dataflow,
    DGSProgram,
    Input,
    ModelError,
    Operator,
    OutputType,
    Pipeline,
    Program,
    Query,
    Workload,
)
from streamlab.workloads.model.answers.floats import Tolerances, check_declared
from streamlab.workloads.model.answers.output_order import inferred_output
from streamlab.workloads.model.operators.program import arrival_tick_ns
from streamlab.workloads.model.reference import answer_of, totals_of
from streamlab.workloads.model.workload import (
    INVARIANTS,
    ORACLE,
    REFERENCE,
    OpenDeclaration,
    Outputs,
)

AnyTable = TypeVar("AnyTable", bound=Table | TableSet)


@check_arguments(ModelError)
def workload(
    program: Program | Operator,
    *,
    input: Table | Mapping[str, Table] | Callable[..., Any],
    name: str | None = None,
    title: str | None = None,
    paper: str = "",
    oracle: Callable[[Input], Columns] | None = None,
    output: OutputType | None = None,
    key_field: str | None = None,
    tolerances: Tolerances | None = None,
) -> Workload:
    """Return the workload of a program. Call it from the file or module that declares the workload.

    Args:
        program: a program of one of the models (docs/model.md). An operator becomes a query of one operator.
        input: a table (`csv`, `parquet`, `arrow`, `frame`, `arrays`, `rows`), a table for each kind of the program by
            name, or a function that generates the events (`streamlab.workloads.datasets.user_input`). Relative paths of
            a table are relative to the calling file.
        name: the workload's name; None for the name of the file, or of the program if there is no file.
        title: one line for people; None names the program.
        paper: the paper that defines the workload, and the section.
        oracle: returns the expected output, in input order. None: the reference engine computes it, which cannot find
            errors of the program itself.
        output: the data-trace type of the output; None: `inferred_output` infers it.
        key_field: the output field with the key, for the inference; None: `key`.
        tolerances: by name: the allowed difference of a float field of the output. Other float fields must be equal bit
            for bit if the model fixes the order of operations, otherwise within a derived bound (docs/model.md).

    Raises:
        ModelError: an argument is invalid, or the output type cannot be inferred.
    """
    if isinstance(program, Operator):
        program = Query(name=program.name, operators=(program,))
    if arrival_tick_ns(program) is not None:
        raise ModelError(
            f"workload: query {program.name} has arrival times, but the lab can only check answers of declared "
            'workloads with arrival times; write lab.window(..., time="arrival")'
        )
    if not isinstance(program, DGSProgram | Query | Pipeline | Dataflow):
        raise ModelError(
            f"workload: the program is a {type(program).__name__}; give a DGSProgram, a Query, an "
            "Operator, a Pipeline or a Dataflow (docs/model.md)"
        )
    output = output or inferred_output(program, key_field)
    output = replace(output, tolerances={**output.tolerances, **(tolerances or {})})
    check_declared(program, output.tolerances)
    file = caller_file()
    source: Table | TableSet | InputFunction
    if isinstance(input, Table | Mapping):
        table = input if isinstance(input, Table) else TableSet(by_kind=dict(input))
        source = locate(table, file)
    elif callable(input):
        source = input_function(input)
    else:
        raise ModelError(
            f"workload {program.name}: input is a {type(input).__name__}; give a table, such as "
            'csv("data.csv", ts="time"), or a function that generates the events'
        )
    return replace(
        program_workload(
            program, source, name=name or name_of_file(file) or program.name, output=output
        ),
        title=title or f"program {program.name}",
        paper=paper,
        oracle=oracle or partial(answer_of, program),
        checked_by=REFERENCE if oracle is None else ORACLE,
    )


def outputs(**workloads: Workload) -> Outputs:
    """Return several workloads as the outputs of one program, which one `lab run FILE` runs.

    Each output is verified and measured separately. `lab answer RUN --output NAME` shows its answer. Call this function
    from the file that declares the program.

    Args:
        workloads: a workload for each output, by the output's name.

    Raises:
        ModelError: an output is not a workload, or there are no outputs.
    """
    name = name_of_file(caller_file(frames=2)) or "outputs"
    if not workloads:
        raise ModelError(
            "lab.outputs: give at least one output, such as lab.outputs(counts=counts)"
        )
    for output, member in workloads.items():
        if isinstance(member, OpenDeclaration):
            raise ModelError(f"lab.outputs: {output} is not complete: {member.error}")
        if not isinstance(member, Workload):
            raise ModelError(
                f"lab.outputs: {output} is a {type(member).__name__}; give a workload, such as lab.window(...)"
            )
    named = {}
    for output, member in workloads.items():
        # Outputs that read the same columns share a dataset, which has one name.
        input_name = member.input_name if member.source is None else name
        named[output] = replace(member, name=f"{name}.{output}", input=input_name)
    return Outputs(name=name, workloads=named)


def program_workload(
    program: Program,
    source: Table | TableSet | InputFunction,
    *,
    name: str,
    output: OutputType,
    declaration: Any = None,
) -> Workload:
    """Return the workload of a program, with the reference engine as oracle."""
    oracle: Callable[[Input], Columns] = partial(answer_of, program)
    checked_by = REFERENCE
    if isinstance(program, Query) and program.arrival_tick_ns is not None:
        oracle, checked_by = partial(totals_of, program), INVARIANTS
    return Workload(
        name=name,
        title=f"program {program.name}",
        paper="",
        program=program,
        output=output,
        parameters=source.parameters if isinstance(source, InputFunction) else {},
        keys=_not_generated,
        streams=_not_generated,
        generate=_not_generated,
        oracle=oracle,
        checked_by=checked_by,
        source=source,
        declaration=declaration,
    )


def caller_file(frames: int = 3) -> str | None:
    """Return the file that called the public function that calls this one.

    The file is 2 frames above, or 3 if `check_arguments` decorates the public function.
    """
    file: str | None = sys._getframe(frames).f_globals.get("__file__")
    return file


def locate(table: AnyTable, file: str | None) -> AnyTable:
    """Return a table with relative paths resolved against the folder of a file; unchanged if there is no file."""
    # Each kind of table returns its own kind.
    return table if file is None else table.relative_to(Path(file).absolute().parent)  # type: ignore[return-value]


def name_of_file(file: str | None) -> str | None:
    """Return the name of a workload for its file; None if the file gives no valid name."""
    stem = "" if file is None else Path(file).stem
    if stem.startswith("__"):
        return None
    return re.sub(r"[^\w.-]+", "-", stem).lstrip("-_.") or None


def _not_generated(params: Mapping[str, object], *arguments: Any) -> Any:
    raise ModelError("the input of this workload is a table; its streams are those of its dataset")
