"""Simulates synchronization plans on cores and machines. Pure: nothing is measured here."""

from lab.project.simulation.machine import Machine, Network
from lab.project.simulation.run import Simulated, simulate
from lab.project.simulation.work import Work, require_simulated, work_of

__all__ = ["Machine", "Network", "Simulated", "Work", "require_simulated", "simulate", "work_of"]
