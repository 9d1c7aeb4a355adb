"""Optimizers: named plug-ins that choose the synchronization plan of a program."""

from streamlab.workloads.optimizers.registry import DEFAULT, choose, names
from streamlab.workloads.optimizers.request import Choice, Costs, Optimizer, PlanRequest

__all__ = ["DEFAULT", "Choice", "Costs", "Optimizer", "PlanRequest", "choose", "names"]
