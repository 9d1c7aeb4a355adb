"""Compares an engine's answer with the oracle's as data traces (`streamlab.workloads.model.answers.trace`)."""

import traceback
from dataclasses import dataclass
from functools import partial

import numpy as np

from streamlab.lab.judge.invariants import Arrivals, violated_invariant
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.stream_reader import load_column
from streamlab.workloads.declarative.declaration import Declaration, WindowStep
from streamlab.workloads.model import Columns, ModelError, Workload
from streamlab.workloads.model.answers.floats import Tolerances, tolerances_of
from streamlab.workloads.model.answers.trace import Difference, compare

ROUNDING = (
    "the answers differ only in the last bits of floats: these depend on the order of additions, "
    "and exceed the bound ({bounds}) if values cancel; add with streamlab.workloads.model.exact_sum, or "
    "declare a tolerance (docs/model.md, Floats)"
)
FIXED_ORDER = (
    "the answers differ only in the last bits of floats, although the program's model fixes the "
    "order of operations: the engine uses another order, precision or fused operations; if this is "
    "intended, declare a tolerance (docs/model.md, Floats)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Result of a comparison.

    Attributes:
        expected_outputs: number of expected records; None: unknown.
        missing, duplicate, out_of_order, wrong: numbers of records with this problem.
        difference: text about the differences; None if and only if the answer is correct.
        floats: rule for comparing floats, with the largest difference; None: no floats.
        float_deviation: largest difference as a share of its bound; None: floats are exact.
        rounding: why only the last bits of floats differ; None if more differs.
    """

    expected_outputs: int | None
    missing: int = 0
    duplicate: int = 0
    out_of_order: int = 0
    wrong: int = 0
    difference: str | None = None
    floats: str | None = None
    float_deviation: float | None = None
    rounding: str | None = None


def verify(
    workload: Workload, dataset: Dataset, answer: Columns, expected: Columns
) -> Verification:
    """Compare an answer with the expected one.

    An answer that cannot be compared (a column is missing, lengths differ) is also wrong.
    """
    count = len(expected["ts"])
    tolerances = tolerances_of(workload.program, workload.output.tolerances, dataset.events)
    try:
        difference = compare(
            expected,
            answer,
            workload.output,
            tolerances=tolerances,
            magnitude=partial(_median_magnitude, dataset),
        )
    except (ModelError, LookupError, TypeError, ValueError) as error:
        traceback.print_exc()
        return Verification(
            expected_outputs=count, difference=f"the answer cannot be compared: {error!r}"
        )
    return Verification(
        expected_outputs=count,
        missing=difference.missing,
        duplicate=difference.duplicate,
        out_of_order=difference.out_of_order,
        wrong=difference.wrong,
        difference=None if difference.equal else difference.render(),
        floats=_describe_floats(tolerances, difference),
        float_deviation=_largest_deviation(tolerances, difference),
        rounding=_explain_rounding(tolerances) if difference.rounding else None,
    )


def verify_arrivals(
    workload: Workload, answer: Columns, totals: Columns, arrivals: Arrivals
) -> Verification:
    """Check an answer of arrival-time windows by invariants; an answer with wrong columns is also wrong."""
    declaration = workload.declaration
    assert isinstance(declaration, Declaration) and isinstance(declaration.step, WindowStep)
    try:
        problem = violated_invariant(declaration.step, declaration.keys, answer, totals, arrivals)
    except (LookupError, TypeError, ValueError) as error:
        traceback.print_exc()
        problem = f"the answer cannot be checked: {error!r}"
    # The number of windows depends on the arrivals, so it is unknown unless the input has no row.
    return Verification(
        expected_outputs=None if len(totals["ts"]) else 0,
        difference=problem,
    )


def _median_magnitude(dataset: Dataset) -> float:
    """Return the median magnitude of the non-zero floats in a dataset; 0 without floats."""
    parts = [np.empty(0)]
    for stream in dataset.streams:
        for name, dtype in stream.columns:
            if dtype.startswith("float"):
                parts.append(np.abs(load_column(stream, name).astype(np.float64)))
    values = np.concatenate(parts)
    values = values[np.isfinite(values) & (values > 0)]
    return float(np.median(values)) if len(values) else 0.0


def _describe_floats(tolerances: Tolerances, difference: Difference) -> str | None:
    """Return the rule of each float field, with its largest difference."""
    if not tolerances:
        return None
    if all(bound.exact for bound in tolerances.values()):
        return "exact"
    parts = []
    for name, bound in tolerances.items():
        words = f"{name} {bound.words()}"
        if not bound.exact:
            deviation = difference.deviations.get(name)
            words += ", largest difference "
            if deviation is None or deviation.absolute == 0:
                words += "0"
            elif bound.relative:
                words += f"{deviation.relative:.2g} of its size"
            else:
                words += f"{deviation.absolute:.2g}"
        parts.append(words)
    return "; ".join(parts)


def _largest_deviation(tolerances: Tolerances, difference: Difference) -> float | None:
    if all(bound.exact for bound in tolerances.values()):
        return None
    return max((deviation.share for deviation in difference.deviations.values()), default=0.0)


def _explain_rounding(tolerances: Tolerances) -> str:
    loose = [f"{name} {bound.words()}" for name, bound in tolerances.items() if not bound.exact]
    return ROUNDING.format(bounds=", ".join(loose)) if loose else FIXED_ORDER
