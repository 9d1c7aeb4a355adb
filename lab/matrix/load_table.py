"""Reads the `load` key of a matrix: one `[load]` table, or several `[[load]]` tables.

docs/offered-load.md has all keys.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from msgspec.structs import replace

from streamlab.engines.protocol import ADAPTIVE, BATCHINGS
from streamlab.lab.errors import MatrixError
from streamlab.lab.load.spec import (
    ARRIVALS,
    CONSTANT,
    REPLAY,
    SEND_LAG_MS,
    SHORTEST_HEARTBEAT_MS,
    LoadSpec,
)
from streamlab.lab.matrix.toml_table import LONGEST_S, REQUIRED, TomlTable, is_finite
from streamlab.lab.measure.latency import EXPECTED, parse_objective

CATCH_UP, OPEN = "catch-up", "open"
SUSTAINABLE = "sustainable"
MAX_VOTES = 999
"""Limit for votes, confirmations and repetitions; no search needs more."""
MAX_VALUE = 1e15
"""Limit for rates, factors and ticks; a thousand times the limit still fits in 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Settings of a search for the sustainable rate; defaults from docs/method.md.

    Attributes:
        start_eps: first rate; the search doubles it until a rate fails, or halves it until a rate passes.
        tolerance: the search narrows [highest pass, lowest fail] to this share of the lower end.
        votes: maximum number of fresh processes per probe; the majority decides, and a probe ends once the
            majority is certain.
        confirmations: number of fresh processes in which the resulting rate must hold; if the rate fails in any
            process, the search lowers the rate by `tolerance` and tries again.
        levels: shares of the resulting rate at which latency is measured.
        level_repetitions: number of fresh processes per level.
        max_eps: highest rate to try; None if only the input's length limits the rate.
    """

    start_eps: float = 10_000.0
    tolerance: float = 0.02
    votes: int = 3
    confirmations: int = 5
    levels: tuple[float, ...] = (0.1, 0.5, 0.8, 0.9, 0.95)
    level_repetitions: int = 1
    max_eps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEntry:
    """A `[load]` table, or one of several `[[load]]` tables; a matrix without such tables runs catch-up.

    Attributes:
        offers: one pair per rate: the last part of the cells' ids, and the load. The load is None for catch-up.
            The load's `rate_eps` is None for `replay` and for a search.
        search: settings of a search for the rate; None if the table has the rates.
        engines: patterns on an engine's name, or on `name/variant`; None for all engines.
        workloads: patterns as in `[[engine]]`; None for all workloads.
    """

    offers: tuple[tuple[str | None, LoadSpec | None], ...] = ((None, None),)
    search: SearchSettings | None = None
    engines: tuple[str, ...] | None = None
    workloads: tuple[str, ...] | None = None


_KEYS_OF_ANY_MODE = frozenset({"mode", "search", "label", "engines", "workloads"})
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
        MatrixError: a key is unknown or does not fit the other keys, or a value is not valid.
    """
    if content is None:
        return (LoadEntry(),)
    if isinstance(content, Mapping):
        return (_parse_entry(TomlTable(source, "[load]", content), content),)
    if not isinstance(content, list) or not content:
        raise MatrixError(
            f"{source}: top level, key load is {content!r}; expected a [load] table or [[load]] "
            "tables"
        )
    return tuple(
        _parse_entry(TomlTable(source, f"[[load]] {number}", table), table)
        for number, table in enumerate(content, 1)
    )


def _parse_entry(table: TomlTable, content: Mapping[str, object]) -> LoadEntry:
    # Check unknown keys first: an unknown key is often the misspelt form of a key that the code below
    # would report as missing.
    for key, value in content.items():
        if key not in _KEYS:
            raise table.error(key, f"(= {value!r}) is unknown", f"one of {', '.join(_KEYS)}")
    search = table.take("search", f'"{SUSTAINABLE}"', lambda v: v == SUSTAINABLE, None)
    # All other keys belong to open loads.
    default_mode = OPEN if search or set(content) - _KEYS_OF_ANY_MODE else CATCH_UP
    mode = table.take(
        "mode", f'"{CATCH_UP}" or "{OPEN}"', lambda v: v in (CATCH_UP, OPEN), default_mode
    )
    label = table.label("label")
    patterns: dict[str, tuple[str, ...] | None] = {
        key: table.texts(key) for key in ("engines", "workloads")
    }
    if mode == CATCH_UP:
        if search:
            raise table.error(
                "search", f'is {search!r} with mode = "{CATCH_UP}"', f'mode = "{OPEN}"'
            )
        _refuse(table, content, set(content) - _KEYS_OF_ANY_MODE, f'mode = "{OPEN}"')
        return LoadEntry(offers=((label, None),), search=None, **patterns)
    if "heartbeats_per_barrier" in content:
        _refuse(table, content, {"heartbeat_ms"}, "either heartbeat_ms or heartbeats_per_barrier")
    arrival = table.take("arrival", f"one of {', '.join(ARRIVALS)}", _is_arrival, CONSTANT)
    if search and arrival == REPLAY:
        raise table.error("arrival", f"is {arrival!r}", "an arrival process with a rate")
    if not search:
        _refuse(table, content, set(_SEARCH_KEYS), f'search = "{SUSTAINABLE}"')
    rates: list[float] = []
    if search or arrival == REPLAY:
        expected = "no rate: a search finds it, and replay has the recorded one"
        _refuse(table, content, {"rate_eps"}, expected)
    else:
        value = table.take("rate_eps", *_RATE_CHECK, REQUIRED)
        rates = [float(rate) for rate in (value if isinstance(value, list) else [value])]
    load = LoadSpec(
        arrival=arrival,
        warm_up_s=_number(table, "warm_up_s", 10.0, least=0),
        window_s=_number(table, "window_s", 60.0),
        seed=table.seed(1),
        batching=table.choice("batching", BATCHINGS, ADAPTIVE),
        heartbeat_ms=_number(table, "heartbeat_ms", 1.0, least=SHORTEST_HEARTBEAT_MS),
        heartbeats_per_barrier=_number(table, "heartbeats_per_barrier", None),
        send_lag_ms=_number(table, "send_lag_ms", SEND_LAG_MS),
        params=_params(table, content, arrival),
        objective=table.take("objective", EXPECTED, _is_objective, None),
    )
    settings: SearchSettings | None = None
    rows: list[tuple[str, float | None]]
    if search:
        settings, rows = _search_settings(table), [(label or SUSTAINABLE, None)]
    elif arrival == REPLAY:
        rows = [(label or f"{REPLAY}-x{load.params['speed_up']:.12g}", None)]
    elif label and len(rates) == 1:
        rows = [(label, rates[0])]
    else:
        rows = [(f"{label or arrival}-{_short_rate(rate)}", rate) for rate in rates]
    offers = tuple((name, replace(load, rate_eps=rate)) for name, rate in rows)
    return LoadEntry(offers=offers, search=settings, **patterns)


def _short_rate(rate_eps: float) -> str:
    """Return a rate as a unique text such as `1M`, `250k` or `12.5`."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate_eps >= unit:
            return f"{rate_eps / unit:.12g}{letter}"
    return f"{rate_eps:.12g}"


def _params(table: TomlTable, content: Mapping[str, object], arrival: str) -> dict[str, float]:
    """Take the parameters of the arrival process; raise an error for parameters of other processes."""
    for other_arrival, names in ARRIVALS.items():
        if other_arrival != arrival:
            _refuse(table, content, set(names), f'arrival = "{other_arrival}"')
    return {
        name: _number(table, name, default, least=0 if name == "off_s" else None)
        for name, default in ARRIVALS[arrival].items()
    }


def _search_settings(table: TomlTable) -> SearchSettings:
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
            f"an odd whole number up to {MAX_VOTES}, for a majority",
            lambda v: type(v) is int and 0 < v <= MAX_VOTES and v % 2 == 1,
            default.votes,
        ),
        confirmations=table.integer(
            "confirmations", default.confirmations, minimum=0, maximum=MAX_VOTES
        ),
        levels=tuple(
            table.take(
                "levels",
                "a list of different shares above 0 and at most 1",
                lambda v: isinstance(v, list) and _are_different(v, 1),
                default.levels,
            )
        ),
        level_repetitions=table.integer(
            "level_repetitions", default.level_repetitions, maximum=MAX_VOTES
        ),
        max_eps=_number(table, "max_eps", None, least=start_eps),
    )


def _refuse(table: TomlTable, content: Mapping[str, object], keys: set[str], expected: str) -> None:
    """Raise an error if the table has one of these keys."""
    for key in content:
        if key in keys:
            raise table.error(key, f"(= {content[key]!r}) is out of place here", expected)


def _number(
    table: TomlTable, key: str, default: float | None, *, least: float | None = None
) -> Any:
    """Take a finite number as a float: above 0, or at least `least`."""
    maximum = LONGEST_S if key.endswith("_s") else MAX_VALUE
    value = table.number(key, default, least=least, maximum=maximum)
    return None if value is None else float(value)


def _is_rate_or_list(value: Any) -> bool:
    return value != [] and _are_different(value if isinstance(value, list) else [value], MAX_VALUE)


def _are_different(numbers: list[Any], most: float) -> bool:
    """Return whether the values are different numbers above 0 and at most `most`."""
    return all(is_finite(number) and 0 < number <= most for number in numbers) and len(
        set(map(float, numbers))
    ) == len(numbers)


def _is_arrival(value: object) -> bool:
    return isinstance(value, str) and value in ARRIVALS


def _is_objective(value: object) -> bool:
    try:
        parse_objective(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


_RATE_CHECK: tuple[str, Callable[[Any], bool]] = (
    f"events/s: a number above 0 and at most {MAX_VALUE:g}, or a list of different ones",
    _is_rate_or_list,
)
