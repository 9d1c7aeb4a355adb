"""Detects frauds with a model that every rule retrains (DGS paper, section 4.1, appendix E).

A transaction is fraudulent when it is congruent modulo 1000 to the sum of the previous aggregate
and the last rule. Before the first rule both are 0.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import DGSProgram, ForkJoin, StateType, Tag

TRANSACTION, RULE = 0, 1
FRAUD, AGGREGATE = 0, 1
MODULUS = 1000


def depends(a: Tag, b: Tag) -> bool:
    """Return whether either event is a rule; transactions do not depend on each other."""
    return a.kind == RULE or b.kind == RULE


def init(state: Any) -> None:
    """Start without transactions and with the model 0."""
    state.sum = 0
    state.model = 0
    state.rules = 0


def update(state: Any, event: Any, out: Any) -> None:
    """Check and add a transaction; on a rule emit the aggregate and retrain the model."""
    if event.kind == TRANSACTION:
        if event.value % MODULUS == state.model:
            out.emit(event.ts, FRAUD, event.value)
        state.sum += event.value
    else:
        out.emit(event.ts, AGGREGATE, state.sum)
        state.model = (state.sum + event.value) % MODULUS
        state.sum = 0
        state.rules += 1


def fork(state: Any, pred1: Any, pred2: Any, first: Any, second: Any) -> None:
    """Copy the model to both parts; the aggregate goes to the part that may see rules."""
    first.model = state.model
    second.model = state.model
    first.rules = state.rules
    second.rules = state.rules
    if pred2[RULE]:
        second.sum = state.sum
    else:
        first.sum = state.sum


def join(first: Any, second: Any, state: Any) -> None:
    """Add the aggregates and keep the newer model, from the part with more rules."""
    state.sum = first.sum + second.sum
    if second.rules > first.rules:
        state.model = second.model
        state.rules = second.rules
    else:
        state.model = first.model
        state.rules = first.rules


PROGRAM = DGSProgram(
    name="fraud_detection",
    kinds=("transaction", "rule"),
    event=np.dtype([("value", np.int64)]),
    output=np.dtype([("ts", np.int64), ("kind", np.int8), ("value", np.int64)]),
    depends=depends,
    states=(
        StateType(
            name="model",
            dtype=np.dtype([("sum", np.int64), ("model", np.int64), ("rules", np.int64)]),
            update=update,
        ),
    ),
    init=init,
    parallel=(ForkJoin(parent="model", first="model", second="model", fork=fork, join=join),),
)
