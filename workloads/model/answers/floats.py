"""Decides which floats of an answer must be equal bit for bit, and how much other floats may differ.

Rounding makes a float sum depend on the order of its additions. Pipelines fix that order, and
programs without floats in a state have no such sums: their answers are exact. If joins or aggregates
may combine floats in any grouping, the difference of two answers is bounded instead.

Two sums of n numbers x, in any order, differ by at most (n - 1) 2^-52 sum(|x|) to first order
(N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2: each is
within (n - 1) 2^-53 sum(|x|) of the true sum). For numbers of one sign, sum(|x|) is the sum itself.
Numbers of both signs may cancel; their bound is the bound of a sum of typical size, which can be too
small. In that case declare a tolerance, or use `streamlab.workloads.model.exact_sum`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from streamlab.workloads.model.dataflow import Dataflow, OpKeyedUnordered
from streamlab.workloads.model.dgs.program import DGSProgram
from streamlab.workloads.model.errors import ModelError
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline.program import Pipeline

AnyProgram = DGSProgram | Query | Pipeline | Dataflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Bounds the difference between a float and the expected float by the larger of two bounds.

    NaN equals only NaN, an infinity equals only itself, and -0.0 equals 0.0, whatever the bounds.

    Attributes:
        relative: Share of the larger magnitude of both floats.
        absolute: Bound in the unit of the field.
        events: Number of input events of a derived bound; 0 for a declared bound. A derived relative bound
            is a share of a typical magnitude, if that exceeds both floats. The typical magnitude is the
            median of the nonzero expected values (per key, if the output has keys). If the median is
            only rounding noise of the input's floats, it is the magnitude of these floats.
    """

    relative: float = 0.0
    absolute: float = 0.0
    events: int = 0

    def __post_init__(self) -> None:
        """Check both bounds.

        Raises:
            ModelError: A bound is negative or not finite.
        """
        for name in ("relative", "absolute"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and 0 <= value < math.inf):
                raise ModelError(f"Tolerance: {name} is {value!r}; give 0 or a positive number")

    @property
    def exact(self) -> bool:
        """Whether values must be equal."""
        return self.relative == self.absolute == 0

    def words(self) -> str:
        """Return the bound in words, e.g. `within 8.9e-16 of its size (4 events x 2^-52)`."""
        if self.exact:
            return "exact"
        parts = [f"{self.relative:.2g} of its size"] if self.relative else []
        parts += [f"{self.absolute:.2g}"] if self.absolute else []
        return f"within {' or '.join(parts)}" + (
            f" ({self.events:,} events)" if self.events else ""
        )


EXACT = Tolerance()

HALF_OF_THE_DIGITS = 2.0**-26
"""Relative difference of 64-bit floats that agree in half of their digits."""

Tolerances = Mapping[str, Tolerance]
"""Tolerances of an output's float fields, by name."""


def tolerances_of(program: AnyProgram, declared: Tolerances, events: int) -> dict[str, Tolerance]:
    """Return the tolerance of each float field of a program's output; declared ones take precedence.

    The number of input events is an upper limit on the terms of a sum.
    """
    output = program.output
    names = [name for name in output.names or () if output[name].kind == "f"]
    fixed = not names or order_is_fixed(program)
    return {
        name: declared.get(name, EXACT if fixed else derive_tolerance(output[name], events))
        for name in names
    }


def derive_tolerance(dtype: np.dtype[np.generic], events: int) -> Tolerance:
    """Return the bound for a sum of `events` numbers; at least half of the digits must always agree."""
    unit = float(np.finfo(np.float32 if dtype.itemsize <= 4 else np.float64).eps)
    return Tolerance(relative=min(events * unit, math.sqrt(unit)), events=max(events, 1))


def check_declared(program: AnyProgram, declared: Tolerances) -> None:
    """Check that tolerances are declared for float fields only.

    Raises:
        ModelError: A tolerance names another field.
    """
    output = program.output
    floats = [name for name in output.names or () if output[name].kind == "f"]
    for name in declared:
        if name not in floats:
            raise ModelError(
                f"program {program.name}: a tolerance is declared for {name!r}, which is not a "
                f"float field of its output; its float fields: {', '.join(floats) or 'none'}"
            )


def order_is_fixed(program: AnyProgram) -> bool:
    """Return whether the model fixes the order of all float operations in a program's states.

    - DGS program: yes, if it has no forks and all events of a key depend on each other.
    - Query: yes, if only the first operator has floats in its state; later operators take records of
      equal time in any order.
    - Pipeline: yes, unless an operator with floats in its state takes records of equal time in any order.
    - Typed dataflow graph: yes, if aggregates of blocks have no floats.
    """
    if isinstance(program, DGSProgram):
        kinds, dependent = program.key_kinds(), program.dependent_kinds()
        in_order = all((a, b) in dependent for a in kinds for b in kinds)
        states = [state.dtype for state in program.states]
        states += [across.dtype for across in program.across]
        return (in_order and not program.parallel) or not any(map(_has_floats, states))
    if isinstance(program, Query):
        return not any(_has_floats(operator.state) for operator in program.operators[1:])
    if isinstance(program, Pipeline):
        stages = program.stages
        return not any(
            stage.ties_commute and stage.state is not None and _has_floats(stage.state)
            for stage in stages
        )
    operators = [vertex.operator for vertex in program.vertices]
    return not any(
        isinstance(operator, OpKeyedUnordered) and _has_floats(operator.aggregate)
        for operator in operators
    )


def _has_floats(dtype: np.dtype[np.void]) -> bool:
    return any(dtype[name].base.kind == "f" for name in dtype.names or ())
