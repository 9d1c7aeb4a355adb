"""Defines the options of the Flink engine and their defaults."""

from collections.abc import Mapping

from streamlab.engines.protocol import Task

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "state": ("heap", "rocksdb"),
    "service": ("rmi", "memory"),
}
_NUMBERS: Mapping[str, tuple[int, int]] = {
    "buffer_timeout_ms": (-1, 100),
    "heap_mb": (0, 0),
    "managed_memory_mb": (16, 128),
    "warm_up_events": (0, 1_000_000),
    "warm_up_rounds": (0, 2),
}
"""By option, the least value and the default."""

LOAD_BUFFER_TIMEOUT_MS = 1
"""Flink's default of 100 ms would become the latency of a load that does not fill buffers."""

OPTIONS = (*_CHOICES, *_NUMBERS)


def wrong(variant: str, options: Mapping[str, object]) -> str | None:
    """Return what is wrong with options, or None."""
    for name, value in options.items():
        if name in _CHOICES:
            if value not in _CHOICES[name]:
                choices = ", ".join(_CHOICES[name])
                return f"option {name} of flink is {value!r}; use one of {choices}"
        elif name in _NUMBERS:
            least = _NUMBERS[name][0]
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                return f"option {name} of flink is {value!r}; use an integer of at least {least}"
        else:
            return f"engine flink has no option {name!r}; it has {', '.join(OPTIONS)}"
    if variant == "manual" and options.get("state") == "rocksdb":
        return (
            "variant manual of flink stores its state in fields of tasks, as the paper's programs "
            "do; remove option state"
        )
    if variant == "automatic" and "service" in options:
        return "option service of flink is for variant manual only; remove it"
    return None


def option(task: Task, name: str) -> object:
    """Return an option's value, or its default."""
    if name in task.options:
        return task.options[name]
    if name == "buffer_timeout_ms" and task.load is not None:
        return LOAD_BUFFER_TIMEOUT_MS
    return _CHOICES[name][0] if name in _CHOICES else _NUMBERS[name][1]
