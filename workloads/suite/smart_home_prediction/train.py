"""Trains the trees: `python -m streamlab.workloads.suite.smart_home_prediction.train DATASET`.

The trees in `tree.csv` were trained on the first four days of tracebase's week (2012-01-16 to 19).
The examples are at every 30th second whose next ten minutes are in the data. Each type of device has
its tree. One more tree is trained on the examples of all 30 types, for types without a tree. scikit-learn
fits trees by least squares, with limits on their levels and leaves. The paper's REPTree (WEKA) is pruned
by held-out examples; here the limits prevent overfitting.
Contains information from the tracebase data set, made available under the Open Database License.

Other trees (`--to FILE`) change the workload and its answers.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.inputs.power_readings.declaration import QUERY
from streamlab.workloads.inputs.power_readings.gap_filling import readings
from streamlab.workloads.inputs.power_readings.schema import INPUT, SECONDS_A_DAY
from streamlab.workloads.suite.smart_home_prediction.loads import Ints, Loads, loads
from streamlab.workloads.suite.smart_home_prediction.oracle import apply_tree
from streamlab.workloads.suite.smart_home_prediction.tree import (
    DEEPEST,
    LEAF,
    NAMES,
    OTHERS,
    PATH,
    Tree,
    write_tree,
)

PREDICTED_S = 600
"""The predicted time: ten minutes."""
EXAMPLE_PERIOD_S = 30
"""Time from an example to the next."""
DAYS = 4
"""Days for training."""
FEWEST = 200
"""Minimum number of examples of a leaf."""
OWN_DEEPEST, OWN_FEWEST = 3, 50
"""Maximum number of levels, and minimum number of examples of a leaf, for the tree of one type. Of levels 3, 5, 8 and
12, and of 50 to 2,000 examples, these were the best on day 4 after training on days 1 to 3. Larger leaves miss devices
that are seldom on."""


def examples(seconds: Loads) -> tuple[npt.NDArray[np.bool_], Ints, npt.NDArray[np.float64]]:
    """Return a mask of example rows, and for all rows the features and the joules of the next ten minutes."""
    rows = np.arange(len(seconds.second))
    last = np.minimum(rows + PREDICTED_S, len(rows) - 1)
    second, device = seconds.second, seconds.device
    complete = (device[last] == device) & (second[last] == second + PREDICTED_S)
    energy_mj = np.cumsum(seconds.load_mw)
    features = np.stack([second % SECONDS_A_DAY, seconds.load_mw, seconds.minute_mj], axis=1)
    return (
        complete & (second % EXAMPLE_PERIOD_S == 0),
        features,
        (energy_mj[last] - energy_mj) / 1000,
    )


def train(
    features: Ints, joules: npt.NDArray[np.float64], deepest: int = DEEPEST, fewest: int = FEWEST
) -> Tree:
    """Fit a tree to examples, with a limit on its levels and on the examples of a leaf."""
    from sklearn.tree import DecisionTreeRegressor

    model: Any = DecisionTreeRegressor(
        max_depth=deepest, min_samples_leaf=fewest, random_state=0
    ).fit(features, joules)
    fitted = model.tree_
    inner = fitted.children_left >= 0
    # Features are whole numbers, so thresholds can be rounded down.
    return Tree(
        device=np.full(len(inner), OTHERS),
        feature=np.where(inner, fitted.feature, -1).astype(np.int64),
        threshold=np.where(inner, np.floor(fitted.threshold), 0).astype(np.int64),
        left=np.where(inner, fitted.children_left, 0).astype(np.int64),
        right=np.where(inner, fitted.children_right, 0).astype(np.int64),
        next_10_min_j=np.floor(fitted.value[:, 0, 0] + 0.5).astype(np.int64),
    )


def train_by_device(devices: Ints, features: Ints, joules: npt.NDArray[np.float64]) -> Tree:
    """Fit a tree to all examples, and a tree to each type of device with enough examples for two leaves."""
    trees = [train(features, joules)]
    nodes = len(trees[0].feature)
    for device, count in zip(*np.unique(devices, return_counts=True), strict=True):
        if count < 2 * OWN_FEWEST:
            continue
        rows = devices == device
        tree = train(features[rows], joules[rows], OWN_DEEPEST, OWN_FEWEST)
        inner = tree.feature != LEAF
        trees.append(
            replace(
                tree,
                device=np.full(len(inner), device),
                left=np.where(inner, tree.left + nodes, 0),
                right=np.where(inner, tree.right + nodes, 0),
            )
        )
        nodes += len(inner)
    return Tree(**{name: np.concatenate([getattr(t, name) for t in trees]) for name in NAMES})


@click.command()
@click.argument("dataset")
@click.option("--days", default=DAYS, help="Days for training; later days are for testing.")
@click.option("--to", default=PATH, type=click.Path(path_type=Path), help="The file to write.")
def main(dataset: str, days: int, to: Path) -> None:
    """Train the trees on a dataset of the catalogue, and print their errors on the later days."""
    entry = Catalog.default().get(dataset)
    if entry.workload != INPUT:
        raise click.UsageError(
            f"dataset {dataset} is for {entry.workload}; give a dataset for {INPUT}"
        )
    seconds = loads(readings(entry.load()), int(QUERY["longest_gap_s"].default))
    selected, features, joules = examples(seconds)
    day = seconds.second // SECONDS_A_DAY - seconds.second.min() // SECONDS_A_DAY
    training, testing = selected & (day < days), selected & (day >= days)
    tree = train_by_device(seconds.device[training], features[training], joules[training])
    write_tree(tree, to)
    click.echo(f"{np.count_nonzero(training):,} examples, {len(tree.feature)} nodes: {to}")
    guesses = {
        "the trees": apply_tree(seconds, tree, DEEPEST),
        "one tree": apply_tree(
            seconds, replace(tree, device=np.full_like(tree.device, OTHERS)), DEEPEST
        ),
        "ten times the last minute": seconds.minute_mj / 100,
        "the current load": seconds.load_mw * PREDICTED_S / 1000,
    }
    for name, guess in guesses.items():
        errors = (guess - joules)[testing]
        spread = joules[testing] - joules[testing].mean()
        r2 = 1 - np.sum(errors**2) / np.sum(spread**2)
        click.echo(f"{name}: R2 {r2:.3f}, mean error {np.abs(errors).mean():,.0f} J")


if __name__ == "__main__":
    main()
