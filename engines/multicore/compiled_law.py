"""Checks for `lab check` that compiled functions give the same answer as interpreted ones.

Inputs are longer than those of the model's own laws, so that states fill.
The program runs on the native core with bounds checks, whatever the option `bounds` is.
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial

import numpy as np
import numpy.typing as npt

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.adapter import FAMILIES
from streamlab.engines.multicore.run.family import Family
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import (
    Alphabet,
    Columns,
    Dataflow,
    DGSProgram,
    Input,
    ListColumn,
    ModelError,
    OutputType,
    Pipeline,
    Query,
    Stream,
)
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.dgs.laws import BrokenLawError
from streamlab.workloads.model.dgs.wires import Draw
from streamlab.workloads.model.operators.windows import flushed
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.model.streams.total_order import merge
from streamlab.workloads.model.workload import Program

Column = npt.NDArray[np.generic] | ListColumn

WORKERS = 2
"""The smallest number of workers with forks and joins."""
MAX_EVENTS = 24
"""Maximum number of events in one stream."""


def compiled_law(program: Program) -> Callable[[Draw], None] | str:
    """Return the law for a program, or the reason why the native core does not run it."""
    family = next(family for family in FAMILIES.values() if isinstance(program, family.models))
    try:
        _run(family, program, _empty_input(program))
    except EngineError as error:
        return str(error).splitlines()[0].removesuffix(" Numba says:")
    return partial(_check_same_answer, family, program)


def _check_same_answer(family: Family, program: Program, draw: Draw) -> None:
    """Compiled: compiled functions give the same answer as interpreted ones on any input."""
    data = draw(inputs(program, layouts=[_layout(program)], max_events=MAX_EVENTS))
    events = [str(event) for event in merge(data, program).events(program)]
    try:
        expected = answer_of(program, data)
    except ModelError as error:
        law = "a function raised an exception when interpreted"
        raise BrokenLawError(law, (*events, str(error))) from error
    try:
        answer = _run(family, program, data)
    except EngineCrashError as error:
        law = "a function raised an exception when compiled, but not when interpreted"
        raise BrokenLawError(law, (*events, str(error))) from error
    difference = compare(expected, answer, _output(program))
    if not difference.equal:
        raise BrokenLawError(
            "compiled functions give another answer than interpreted ones; the usual reason is an "
            "intermediate number that wraps around when compiled",
            (*events, *difference.render().splitlines()),
        )


def _layout(program: Program) -> list[tuple[str, ...]]:
    """Return the kinds of each stream: one stream per kind; DGS programs and graphs have two of the first kind."""
    kinds: list[tuple[str, ...]] = [(kind,) for kind in program.kinds]
    return [kinds[0], *kinds] if isinstance(program, DGSProgram | Dataflow) else kinds


def _output(program: Program) -> OutputType:
    """Return an output type for a program without a workload."""
    in_order = isinstance(program, Pipeline)
    return OutputType(kinds=("output",), depends=lambda first, second: in_order)


def _run(family: Family, program: Program, data: Input) -> Columns:
    """Run a program on the core and return its answer."""
    settings = RunSettings(workers=WORKERS, batch=4, pin=False, measure=False, bounds=True)
    ended = flushed(program, data)
    with closing(family.run(program, ended, settings, family.options())) as run:
        run.run()
        return run.answer()


def _empty_input(program: Program) -> Input:
    """Return an input without events."""
    payload: dict[str, Column] = {
        name: np.empty(0, dtype=program.event[name]) for name in program.event.names or ()
    }
    if isinstance(program, Query):
        lists = program.operators[0].lists.items()
        payload |= {name: ListColumn.of([], dtype) for name, dtype in lists}
    streams = tuple(
        Stream(
            name=f"stream-{index}",
            kinds=program.kind_indices(kinds),
            ts=np.empty(0, dtype=np.int64),
            payload=payload,
        )
        for index, kinds in enumerate(_layout(program))
    )
    return Input(alphabet=Alphabet(kinds=program.kinds), streams=streams)
