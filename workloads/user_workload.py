"""A workload of one's own: a program and where its input comes from, the rest inferred."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from streamlab.workloads.argument_errors import told
from streamlab.workloads.datasets.tables import Table
from streamlab.workloads.datasets.user_input import Made, made_by
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
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.workload import ORACLE, REFERENCE


@told(ModelError)
def workload(
    program: Program | Operator,
    *,
    input: Table | Callable[..., Any],
    name: str | None = None,
    title: str | None = None,
    paper: str = "",
    oracle: Callable[[Input], Columns] | None = None,
    output: OutputType | None = None,
    key_field: str | None = None,
    tolerances: Tolerances | None = None,
) -> Workload:
    """Return the workload of a program; to be called by the file or module that declares it.

    Args:
        program: of one of the models (docs/model.md); an operator is a query of its own.
        input: a table (`csv`, `parquet`, `arrow`, `frame`, `arrays`, `rows`), whose relative paths
            are relative to the file that calls, or a function, see `streamlab.workloads.datasets.user_input`.
        name: by meaning; None: that of the file, or else of the program.
        title: one line for people; None: what the program is called.
        paper: where it is defined, if it is.
        oracle: the expected output, in input order; None: the reference engine's answer is taken
            for it, in which an error of the program itself is not seen.
        output: the data-trace type of the output; None: it is inferred (`inferred_output`).
        key_field: for that, the output field that holds the key; None: `key`.
        tolerances: by how much float fields of the output may differ, by name; others are equal bit
            for bit where the model fixes the order of operations, else within a derived bound
            (docs/model.md, Floats).

    Raises:
        ModelError: something is not what it must be, or cannot be inferred.
    """
    if isinstance(program, Operator):
        program = Query(name=program.name, operators=(program,))
    if not isinstance(program, DGSProgram | Query | Pipeline | Dataflow):
        raise ModelError(
            f"workload: the program is a {type(program).__name__}; give a DGSProgram, a Query, an "
            "Operator, a Pipeline or a Dataflow (docs/model.md)"
        )
    output = output or inferred_output(program, key_field)
    output = replace(output, tolerances={**output.tolerances, **(tolerances or {})})
    check_declared(program, output.tolerances)
    file = sys._getframe(2).f_globals.get("__file__")  # beyond the decorator's frame
    source: Table | Made
    if isinstance(input, Table):
        source = input if file is None else input.beside(Path(file).absolute().parent)
    elif callable(input):
        source = made_by(input)
    else:
        raise ModelError(
            f"workload {program.name}: input is a {type(input).__name__}; give a table, such as "
            'csv("data.csv", ts="time"), or a function that makes one'
        )
    return Workload(
        name=name or _name_of(file) or program.name,
        title=title or f"program {program.name}",
        paper=paper,
        program=program,
        output=output,
        parameters=source.parameters if isinstance(source, Made) else {},
        keys=_not_generated,
        streams=_not_generated,
        generate=_not_generated,
        oracle=oracle or partial(answer_of, program),
        checked_by=REFERENCE if oracle is None else ORACLE,
        source=source,
    )


def _name_of(file: str | None) -> str | None:
    stem = "" if file is None else Path(file).stem
    if stem.startswith("__"):
        return None
    return re.sub(r"[^\w.-]+", "-", stem).lstrip("-_.") or None


def _not_generated(params: Mapping[str, Any], *more: Any) -> Any:
    raise ModelError("the input of this workload is a table; its streams are those of its dataset")
