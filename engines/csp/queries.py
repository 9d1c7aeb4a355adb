"""Computes each DGS workload in csp: one node in Python keeps the state; all other nodes are in C++.

csp's own nodes would be inexact or slower: `csp.stats.sum` adds floats, a sum by `csp.feedback` takes a second engine
cycle for each event, and `csp.demultiplex` needs an edge for each key.
"""

import csp
from csp import ts

from streamlab.engines.csp.graph import Events, Part, graph_of
from streamlab.workloads.suite.event_window.program import BARRIER, VALUE
from streamlab.workloads.suite.fraud_detection.program import (
    AGGREGATE,
    FRAUD,
    MODULUS,
    RULE,
    TRANSACTION,
)
from streamlab.workloads.suite.keyed_counter.program import INCREMENT, READ_RESET
from streamlab.workloads.suite.page_view_join.program import NO_USER, UPDATE, VIEW


@csp.node
def sum_between(value: ts[int], barrier: ts[int]) -> ts[int]:
    """Sum values; at a barrier output the sum and start over."""
    with csp.state():
        s_sum = 0
    if csp.ticked(value):
        s_sum += value
    if csp.ticked(barrier):
        csp.output(s_sum)
        s_sum = 0


@csp.node
def count_keys(increment: ts[int], reset: ts[int]) -> ts[int]:
    """Count increments by key; at a reset output the count of its key and start over."""
    with csp.state():
        s_counts = {}
    if csp.ticked(increment):
        s_counts[increment] = s_counts.get(increment, 0) + 1
    if csp.ticked(reset):
        csp.output(s_counts.pop(reset, 0))


@csp.node
def detect(transaction: ts[int], rule: ts[int]) -> csp.Outputs(fraud=ts[int], aggregate=ts[int]):
    """Output transactions that are congruent to the model; at a rule output the sum and make a new model."""
    with csp.state():
        s_sum = 0
        s_model = 0
    if csp.ticked(transaction):
        if transaction % MODULUS == s_model:
            csp.output(fraud=transaction)
        s_sum += transaction
    if csp.ticked(rule):
        csp.output(aggregate=s_sum)
        s_model = (s_sum + rule) % MODULUS
        s_sum = 0


@csp.node
def join_metadata(view: ts[int], update: ts[int], meta: ts[int]) -> csp.Outputs(
    viewed=ts[int], replaced=ts[int]
):
    """Output the metadata of each viewed page, and at an update the metadata that it replaces."""
    with csp.state():
        s_meta = {}
    if csp.ticked(view):
        csp.output(viewed=s_meta.get(view, 0))
    if csp.ticked(update):
        csp.output(replaced=s_meta.get(update, 0))
        s_meta[update] = meta


@graph_of
def event_window(events: Events) -> list[Part]:
    """Return one sum per barrier."""
    return [{"sum": sum_between(events.field(VALUE, "value"), events.keys(BARRIER))}]


@graph_of
def keyed_counter(events: Events) -> list[Part]:
    """Return one count per reset."""
    resets = events.keys(READ_RESET)
    return [{"key": resets, "count": count_keys(events.keys(INCREMENT), resets)}]


@graph_of
def fraud_detection(events: Events) -> list[Part]:
    """Return frauds, and one aggregate per rule."""
    detected = detect(events.field(TRANSACTION, "value"), events.field(RULE, "value"))
    return [
        {"kind": FRAUD, "value": detected.fraud},
        {"kind": AGGREGATE, "value": detected.aggregate},
    ]


@graph_of
def page_view_join(events: Events) -> list[Part]:
    """Return views with the metadata of their pages, and updates with the metadata that they replace."""
    views, updates = events.keys(VIEW), events.keys(UPDATE)
    joined = join_metadata(views, updates, events.field(UPDATE, "meta"))
    users = events.field(VIEW, "user")
    return [
        {"kind": VIEW, "page": views, "user": users, "meta": joined.viewed},
        {"kind": UPDATE, "page": updates, "user": NO_USER, "meta": joined.replaced},
    ]
