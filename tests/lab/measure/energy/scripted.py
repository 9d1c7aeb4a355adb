"""A provider with scripted readings and its own clock."""

from dataclasses import dataclass, field

from streamlab.lab.measure.energy.provider import Domain, Reading, Unusable

RANGE_UJ = 262_143_328_850
SECOND = 10**9


def steady(watts, seconds, *, hz=10, start_uj=None, failed=()):
    """Readings of counters that take constant watts by domain; `failed` gives indices without."""
    start_uj = start_uj or {}
    return [
        Reading(
            time_ns=i * SECOND // hz,
            counters_uj={
                name: (start_uj.get(name, 0) + round(w * 1e6 * i / hz)) % RANGE_UJ
                for name, w in watts.items()
                if i not in failed
            },
            failed={name: "gone" for name in watts if i in failed},
        )
        for i in range(round(seconds * hz) + 1)
    ]


@dataclass(kw_only=True)
class Scripted:
    """Gives one reading per `read`; what is left comes at the end."""

    readings: list[Reading]
    range_uj: int | None = RANGE_UJ
    remarks: tuple[str, ...] = ()
    reason: str | None = None
    name: str = "scripted"
    closed: int = 0
    left: list[Reading] = field(default_factory=list)

    def open(self):
        if self.reason is not None:
            return Unusable(reason=self.reason)
        self.left = list(self.readings)
        return self

    @property
    def domains(self):
        names = dict.fromkeys(name for r in self.readings for name in (*r.counters_uj, *r.failed))
        return tuple(Domain(name=name, range_uj=self.range_uj) for name in names)

    def read(self):
        return (self.left.pop(0),) if self.left else ()

    def close(self):
        self.closed += 1
        rest, self.left = self.left, []
        return rest
