"""Open Bandit's impressions of items (ZOZO's fashion shop) to the input `ads`.

Files as published: CSV with `timestamp`, `item_id`, `position`, `click` and four features of the
user, and `item_context.csv` with four features of each item, in a folder for each campaign of the
shop and each policy. Features are hashes of what they stand for, and others in every folder.

- An item is an ad; its campaign is an item feature (`--campaign`).
- Every line is a view; one with `click` 1 is a click, too, directly behind at the same time.
- There are no users: all that have the same four features are one. One of the features is the
  user's location (`--location`).
- The page is the position, which is where in the page the item was shown.
- Archives hold several folders, of which one is read (`--folder`), with its table of items.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from workloads.datasets.errors import DatasetError
from workloads.datasets.imports.ad_rows import (
    campaign_table,
    import_of_ads,
    with_lookup,
)
from workloads.datasets.imports.csv_rows import QUOTES_SETTING, Cells, read_csv
from workloads.datasets.imports.kind import BadRowError, ImportOptions, Row, Setting
from workloads.datasets.imports.raw import At, Part
from workloads.inputs.ads.schema import VIEW

ITEMS = "item_context.csv"
USER_FEATURES = tuple(f"user_feature_{number}" for number in range(4))
ITEM_FEATURES = tuple(f"item_feature_{number}" for number in range(4))
_IMPRESSION = {
    "ts": "timestamp",
    "item": "item_id",
    "position": "position",
    "click": "click",
    **{name: name for name in USER_FEATURES},
}


@dataclass(frozen=True, slots=True)
class Impression:
    """A line, and the campaigns of all items."""

    cells: Cells
    campaigns: dict[str, str]

    @property
    def further(self) -> int:
        """How many lines it has after its first."""
        return self.cells.further

    def shown(self) -> str:
        """Return its beginning, for messages."""
        return self.cells.shown()


def read(path: Path, options: ImportOptions, at: At) -> Iterator[tuple[str, Impression]]:
    """Yield the impressions of a file, or of one folder of an archive.

    Raises:
        DatasetError: an option is wrong, there is no such folder, or no table of items.
    """
    settings = options.settings
    for name, known in (("campaign", ITEM_FEATURES), ("location", USER_FEATURES)):
        if settings[name] not in known:
            raise DatasetError(f"--{name} is {settings[name]!r}; give one of {', '.join(known)}")
    campaigns = _campaigns(path, options)
    chosen = _Chosen(settings["folder"], lambda name: name != ITEMS)
    columns = replace(options, columns=_IMPRESSION)
    for place, cells in read_csv(path, columns, at, chosen):
        yield place, Impression(cells, campaigns)
    chosen.check(path)


def parse(impression: Impression, options: ImportOptions) -> Row:
    """Return (ts, user, page, ad, type, clicked).

    Raises:
        BadRowError: a cell is not what it must be, or the item is in no table.
    """
    cells = impression.cells
    item, click = cells["item"].strip(), cells["click"].strip()
    if click not in ("0", "1"):
        raise BadRowError(f"column click is {click!r}, not 0 or 1")
    campaign = impression.campaigns.get(item)
    if campaign is None:
        raise BadRowError(f"item {item!r} is not in the table of items ({ITEMS})")
    user = "/".join(cells[name] for name in USER_FEATURES)
    return (
        options.time(cells["ts"]),
        with_lookup("user", user, cells[options.settings["location"]]),
        f"position {cells['position'].strip()}",
        with_lookup("item", item, campaign),
        VIEW,
        int(click),
    )


def _campaigns(path: Path, options: ImportOptions) -> dict[str, str]:
    """Return the campaign of each item."""
    settings = options.settings
    given = Path(settings["items"]) if settings["items"] else path
    chosen = _Chosen(settings["folder"], lambda name: given != path or name == ITEMS)
    columns = replace(options, columns={"item": "item_id", "campaign": settings["campaign"]})
    rows = read_csv(given, columns, lambda position: None, chosen)
    found = campaign_table(rows, _pair)
    if not found:
        chosen.check(given)
        raise DatasetError(
            f"{given} has no table of items ({ITEMS} in an archive); give it with --items"
        )
    return found


def _pair(cells: Cells) -> list[tuple[str, str]]:
    item, campaign = cells["item"].strip(), cells["campaign"].strip()
    if not item or not campaign:
        raise BadRowError("an item or its campaign is empty")
    return [(item, campaign)]


class _Chosen:
    """Wants plain files, and of an archive the files of one folder."""

    def __init__(self, folder: str, named: Callable[[str], bool]) -> None:
        self._folder, self._named = folder.strip("/"), named
        self._others: dict[str, None] = {}
        self._any = False

    def __call__(self, part: Part) -> bool:
        _, archived, member = part.place.rpartition("!")
        parent = f"/{PurePosixPath(member).parent}"
        here = not archived or parent.endswith(f"/{self._folder}")
        self._any |= here
        if not here:
            self._others[parent.lstrip("/")] = None
        return here and self._named(part.name)

    def check(self, path: Path) -> None:
        if not self._any:
            raise DatasetError(
                f"{path} has no folder {self._folder!r}; give one of "
                f"{', '.join(self._others)} with --folder"
            )


OPEN_BANDIT = import_of_ads(
    name="open-bandit",
    help="Open Bandit's impressions and clicks, with its table of items, as published",
    read=read,
    parse=parse,
    settings=(
        QUOTES_SETTING,
        Setting(
            name="folder",
            default="random/all",
            help="Which folder of an archive to read: policy/campaign of the shop.",
        ),
        Setting(
            name="items",
            default="",
            file=True,
            help=f"Table of items, where it is not {ITEMS} in the same archive.",
        ),
        Setting(
            name="campaign",
            default="item_feature_1",
            help="The item's feature that is taken for its campaign.",
        ),
        Setting(
            name="location",
            default="user_feature_2",
            help="The user's feature that is taken for the location.",
        ),
    ),
)
