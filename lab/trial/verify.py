"""Compares an engine's answer with the oracle's, as a data trace."""

import traceback
from dataclasses import dataclass

from workloads.datasets.dataset import Dataset
from workloads.datasets.oracle_cache import expected as oracle_answer
from workloads.model import Columns, ModelError, Workload
from workloads.model.trace import compare


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the comparison said; `difference` is None exactly when the answer is right."""

    expected_outputs: int
    missing: int = 0
    duplicate: int = 0
    out_of_order: int = 0
    wrong: int = 0
    difference: str | None = None


def make_expected(workload: Workload, dataset: Dataset) -> Columns:
    """Return the oracle's answer, from its cache when it is there."""
    return oracle_answer(workload, dataset)


def verify(workload: Workload, dataset: Dataset, answer: Columns) -> Verification:
    """Compare an answer with the oracle's.

    An answer that cannot be compared at all (a column is missing, lengths differ) is wrong, too.
    """
    expected = make_expected(workload, dataset)
    count = len(expected["ts"])
    try:
        difference = compare(expected, answer, workload.output)
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
    )
