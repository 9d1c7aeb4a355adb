"""Events of the Yahoo streaming benchmark, as its generator writes them, to the input `ads`.

JSON lines, each an object with `user_id`, `page_id`, `ad_id` (texts), `event_type` (view, click or
purchase), `event_time` (milliseconds since 1970, a number or a text of one) and `ip_address`;
`ad_type` and whatever else is there is not used.

- The campaign of an ad is in `--campaigns`: JSON lines of objects `{"<ad>": "<campaign>", ...}`, as
  the benchmark's `ad-to-campaign-ids.txt` has them.
- The benchmark has no locations. A user's is the address of the user's first event, in the order of
  the files.
- Events come up to a minute late there: this kind always sorts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.ad_rows import (
    campaign_table,
    import_of_ads,
    with_lookup,
)
from workloads.datasets.imports.json_lines import object_of, text_of
from workloads.datasets.imports.kind import BadRowError, ImportOptions, Row, Setting
from workloads.datasets.imports.lines import Line, read_lines
from workloads.datasets.imports.raw import At
from workloads.inputs.ads.schema import TYPES


@dataclass(frozen=True, slots=True)
class Event:
    """A line, the campaigns of all ads, and the locations of the users of the lines before."""

    line: Line
    campaigns: dict[str, str]
    locations: dict[str, str] = field(default_factory=dict)

    @property
    def further(self) -> int:
        """How many lines it has after its first."""
        return self.line.further

    def shown(self) -> str:
        """Return its beginning, for messages."""
        return self.line.shown()


def read(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Event]]:
    """Yield the lines of a file.

    Raises:
        DatasetError: there is no table of campaigns, or it cannot be read.
    """
    table = options.settings["campaigns"]
    if not table:
        raise DatasetError(
            "--campaigns is missing: the file of JSON objects with the campaign of each ad, such "
            "as ad-to-campaign-ids.txt"
        )
    campaigns, locations = _campaigns(Path(table), options), dict[str, str]()
    for place, line in read_lines(path, options, at):
        yield place, Event(line, campaigns, locations)


def parse(event: Event, options: ImportOptions) -> Row:
    """Return (ts, user, page, ad, type, clicked).

    Raises:
        BadRowError: not a JSON object, a field is missing or not what it must be, or the ad is in
            no campaign.
    """
    found = object_of(event.line)
    user, ad, kind = (text_of(found, name) for name in ("user_id", "ad_id", "event_type"))
    if kind not in TYPES:
        raise BadRowError(f"field event_type is {kind!r}; there are {', '.join(TYPES)}")
    if ad not in event.campaigns:
        raise BadRowError(f"ad {ad!r} is in no campaign of --campaigns")
    ts = _time(found.get("event_time"), options)
    page, address = text_of(found, "page_id"), text_of(found, "ip_address")
    return (
        ts,
        with_lookup("user", user, event.locations.setdefault(user, address)),
        page,
        with_lookup("ad", ad, event.campaigns[ad]),
        TYPES.index(kind),
        0,
    )


def _time(value: Any, options: ImportOptions) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadRowError(f"field event_time is {value!r}, not milliseconds since 1970")
    return options.time(str(value))


def _campaigns(path: Path, options: ImportOptions) -> dict[str, str]:
    found = campaign_table(read_lines(path, options, lambda position: None), _pairs)
    if not found:
        raise DatasetError(f"{path} has no campaigns; it is to have objects of ads and campaigns")
    return found


def _pairs(line: Line) -> list[tuple[str, str]]:
    pairs = object_of(line)
    return [(ad, text_of(pairs, ad)) for ad in pairs]


AD_EVENTS = import_of_ads(
    name="ad-events",
    help="events of the Yahoo streaming benchmark, one JSON object a line",
    read=read,
    parse=parse,
    settings=(
        Setting(
            name="campaigns",
            default="",
            file=True,
            help="JSON objects with the campaign of each ad (ad-to-campaign-ids.txt).",
        ),
    ),
    time="ms",
    sorts=True,
)
