"""Defines the errors of engines. `lab/errors.py` shows the whole error tree."""


class EngineError(Exception):
    """An engine cannot do something; the message names it and the remedy."""


class UnsupportedError(EngineError):
    """The engine cannot run a workload, variant or option; the message is the reason that users see."""


class EngineCrashError(EngineError):
    """The engine failed while it ran."""


class OutOfMemoryError(EngineCrashError, MemoryError):
    """The engine ran out of memory; the message says where."""
