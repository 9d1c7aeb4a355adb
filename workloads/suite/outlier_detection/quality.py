"""How well outliers match the labels.

`python -m streamlab.workloads.suite.outlier_detection.quality DATASET` prints precision, recall, and how many
connections of each label were found. It counts the outliers of the oracle's answer, which is that
of every engine whose run was verified.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.integrity import dictionary_texts
from streamlab.workloads.inputs.connections.schema import INPUT
from streamlab.workloads.suite.outlier_detection.oracle import oracle
from streamlab.workloads.suite.outlier_detection.program import OUTLIER

GENERATED = ("normal", "planted")
"""Labels of generated connections; those of imports are in the dataset's dictionary."""

USUAL = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How many connections there are and were found, by label.

    Attributes:
        labels: names of the labels.
        present: int64, how many connections have each.
        found: int64, how many of these are outliers by the answer.
    """

    labels: tuple[str, ...]
    present: npt.NDArray[np.int64]
    found: npt.NDArray[np.int64]

    @property
    def precision(self) -> float:
        """Share of the found that are not normal; nan when nothing was found."""
        return _share(self._unusual(self.found), int(self.found.sum()))

    @property
    def recall(self) -> float:
        """Share of those not normal that were found; nan when there are none."""
        return _share(self._unusual(self.found), self._unusual(self.present))

    def _unusual(self, counts: npt.NDArray[np.int64]) -> int:
        return sum(int(n) for n, name in zip(counts, self.labels, strict=True) if name != USUAL)

    def lines(self) -> list[str]:
        """Return it in words: both shares, then a line for each label."""
        each = zip(self.labels, self.present.tolist(), self.found.tolist(), strict=True)
        return [
            f"precision {self.precision:.4f}, recall {self.recall:.4f}",
            *(f"{name}: {found:,} of {present:,} found" for name, present, found in each),
        ]


def quality(
    names: Sequence[str],
    row: npt.NDArray[np.int64],
    label: npt.NDArray[np.int64],
    outliers: npt.NDArray[np.int64],
) -> Quality:
    """Compare outliers, given by their rows, with the labels of all rows (in any order)."""
    many = len(names)
    return Quality(
        labels=tuple(names),
        present=np.bincount(label, minlength=many),
        found=np.bincount(label[np.isin(row, outliers)], minlength=many),
    )


def quality_of(dataset: Dataset) -> Quality:
    """Return how well the outliers of a dataset match its labels.

    Raises:
        DatasetError: it is the input of another workload.
    """
    if dataset.workload != INPUT:
        raise DatasetError(
            f"dataset {dataset.id[:16]} is for {dataset.workload}, which has no labels; give one "
            f"of {INPUT} (`lab data list`)"
        )
    data = dataset.load()
    labelled = [stream.payload for stream in data.streams if "label" in stream.payload]
    row, label = (
        np.concatenate([np.asarray(payload[name], dtype=np.int64) for payload in labelled])
        for name in ("row", "label")
    )
    answer = oracle(data)
    outliers = answer["connection"][answer["kind"] == OUTLIER]
    return quality(_names(dataset), row, label, outliers.astype(np.int64))


def _names(dataset: Dataset) -> Sequence[str]:
    for dictionary in dataset.dictionaries:
        if dictionary.name == "label":
            return dictionary_texts(dictionary)
    return GENERATED


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def main(arguments: Sequence[str]) -> int:
    """Print the quality of a dataset, by the start of its id; 2 for a mistake of the user."""
    if len(arguments) != 1:
        print(
            "usage: python -m streamlab.workloads.suite.outlier_detection.quality DATASET",
            file=sys.stderr,
        )
        return 2
    try:
        found = quality_of(Catalog.default().get(arguments[0]))
    except DatasetError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(found.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
