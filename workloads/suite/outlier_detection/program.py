"""Detects outliers in mixed attributes (DGS paper, appendix A.1; Otey et al. 2006, Reloaded).

A connection belongs to the 28 *itemsets* of one or two of its categorical values. For each itemset
the model has its support and, for each continuous feature, mean and deviation. An itemset counts
against a connection if it is rare, or if more than DELTA of the features lie further than TAU
deviations from the mean. It then adds 1 / (its size) to the connection's *score*, which is in half
points. A connection is an outlier if its score is above SCORE_FACTOR times the mean score of the
normal connections of the last WINDOW checks.

- Connections are judged by the model of the last check and counted separately from it. Connections that
  seem outliers are *potential* outliers. The MAX_CANDIDATES with the highest scores are stored as
  *candidates*.
- A check adds the counts since the last check to the model and judges the candidates again by the new
  model. It emits those that still are outliers, then the numbers of connections and of potential
  outliers.

Connections only change sums, maxima and the beginning of a sorted list, so their order and leaf do
not matter. Decision 0024 lists the differences from the paper.
"""

import math
from typing import Any

import numpy as np

from streamlab.workloads.inputs.connections.schema import (
    CATEGORICAL,
    CHECK,
    COMBINATIONS,
    CONNECTION,
    CONTINUOUS,
    EVENT,
    KINDS,
)
from streamlab.workloads.model import DGSProgram, ForkJoin, StateType, Tag
from streamlab.workloads.model.arrays import copy
from streamlab.workloads.suite.outlier_detection.features import read_features

OUTLIER, SUMMARY = 0, 1

TAU = 1.96
DELTA = 0.3
SCORE_FACTOR = 10
WINDOW = 40
SUPPORT = 10
"""The parameters of Otey et al., as the DGS authors set them. Itemsets below SUPPORT are rare."""

MAX_CANDIDATES = 64
"""Maximum number of potential outliers that are stored until the next check."""

VALUES, FEATURES = len(CATEGORICAL), len(CONTINUOUS)
SLOTS = VALUES * (VALUES + 1) // 2
"""Itemsets of one connection: one for each value and each pair of values."""

ITEMSETS = 1024
"""Capacity of a model for itemsets with enough support; further itemsets count as rare. The KDD file
has 621."""

MAX_FAR = int(DELTA * FEATURES)
"""Largest number of features outside their usual ranges with which an itemset does not count."""
HEAD = 4
WIDTH = HEAD + FEATURES
"""Columns of a candidate: negated score, time, row, combination, features. The list is sorted by these
columns, in this order."""

_LOWEST, _HIGHEST = -(2**15), 2**15 - 1

MODEL = np.dtype(
    [
        # For judging connections: only checks change it, and it is the same in every part.
        ("checks", np.int64),
        ("mean_count", np.int64),
        ("mean_score", np.int64),
        ("past_count", np.int64, (WINDOW,)),
        ("past_score", np.int64, (WINDOW,)),
        ("itemset", np.int16, (COMBINATIONS * SLOTS,)),  # number from 1; 0 means rare
        ("low", np.int32, (ITEMSETS * FEATURES,)),
        ("high", np.int32, (ITEMSETS * FEATURES,)),
        # Values of every combination so far, as maxima: the same in every part that has them.
        ("combinations", np.int64),
        ("values", np.int16, (COMBINATIONS * VALUES,)),
        # All connections up to the last check, in one part.
        ("all_support", np.int64, (COMBINATIONS,)),
        ("all_sums", np.int64, (COMBINATIONS * FEATURES,)),
        ("all_squares", np.int64, (COMBINATIONS * FEATURES,)),
        # Connections since the last check, each in the part that processed it.
        ("support", np.int64, (COMBINATIONS,)),
        ("sums", np.int64, (COMBINATIONS * FEATURES,)),
        ("squares", np.int64, (COMBINATIONS * FEATURES,)),
        ("connections", np.int64),
        ("count", np.int64),
        ("score", np.int64),
        ("potential", np.int64),
        ("candidates", np.int64),
        ("list", np.int64, ((MAX_CANDIDATES + 1) * WIDTH,)),  # the last row is for insertions
        # Zero between events.
        ("x", np.int32, (FEATURES,)),
        ("itemset_sums", np.int64, (FEATURES,)),
        ("itemset_squares", np.int64, (FEATURES,)),
    ]
)


def depends(a: Tag, b: Tag) -> bool:
    """Return whether either event is a check; connections do not depend on each other."""
    return a.kind == CHECK or b.kind == CHECK


def init(state: Any) -> None:
    """Start without a model; outliers need two checks."""


def update(state: Any, event: Any, out: Any) -> None:
    """Judge and count a connection; on a check, learn and emit the outliers."""
    if event.kind == CONNECTION:
        combination = min(max(event.combination, 0), COMBINATIONS - 1)
        read_features(event, state.x)
        if state.checks > 0:
            judge(state, event, combination)
        count(state, event, combination)
        for i in range(FEATURES):
            state.x[i] = 0
    else:
        learn(state)
        emit_outliers(state, event, out)


def judge(state: Any, event: Any, combination: int) -> None:
    """Score a connection; store it if it seems an outlier, else add it to the mean score."""
    score = score_of(state, combination)
    if is_outlier(state, score):
        state.potential += 1
        last = MAX_CANDIDATES * WIDTH
        state.list[last] = -score
        state.list[last + 1] = event.ts
        state.list[last + 2] = event.row
        state.list[last + 3] = combination
        for i in range(FEATURES):
            state.list[last + HEAD + i] = state.x[i]
        insert_candidate(state)
    else:
        state.count += 1
        state.score += score


def score_of(state: Any, combination: int) -> int:
    """Return the score, in half points, of the features in `x` with these categorical values."""
    score = 0
    slot = combination * SLOTS
    for a in range(VALUES):
        for b in range(a, VALUES):
            itemset = state.itemset[slot]
            slot += 1
            if itemset == 0 or count_far_features(state, (itemset - 1) * FEATURES) > MAX_FAR:
                score += 2 if a == b else 1
    return score


def next_pair(a: int, b: int) -> tuple[int, int]:
    """Return the pair of values after another pair, in the order of slots."""
    return (a, b + 1) if b + 1 < VALUES else (a + 1, a + 1)


def count_far_features(state: Any, first: int) -> int:
    """Return how many features lie outside the usual range of an itemset."""
    far = 0
    for i in range(FEATURES):
        far += (state.x[i] < state.low[first + i]) | (state.x[i] > state.high[first + i])
    return far


def is_outlier(state: Any, score: int) -> bool:
    """Return whether a score is far above the mean score of normal connections."""
    return bool(state.mean_count > 0 and score * state.mean_count > SCORE_FACTOR * state.mean_score)


def count(state: Any, event: Any, combination: int) -> None:
    """Add a connection to the counts since the last check."""
    state.connections += 1
    state.combinations = max(state.combinations, combination + 1)
    first = combination * VALUES
    state.values[first] = max(state.values[first], event.protocol_type)
    state.values[first + 1] = max(state.values[first + 1], event.service)
    state.values[first + 2] = max(state.values[first + 2], event.flag)
    state.values[first + 3] = max(state.values[first + 3], event.land)
    state.values[first + 4] = max(state.values[first + 4], event.logged_in)
    state.values[first + 5] = max(state.values[first + 5], event.is_host_login)
    state.values[first + 6] = max(state.values[first + 6], event.is_guest_login)
    state.support[combination] += 1
    begin = combination * FEATURES
    for i in range(FEATURES):
        state.sums[begin + i] += state.x[i]
        state.squares[begin + i] += state.x[i] * state.x[i]


def insert_candidate(state: Any) -> None:
    """Insert the last row of the list in order; drop the last entry if the list is full."""
    last = MAX_CANDIDATES * WIDTH
    if state.candidates < MAX_CANDIDATES or precedes(state.list, last, state.list, last - WIDTH):
        if state.candidates < MAX_CANDIDATES:
            state.candidates += 1
        row = (state.candidates - 1) * WIDTH
        while row > 0 and precedes(state.list, last, state.list, row - WIDTH):
            copy_row(state.list, row - WIDTH, state.list, row)
            row -= WIDTH
        copy_row(state.list, last, state.list, row)
    for i in range(WIDTH):
        state.list[last + i] = 0


def precedes(first: Any, first_row: int, second: Any, second_row: int) -> bool:
    """Return whether a row of one list precedes a row of another list."""
    for i in range(WIDTH):
        if first[first_row + i] != second[second_row + i]:
            return bool(first[first_row + i] < second[second_row + i])
    return False


def copy_row(source: Any, source_row: int, target: Any, target_row: int) -> None:
    """Copy a row of one list to a row of another list."""
    for i in range(WIDTH):
        target[target_row + i] = source[source_row + i]


def learn(state: Any) -> None:
    """Add the counts since the last check to the model."""
    for combination in range(state.combinations):
        if state.support[combination] > 0:
            state.all_support[combination] += state.support[combination]
            state.support[combination] = 0
            for i in range(combination * FEATURES, (combination + 1) * FEATURES):
                state.all_sums[i] += state.sums[i]
                state.all_squares[i] += state.squares[i]
                state.sums[i] = 0
                state.squares[i] = 0
    # A single loop, because nested loops would be unrolled, which doubles the time of compilation.
    itemsets = a = b = 0
    for slot in range(SLOTS):
        for combination in range(state.combinations):
            itemsets = learn_itemset(state, combination, a, b, slot, itemsets)
        a, b = next_pair(a, b)
    learn_mean(state)
    state.checks += 1


def learn_itemset(state: Any, combination: int, a: int, b: int, slot: int, itemsets: int) -> int:
    """Set the itemset of two values of a combination, a new one if needed; return the number of itemsets so far."""
    state.itemset[combination * SLOTS + slot] = 0
    if state.all_support[combination] == 0:
        return itemsets
    for earlier in range(combination):
        if state.all_support[earlier] > 0 and same_values(state, earlier, combination, a, b):
            state.itemset[combination * SLOTS + slot] = state.itemset[earlier * SLOTS + slot]
            return itemsets
    support = 0
    for other in range(combination, state.combinations):
        if state.all_support[other] > 0 and same_values(state, other, combination, a, b):
            support += state.all_support[other]
            for i in range(FEATURES):
                state.itemset_sums[i] += state.all_sums[other * FEATURES + i]
                state.itemset_squares[i] += state.all_squares[other * FEATURES + i]
    if support >= SUPPORT and itemsets < ITEMSETS:
        learn_features(state, support, itemsets * FEATURES)
        itemsets += 1
        state.itemset[combination * SLOTS + slot] = itemsets
    for i in range(FEATURES):
        state.itemset_sums[i] = 0
        state.itemset_squares[i] = 0
    return itemsets


def same_values(state: Any, combination: int, other: int, a: int, b: int) -> bool:
    """Return whether two combinations have the same values of two categorical features."""
    first, second = combination * VALUES, other * VALUES
    return bool(
        state.values[first + a] == state.values[second + a]
        and state.values[first + b] == state.values[second + b]
    )


def learn_features(state: Any, support: int, first: int) -> None:
    """Compute the usual range of each feature of an itemset, as whole numbers.

    Sums are exact, followed by single IEEE 754 operations, so every machine gets the same result.
    """
    for i in range(FEATURES):
        mean = float(state.itemset_sums[i]) / float(support)
        variance = float(state.itemset_squares[i]) / float(support) - mean * mean
        reach = TAU * math.sqrt(max(variance, 0.0))
        state.low[first + i] = max(_LOWEST, math.ceil(mean - reach))
        state.high[first + i] = min(_HIGHEST, math.floor(mean + reach))


def learn_mean(state: Any) -> None:
    """Add the scores since the last check to the window, and remove the oldest."""
    place = state.checks % WINDOW
    state.mean_count += state.count - state.past_count[place]
    state.mean_score += state.score - state.past_score[place]
    state.past_count[place] = state.count
    state.past_score[place] = state.score
    state.count = 0
    state.score = 0


def emit_outliers(state: Any, event: Any, out: Any) -> None:
    """Judge the candidates by the new model; emit outliers and a summary."""
    for index in range(state.candidates):
        row = index * WIDTH
        for i in range(FEATURES):
            state.x[i] = state.list[row + HEAD + i]
        score = score_of(state, state.list[row + 3])
        if is_outlier(state, score):
            out.emit(event.ts, OUTLIER, state.list[row + 2], score)
        for i in range(WIDTH):
            state.list[row + i] = 0
    for i in range(FEATURES):
        state.x[i] = 0
    out.emit(event.ts, SUMMARY, state.connections, state.potential)
    state.connections = 0
    state.potential = 0
    state.candidates = 0


def fork(state: Any, pred1: Any, pred2: Any, first: Any, second: Any) -> None:
    """Copy the model to both parts; give all counts to the part that may see checks."""
    share(state, first)
    share(state, second)
    if pred2[CHECK]:
        hand_over(state, second)
    else:
        hand_over(state, first)


def share(state: Any, part: Any) -> None:
    """Copy from `state` to `part` the fields by which connections are judged."""
    part.checks = state.checks
    part.mean_count = state.mean_count
    part.mean_score = state.mean_score
    copy(state.past_count, part.past_count)
    copy(state.past_score, part.past_score)
    copy(state.itemset, part.itemset)
    copy(state.low, part.low)
    copy(state.high, part.high)
    part.combinations = state.combinations
    copy(state.values, part.values)


def hand_over(state: Any, part: Any) -> None:
    """Copy from `state` to `part` the counts, which only one part may have."""
    copy(state.all_support, part.all_support)
    copy(state.all_sums, part.all_sums)
    copy(state.all_squares, part.all_squares)
    copy(state.support, part.support)
    copy(state.sums, part.sums)
    copy(state.squares, part.squares)
    part.connections = state.connections
    part.count = state.count
    part.score = state.score
    part.potential = state.potential
    part.candidates = state.candidates
    copy(state.list, part.list)


def join(first: Any, second: Any, state: Any) -> None:
    """Keep the newer model, add the counts, and merge the potential outliers."""
    if second.checks > first.checks:
        share(second, state)
    else:
        share(first, state)
    hand_over(first, state)
    state.combinations = max(first.combinations, second.combinations)
    for i in range(state.combinations * VALUES):
        state.values[i] = max(first.values[i], second.values[i])
    for combination in range(second.combinations):
        begin, end = combination * FEATURES, (combination + 1) * FEATURES
        if second.all_support[combination] > 0:
            state.all_support[combination] += second.all_support[combination]
            for i in range(begin, end):
                state.all_sums[i] += second.all_sums[i]
                state.all_squares[i] += second.all_squares[i]
        if second.support[combination] > 0:
            state.support[combination] += second.support[combination]
            for i in range(begin, end):
                state.sums[i] += second.sums[i]
                state.squares[i] += second.squares[i]
    state.connections += second.connections
    state.count += second.count
    state.score += second.score
    state.potential += second.potential
    for index in range(second.candidates):
        copy_row(second.list, index * WIDTH, state.list, MAX_CANDIDATES * WIDTH)
        insert_candidate(state)


PROGRAM = DGSProgram(
    name="outlier_detection",
    kinds=KINDS,
    event=EVENT,
    output=np.dtype(
        [("ts", np.int64), ("kind", np.int8), ("connection", np.int64), ("score", np.int64)]
    ),
    depends=depends,
    states=(StateType(name="model", dtype=MODEL, update=update),),
    init=init,
    parallel=(ForkJoin(parent="model", first="model", second="model", fork=fork, join=join),),
    max_outputs_per_event=MAX_CANDIDATES + 1,
)
