"""The six queries on ads: small parameters, and plain loops over events and markers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import floor

from streamlab.workloads.model import Input
from tests.workloads.suite.streams import in_order

Event = dict[str, int]


def steps(data: Input, period: int) -> Iterator[tuple[int | None, Event]]:
    """Yield events (None, event), and markers (time, {}) between them."""
    at = None
    for ts, _, _, payload in in_order(data):
        at = (ts // period + 1) * period if at is None else at
        while at <= ts:
            yield at, {}
            at += period
        yield None, {"ts": ts, **payload}
    if data.until_ts is not None and at is not None:
        for marker in range(at, data.until_ts, period):
            yield marker, {}


def enrichment(data: Input, ads: int, campaigns: int) -> list[tuple[int, ...]]:
    return [
        (*event.values(), event["ad"] % campaigns if 0 <= event["ad"] < ads else -1)
        for _, event in steps(data, 1 << 40)
        if event
    ]


def activity(data: Input, period: int) -> list[tuple[int, ...]]:
    done: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    found, changed = [], set()
    for marker, event in steps(data, period):
        if marker is None and 0 <= event["type"] <= 2:
            done[event["user"]][event["type"]] += 1
            changed.add(event["user"])
        if marker is not None:
            found += [(marker, user, *done[user]) for user in sorted(changed)]
            changed.clear()
    return found


def history(data: Input, period: int, users: int, locations: int) -> list[tuple[int, ...]]:
    types: dict[int, Counter[int]] = defaultdict(Counter)
    last: dict[int, int] = {}
    found, changed = [], set()
    for marker, event in steps(data, period):
        if marker is None and 0 <= event["user"] < users:
            here = event["user"] % locations
            types[here][event["type"]] += 1
            last[here] = event["ts"]
            changed.add(here)
        if marker is not None:
            for here in sorted(changed):
                counts = types[here]
                three = (counts[0], counts[1], counts[2])
                found.append((marker, here, counts.total(), *three, last[here]))
            changed.clear()
    return found


def views(
    data: Input, period: int, window: int, slide: int, ads: int, campaigns: int
) -> list[tuple[int, ...]]:
    seen: list[tuple[int, int]] = []
    found = []
    for marker, event in steps(data, period):
        if marker is None and event["type"] == 0 and 0 <= event["ad"] < ads:
            seen.append((event["ts"], event["ad"] % campaigns))
        if marker is not None and marker % slide == 0:
            counts = Counter(c for ts, c in seen if marker - window <= ts < marker)
            found += [(marker, c, count) for c, count in sorted(counts.items())]
    return found


def clusters(
    data: Input, period: int, users: int, locations: int, k: int, iterations: int
) -> list[tuple[int, ...]]:
    done: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    active: set[int] = set()
    found: list[tuple[int, ...]] = []
    for marker, event in steps(data, period):
        if marker is None and 0 <= event["user"] < users:
            active.add(event["user"])
            if 0 <= event["type"] <= 2:
                done[event["user"]][event["type"]] += 1
        if marker is not None:
            for here in range(locations):
                points = [done[user] for user in sorted(active) if user % locations == here]
                for number, (size, centroid) in enumerate(lloyd(points, k, iterations)):
                    found.append((marker, here, number, size, *centroid))
            active.clear()
    return found


def lloyd(points: list[list[int]], k: int, iterations: int) -> list[tuple[int, list[int]]]:
    """Lloyd's algorithm with exact fractions, cut down to 1/256 where the workload says so."""
    k = min(k, len(points))
    centroids = [[Fraction(x) for x in points[c * len(points) // k]] for c in range(k)]
    members: list[list[list[int]]] = [[] for _ in range(k)]
    for _ in range(iterations if k else 0):
        members = [[] for _ in range(k)]
        for point in points:
            away = [sum((x - m) ** 2 for x, m in zip(point, c, strict=True)) for c in centroids]
            members[away.index(min(away))].append(point)
        for c, own in enumerate(members):
            if own:
                means = [Fraction(sum(x), len(own)) for x in zip(*own, strict=True)]
                centroids[c] = [Fraction(floor(mean * 256), 256) for mean in means]
    return [
        (len(own), [int(x * 256) for x in c]) for own, c in zip(members, centroids, strict=True)
    ]


FORMS = ("typed", "handcrafted")
AD_TABLE_PARAMETERS = {"ads": 5, "campaigns": 2}
USER_TABLE_PARAMETERS = {"users": 5, "locations": 2}
WINDOW = {"markers_ms": 2, "window_ms": 6}
K_MEANS = {"markers_ms": 1, "period_ms": 2, "clusters": 2, "iterations": 3}
Loop = Callable[[Input], list[tuple[int, ...]]]
SMALL: dict[str, tuple[dict[str, object], Loop]] = {
    "ad_enrichment": (AD_TABLE_PARAMETERS, lambda data: enrichment(data, 5, 2)),
    "user_activity": ({"markers_ms": 2}, lambda data: activity(data, 2)),
    "location_history": (
        {**USER_TABLE_PARAMETERS, "markers_ms": 2},
        lambda data: history(data, 2, 5, 2),
    ),
    "campaign_views": (
        {**AD_TABLE_PARAMETERS, **WINDOW},
        lambda data: views(data, 2, 6, 2, 5, 2),
    ),
    "campaign_views_tumbling": (
        {**AD_TABLE_PARAMETERS, **WINDOW},
        lambda data: views(data, 2, 6, 6, 5, 2),
    ),
    "user_clusters": (
        {**USER_TABLE_PARAMETERS, **K_MEANS},
        lambda data: clusters(data, 2, 5, 2, 2, 3),
    ),
}
"""Query parameters by which a few events have answers, and what these are."""
