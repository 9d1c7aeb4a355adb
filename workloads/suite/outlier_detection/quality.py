"""Measures how well outliers match the labels of connections.

`python -m streamlab.workloads.suite.outlier_detection.quality DATASET` prints precision, recall,
and the outliers found for each label. It uses the oracle's answer, which equals the answer of every
engine whose run was verified.
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
"""Labels of generated connections; imported datasets have a dictionary of labels."""

USUAL = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Numbers of connections and of outliers, by label.

    Attributes:
        labels: names of the labels.
        connections: int64, connections with each label.
        outliers: int64, connections with each label that the answer calls outliers.
    """

    labels: tuple[str, ...]
    connections: npt.NDArray[np.int64]
    outliers: npt.NDArray[np.int64]

    @property
    def precision(self) -> float:
        """Share of outliers whose label is not normal; nan without outliers."""
        return _share(self._unusual(self.outliers), int(self.outliers.sum()))

    @property
    def recall(self) -> float:
        """Share of outliers among connections whose label is not normal; nan without such connections."""
        return _share(self._unusual(self.outliers), self._unusual(self.connections))

    def _unusual(self, counts: npt.NDArray[np.int64]) -> int:
        return sum(int(n) for n, name in zip(counts, self.labels, strict=True) if name != USUAL)

    def lines(self) -> list[str]:
        """Return lines of text: both shares, then a line for each label."""
        counts = zip(self.labels, self.connections.tolist(), self.outliers.tolist(), strict=True)
        return [
            f"precision {self.precision:.4f}, recall {self.recall:.4f}",
            *(f"{name}: {outliers:,} of {total:,} found" for name, total, outliers in counts),
        ]


def quality(
    names: Sequence[str],
    row: npt.NDArray[np.int64],
    label: npt.NDArray[np.int64],
    outliers: npt.NDArray[np.int64],
) -> Quality:
    """Compare the rows of outliers with the labels of all rows, which may be in any order."""
    count = len(names)
    return Quality(
        labels=tuple(names),
        connections=np.bincount(label, minlength=count),
        outliers=np.bincount(label[np.isin(row, outliers)], minlength=count),
    )


def measure_quality(dataset: Dataset) -> Quality:
    """Compare the oracle's outliers of a dataset with the dataset's labels.

    Raises:
        DatasetError: the dataset is the input of another workload.
    """
    if dataset.workload != INPUT:
        raise DatasetError(
            f"dataset {dataset.id[:16]} is for {dataset.workload} and has no labels; give a "
            f"dataset of {INPUT} (`lab data list`)"
        )
    data = dataset.load()
    labelled = [stream.payload for stream in data.streams if "label" in stream.payload]
    row, label = (
        np.concatenate([np.asarray(payload[name], dtype=np.int64) for payload in labelled])
        for name in ("row", "label")
    )
    answer = oracle(data)
    outliers = answer["connection"][answer["kind"] == OUTLIER]
    labels = [dictionary for dictionary in dataset.dictionaries if dictionary.name == "label"]
    names = dictionary_texts(labels[0]) if labels else GENERATED
    return quality(names, row, label, outliers.astype(np.int64))


def _share(part: int, total: int) -> float:
    return part / total if total else float("nan")


def main(arguments: Sequence[str]) -> int:
    """Print the quality of a dataset, given a prefix of its id; return the exit code."""
    if len(arguments) != 1:
        print(
            "usage: python -m streamlab.workloads.suite.outlier_detection.quality DATASET",
            file=sys.stderr,
        )
        return 2
    try:
        result = measure_quality(Catalog.default().get(arguments[0]))
    except DatasetError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(result.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
