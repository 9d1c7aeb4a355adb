"""Errors of the engines. The whole tree is drawn in `lab/errors.py`."""


class EngineError(Exception):
    """An engine could not do what was asked; the message says what and how to go on."""


class UnsupportedError(EngineError):
    """The engine cannot run this workload, variant or option; the message is the reason shown."""


class EngineCrashError(EngineError):
    """The engine failed while it ran."""


class OutOfMemoryError(EngineCrashError, MemoryError):
    """The engine ran out of memory; the message says where."""
