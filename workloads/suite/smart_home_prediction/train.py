"""Trains the tree: `python -m streamlab.workloads.suite.smart_home_prediction.train DATASET`.

It has been trained on the first four days of tracebase's week (2012-01-16 to 19), all 30 types of
devices together, on every 30th second for which the next ten minutes are known: by scikit-learn,
least squares, at most 12 levels, at least 200 examples a leaf. WEKA's REPTree, which the paper
takes, would prune it by held-out examples; here the size of leaves keeps it from learning by heart.
Contains information from the tracebase data set, made available under the Open Database License.

Whoever trains another one (`--to FILE`) has another workload: answers change.
"""

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
from streamlab.workloads.suite.smart_home_prediction.oracle import predicted
from streamlab.workloads.suite.smart_home_prediction.tree import DEEPEST, PATH, Tree, write_tree

AHEAD_S = 600
EVERY_S = 30
DAYS = 4
FEWEST = 200
"""Examples of a leaf."""


def examples(found: Loads) -> tuple[npt.NDArray[np.bool_], Ints, npt.NDArray[np.float64]]:
    """Return which rows are examples, the features of all rows, and the joules of ten minutes."""
    rows = np.arange(len(found.second))
    last = np.minimum(rows + AHEAD_S, len(rows) - 1)
    whole = (found.device[last] == found.device) & (found.second[last] == found.second + AHEAD_S)
    upto = np.cumsum(found.load_mw)
    features = np.stack([found.second % SECONDS_A_DAY, found.load_mw, found.minute_mj], axis=1)
    return whole & (found.second % EVERY_S == 0), features, (upto[last] - upto) / 1000


def train(features: Ints, joules: npt.NDArray[np.float64]) -> Tree:
    """Return the tree for some examples."""
    from sklearn.tree import DecisionTreeRegressor

    model: Any = DecisionTreeRegressor(
        max_depth=DEEPEST, min_samples_leaf=FEWEST, random_state=0
    ).fit(features, joules)
    made = model.tree_
    inner = made.children_left >= 0
    # Features are whole numbers: up to a threshold is up to the whole number below.
    return Tree(
        feature=np.where(inner, made.feature, -1).astype(np.int64),
        threshold=np.where(inner, np.floor(made.threshold), 0).astype(np.int64),
        left=np.where(inner, made.children_left, 0).astype(np.int64),
        right=np.where(inner, made.children_right, 0).astype(np.int64),
        next_10_min_j=np.floor(made.value[:, 0, 0] + 0.5).astype(np.int64),
    )


@click.command()
@click.argument("dataset")
@click.option("--days", default=DAYS, help="So many days are trained on, the others tested.")
@click.option("--to", default=PATH, type=click.Path(path_type=Path), help="The file to write.")
def main(dataset: str, days: int, to: Path) -> None:
    """Train the tree on a dataset of the catalogue, and say how good it is on the days behind."""
    found_by = Catalog.default().get(dataset)
    if found_by.workload != INPUT:
        raise click.UsageError(f"dataset {dataset} is of {found_by.workload}, not of {INPUT}")
    found = loads(readings(found_by.load()), int(QUERY["longest_gap_s"].default))
    chosen, features, joules = examples(found)
    day = (found.second - found.second.min() // SECONDS_A_DAY * SECONDS_A_DAY) // SECONDS_A_DAY
    learnt, tested = chosen & (day < days), chosen & (day >= days)
    tree = train(features[learnt], joules[learnt])
    write_tree(tree, to)
    click.echo(f"{np.count_nonzero(learnt):,} examples, {len(tree.feature)} nodes: {to}")
    guesses = {
        "the tree": predicted(found, tree, DEEPEST),
        "ten times the last minute": found.minute_mj / 100,
        "the load as it is": found.load_mw * AHEAD_S / 1000,
    }
    for name, guess in guesses.items():
        wrong = (guess - joules)[tested]
        spread = joules[tested] - joules[tested].mean()
        explained = 1 - np.sum(wrong**2) / np.sum(spread**2)
        click.echo(f"{name}: R2 {explained:.3f}, mean error {np.abs(wrong).mean():,.0f} J")


if __name__ == "__main__":
    main()
