"""Compares the machines of two runs: fields that decide speed must agree, other differences are only noted.

Reads the `host` of run.json, which `streamlab.lab.runner.provenance` writes.
"""

from dataclasses import dataclass
from math import isclose

from streamlab.json_value import JsonObject, JsonValue

Host = JsonObject

EXACT = (
    "cpu_model",
    "architecture",
    "cores_usable",
    "governor",
    "turbo_off",
    "smt",
    "virtualised",
)
"""Fields that decide speed and have few values."""

QUOTA, LIMIT, MEMORY = "cpu_quota_cores", "memory_limit_bytes", "memory_bytes"

TOLERANCE = {QUOTA: 1e-3, MEMORY: 0.02, LIMIT: 0.02}
"""Relative tolerances of sizes that decide speed.
A quota is rounded to whole microseconds per period.
Kernels and firmware reserve some tenths of a percent of the memory; the amount changes with each update.
The next larger machine or memory module has at least a tenth more."""

NOT_RECORDED = "not recorded"
"""The value of a field that an older lab did not write."""

_IGNORED = "loadavg"
"""The load average is not a property of a machine; each trial records it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of the host in which two machines differ, with both values."""

    name: str
    old: JsonValue
    new: JsonValue

    def __str__(self) -> str:
        return f"host.{self.name} is {self.old!r} in A, {self.new!r} in B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """How the machines of two runs differ.

    Attributes:
        decisive: differences that decide speed; with any, the results are not comparable.
        notes: all other differences.
    """

    decisive: tuple[Field, ...]
    notes: tuple[Field, ...]

    @property
    def same(self) -> bool:
        """Whether results of both machines are comparable."""
        return not self.decisive


def compare_machines(old: Host, new: Host) -> Machines:
    """Return how the machines of two runs differ; all comparisons use this rule.

    A field that only one run records is a note, except a limit. A limit that only one run records is
    decisive, since the other run may have had no limit.
    """
    before, after = _effective_fields(old), _effective_fields(new)
    decisive: list[Field] = []
    notes: list[Field] = []
    for name in dict.fromkeys((*before, *after)):
        field = Field(name=name, old=before.get(name), new=after.get(name))
        if field.old != field.new:
            (decisive if _is_decisive(field) else notes).append(field)
        elif old.get(name) != new.get(name) and name in old and name in new:
            # Different limits, which have no effect on either machine.
            notes.append(Field(name=name, old=old[name], new=new[name]))
    return Machines(decisive=tuple(decisive), notes=tuple(notes))


def exact_fields(host: Host) -> dict[str, JsonValue]:
    """Return the fields that identify a machine in stored measurements: EXACT and the CPU quota."""
    effective = _effective_fields(host)
    return {name: effective[name] for name in (*EXACT, QUOTA)}


def usable_cores(host: Host) -> float | None:
    """Return the number of cores that a run could use: its CPU quota if it has one; None if not recorded."""
    cores, quota = host.get("cores_usable"), _effective_fields(host)[QUOTA]
    if isinstance(quota, int | float):
        return float(quota)
    return cores if isinstance(cores, int | float) else None


def _is_decisive(field: Field) -> bool:
    values = (field.old, field.new)
    if field.name in EXACT:
        return NOT_RECORDED not in values
    if field.name not in TOLERANCE:
        return False
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) == 2:
        return not isclose(*numbers, rel_tol=TOLERANCE[field.name])
    return field.name != MEMORY and bool(numbers)


def _effective_fields(host: Host) -> dict[str, JsonValue]:
    """Return the fields of a host, with None for ineffective limits and NOT_RECORDED for missing fields."""
    decisive = {name: host.get(name, NOT_RECORDED) for name in (*EXACT, MEMORY)}
    limits = {
        QUOTA: _effective_limit(host, QUOTA, host.get("cores_usable")),
        LIMIT: _effective_limit(host, LIMIT, host.get(MEMORY)),
    }
    recorded = {name: value for name, value in host.items() if name != _IGNORED}
    return {**decisive, **limits, **{k: v for k, v in recorded.items() if k not in limits}}


def _effective_limit(host: Host, name: str, capacity: JsonValue) -> JsonValue:
    value = host.get(name, NOT_RECORDED)
    is_ineffective = isinstance(value, int | float) and (
        isinstance(capacity, int | float) and value >= capacity * (1 - TOLERANCE[name])
    )
    return None if is_ineffective else value
