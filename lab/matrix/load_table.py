"""Reads the `load` key of a matrix: one `[load]` table, or several `[[load]]` tables.

[[load]]
mode = "open"                  # or "catch-up"; implied by arrival or rate_eps
arrival = "poisson"            # constant (default), poisson, bursts, replay, phases, step
rate_eps = [100_000, 1e6]      # events/s over all streams; a number or a list; not with replay
warm_up_s = 10                 # not part of the measured latency
window_s = 60                  # the steady window
seed = 1                       # for poisson and phases
batching = "adaptive"          # or "full"
heartbeat_ms = 1
heartbeats_per_barrier = 100   # instead of heartbeat_ms: heartbeats between two synchronizing events
objective = "p99 <= 10ms"      # p50 p90 p99 p99.9 max; ns us ms s
send_lag_ms = 1                # largest p99 of the generator's lag; not with search
label = "day"                  # last part of the cells' ids
engines = ["multicore/dgs"]    # patterns on `name` or `name/variant`; default: all
workloads = ["event_*"]        # patterns on `name` or `name@label`; default: all
on_s = 0.1                     # bursts: on_s, off_s
off_s = 0.1
speed_up = 10                  # replay: speed_up, tick_ns (ns of one tick of event time,
tick_ns = 1e6                  #   default 1 ms)
min_s = 0.5                    # phases: min_s, max_s, min_factor, max_factor
max_s = 2.0
min_factor = 0.5
max_factor = 1.5
at_s = 30                      # step: at_s (after the start of the warm-up), factor
factor = 2.0
scale = 0.1                    # phases and step: multiplies min_s, max_s, at_s; default 1

[[load]]
search = "sustainable"         # instead of rate_eps; takes the keys above, and:
start_eps = 10_000
tolerance = 0.02
votes = 3
confirmations = 5
levels = [0.1, 0.5, 0.8, 0.9, 0.95]
level_repetitions = 1
max_eps = 1e8
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from streamlab.engines.protocol import ADAPTIVE, BATCHINGS
from streamlab.lab.errors import MatrixError
from streamlab.lab.load.spec import ARRIVALS, CONSTANT, REPLAY, SEND_LAG_MS, SHORTEST_HEARTBEAT_MS
from streamlab.lab.matrix.load_entry import CATCH_UP, OPEN, SEARCH, LoadEntry, SearchSettings
from streamlab.lab.matrix.toml_table import LONGEST_S, REQUIRED, TomlTable, is_finite
from streamlab.lab.measure.latency import EXPECTED, parse_objective

MOST_VOTES = 999
MOST = 1e15
"""Limit for rates, factors and ticks: a microsecond at this rate still fits 64 bits."""

_MAY_BE_ZERO = frozenset({"off_s", "min_factor"})
_ALWAYS = frozenset({"mode", "search", "label", "engines", "workloads"})
_SEARCH_KEYS = tuple(field.name for field in fields(SearchSettings))
_KEYS = (
    *("search", "mode", "label", "engines", "workloads", "arrival", "rate_eps", "warm_up_s"),
    *("window_s", "seed", "batching", "heartbeat_ms", "heartbeats_per_barrier", "objective"),
    "send_lag_ms",
    *dict.fromkeys(name for names in ARRIVALS.values() for name in names),
    *_SEARCH_KEYS,
)
"""All keys of all modes."""


def parse_loads(content: object, source: str) -> tuple[LoadEntry, ...]:
    """Parse the `load` key of a matrix.

    Returns at least one entry: catch-up if the key is absent.

    Raises:
        MatrixError: a key is unknown or does not fit the others, or a value is bad.
    """
    if content is None:
        return (LoadEntry(mode=CATCH_UP),)
    if isinstance(content, Mapping):
        return (_entry(TomlTable(source, "[load]", content), content),)
    if not isinstance(content, list) or not content:
        raise MatrixError(
            f"{source}: top level, key load is {content!r}; expected a [load] table or [[load]] "
            "tables"
        )
    return tuple(
        _entry(TomlTable(source, f"[[load]] {number}", table), table)
        for number, table in enumerate(content, 1)
    )


def _entry(table: TomlTable, content: Mapping[str, Any]) -> LoadEntry:
    # Check this first: an unknown key is often the misspelt form of a key reported as missing below.
    for key, value in content.items():
        if key not in _KEYS:
            raise table.error(key, f"(= {value!r}) is unknown", f"one of {', '.join(_KEYS)}")
    search = table.take("search", f'"{SEARCH}"', lambda v: v == SEARCH, None)
    # All keys outside _ALWAYS belong to open loads.
    implied = OPEN if search or set(content) - _ALWAYS else CATCH_UP
    mode = table.take("mode", f'"{CATCH_UP}" or "{OPEN}"', lambda v: v in (CATCH_UP, OPEN), implied)
    entry: dict[str, Any] = {
        "label": table.label("label"),
        "engines": table.texts("engines"),
        "workloads": table.texts("workloads"),
    }
    if mode == CATCH_UP:
        if search:
            raise table.error("search", f'is {search!r} with mode = "{CATCH_UP}"', f'"{OPEN}"')
        _refuse(table, content, set(content) - _ALWAYS, f'mode = "{OPEN}"')
        table.done()
        return LoadEntry(mode=CATCH_UP, **entry)
    if "heartbeats_per_barrier" in content:
        _refuse(table, content, {"heartbeat_ms"}, "either heartbeat_ms or heartbeats_per_barrier")
    arrival = table.take("arrival", f"one of {', '.join(ARRIVALS)}", _arrival, CONSTANT)
    if search and arrival == REPLAY:
        raise table.error("arrival", f"is {arrival!r}", "an arrival process with a rate")
    if not search:
        _refuse(table, content, set(_SEARCH_KEYS), f'search = "{SEARCH}"')
    if search:
        _refuse(table, content, {"send_lag_ms"}, "rate_eps; a search has its own criteria")
    if search or arrival == REPLAY:
        _refuse(
            table,
            content,
            {"rate_eps"},
            "no rate: a search finds it, and replay has the recorded one",
        )
    else:
        rates = table.take("rate_eps", *_RATES, REQUIRED)
        entry["rates_eps"] = tuple(map(float, rates if isinstance(rates, list) else [rates]))
    entry |= {
        "arrival": arrival,
        "warm_up_s": _number(table, "warm_up_s", 10.0, zero=True),
        "window_s": _number(table, "window_s", 60.0),
        "seed": table.seed("seed", 1),
        "batching": table.take(
            "batching", f"one of {', '.join(BATCHINGS)}", lambda v: v in BATCHINGS, ADAPTIVE
        ),
        "heartbeat_ms": _number(table, "heartbeat_ms", 1.0, least=SHORTEST_HEARTBEAT_MS),
        "heartbeats_per_barrier": _number(table, "heartbeats_per_barrier", None),
        "send_lag_ms": _number(table, "send_lag_ms", SEND_LAG_MS),
        "params": _params(table, content, arrival),
        "objective": table.take("objective", EXPECTED, _objective, None),
    }
    if search:
        entry["search"] = _settings(table)
    table.done()
    return LoadEntry(mode=SEARCH if search else OPEN, **entry)


def _params(table: TomlTable, content: Mapping[str, Any], arrival: str) -> dict[str, float]:
    """Take the parameters of the arrival process; raise an error for those of others."""
    for other, names in ARRIVALS.items():
        if other != arrival:
            foreign = set(names) - set(ARRIVALS[arrival])
            _refuse(table, content, foreign, f'arrival = "{other}"')
    params = {
        name: _number(table, name, default, zero=name in _MAY_BE_ZERO)
        for name, default in ARRIVALS[arrival].items()
    }
    for low, high in (("min_s", "max_s"), ("min_factor", "max_factor")):
        if low in params and params[low] > params[high]:
            raise table.error(
                low, f"is {params[low]:g} and {high} is {params[high]:g}", f"at most {high}"
            )
    return params


def _settings(table: TomlTable) -> SearchSettings:
    default = SearchSettings()
    start_eps = _number(table, "start_eps", default.start_eps)
    return SearchSettings(
        start_eps=start_eps,
        tolerance=table.take(
            "tolerance",
            "a share above 0 and at most 0.5",
            lambda v: is_finite(v) and 0 < v <= 0.5,
            default.tolerance,
        ),
        votes=table.take(
            "votes",
            f"an odd whole number up to {MOST_VOTES}, for a majority",
            lambda v: type(v) is int and 0 < v <= MOST_VOTES and v % 2 == 1,
            default.votes,
        ),
        confirmations=table.integer(
            "confirmations", default.confirmations, minimum=0, maximum=MOST_VOTES
        ),
        levels=tuple(
            table.take(
                "levels",
                "a list of different shares above 0 and at most 1",
                _levels,
                default.levels,
            )
        ),
        level_repetitions=table.integer(
            "level_repetitions", default.level_repetitions, maximum=MOST_VOTES
        ),
        max_eps=_number(table, "max_eps", None, least=start_eps),
    )


def _refuse(table: TomlTable, content: Mapping[str, Any], keys: set[str], expected: str) -> None:
    """Raise an error if the table has one of these keys."""
    for key in content:
        if key in keys:
            raise table.error(key, f"(= {content[key]!r}) is out of place here", expected)


def _number(
    table: TomlTable, key: str, default: float | None, *, zero: bool = False, least: float = 0.0
) -> Any:
    """Take a finite number as a float: above 0, at least 0 if `zero`, or at least `least`."""
    most = LONGEST_S if key.endswith("_s") else MOST
    expected = f"a finite number {f'of at least {least:g}' if zero or least else 'above 0'}"
    value = table.take(
        key,
        f"{expected} and at most {most:g}",
        lambda v: is_finite(v) and (least <= v if zero or least else v > 0) and v <= most,
        default,
    )
    return None if value is None else float(value)


def _rates(value: Any) -> bool:
    if not isinstance(value, list):
        value = [value]
    return (
        len(value) > 0
        and all(is_finite(rate) and 0 < rate <= MOST for rate in value)
        and len(set(map(float, value))) == len(value)
    )


def _levels(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(is_finite(level) and 0 < level <= 1 for level in value)
        and len(set(value)) == len(value)
    )


def _arrival(value: object) -> bool:
    return isinstance(value, str) and value in ARRIVALS


def _objective(value: object) -> bool:
    try:
        parse_objective(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


_RATES: tuple[str, Callable[[Any], bool]] = (
    f"events/s: a number above 0 and at most {MOST:g}, or a list of different ones",
    _rates,
)
