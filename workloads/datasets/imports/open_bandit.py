"""Imports Open Bandit's impressions of items (ZOZO's fashion shop) as the input `ads` (docs/data.md).

Features of users and items are hashes that differ between the folders of an archive. So an import reads one folder.
Every line is a view. A line with `click` 1 is also a click, directly after the view at the same time.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path, PurePosixPath

from streamlab.workloads.datasets import pa, pc
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.imports.ad_events import (
    campaign_table,
    import_of_ads,
    lookup_entry,
)
from streamlab.workloads.datasets.imports.cells import BadRowError, Cells, Transform
from streamlab.workloads.datasets.imports.kind import (
    QUOTES_SETTING,
    ImportOptions,
    NamedColumns,
    Setting,
    lookup_cells,
)
from streamlab.workloads.inputs.ads.schema import VIEW

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


def _transform(options: ImportOptions) -> Transform:
    """Return the function that computes the columns of ad events from impressions."""
    campaigns = cache(partial(_campaigns, options))

    def campaigns_of(place: str) -> dict[str, str]:
        files = map(str, options.files)
        return campaigns(next(file for file in files if f"{place}!".startswith(f"{file}!")))

    return partial(_columns, options.settings["location"], campaigns_of)


def _columns(
    location: str, campaigns_of: Callable[[str], dict[str, str]], cells: Cells
) -> dict[str, object]:
    """Return the columns of ad events; `campaigns_of` returns the campaign of each item, given the place of a text."""
    campaigns = campaigns_of(cells.part.place)
    features = [cells.texts(name) for name in USER_FEATURES]
    users = pc.binary_join_element_wise(*features, "/")
    places = cells.texts(location).to_pylist()
    page = cells.stripped("position").to_pylist()
    return {
        "clicked": cells.parse_texts("click", _click, pa.int8()),
        "ad": cells.parse_texts("item", partial(_ad, campaigns), pa.string()),
        "ts": cells.times("ts"),
        "user": cells.map_rows(partial(lookup_entry, "user"), users.to_pylist(), places),
        "page": [f"position {number}" for number in page],
        "type": pa.repeat(VIEW, len(cells)),
    }


def _click(text: str) -> int:
    click = text.strip()
    if click not in ("0", "1"):
        raise BadRowError(f"column click is {click!r}, not 0 or 1")
    return int(click)


def _ad(campaigns: dict[str, str], text: str) -> str:
    item = text.strip()
    if item not in campaigns:
        raise BadRowError(f"item {item!r} is not in the table of items ({ITEMS})")
    return lookup_entry("item", item, campaigns[item])


def _campaigns(options: ImportOptions, raw: str) -> dict[str, str]:
    """Return the campaign of each item of a raw file, with blanks around names removed."""
    settings = options.settings
    path = Path(settings["items"] or raw)
    file_format = NamedColumns(
        role_columns={"item": "item_id", "campaign": settings["campaign"]},
        selects=_is_table if str(path) == raw else _in_folder,
        refusal=_refusal,
    )
    campaigns = campaign_table(lookup_cells(file_format, path, options), _pair, "item", "campaign")
    if not campaigns:
        raise _without_items(path)
    return campaigns


def _pair(item: str, campaign: str) -> list[tuple[str, str]]:
    if not item.strip() or not campaign.strip():
        raise BadRowError("an item or its campaign is empty")
    return [(item.strip(), campaign.strip())]


def _in_folder(place: str, options: ImportOptions) -> bool:
    """Return whether a file is outside an archive, or in the chosen folder of one."""
    return "!" not in place or _parent(place).endswith("/" + options.settings["folder"].strip("/"))


def _is_table(place: str, options: ImportOptions) -> bool:
    return PurePosixPath(place).name == ITEMS and _in_folder(place, options)


def _parent(place: str) -> str:
    return f"/{PurePosixPath(place.rpartition('!')[2]).parent}"


def _refusal(path: Path, options: ImportOptions, places: list[str]) -> DatasetError:
    """Return the error for an archive without the chosen folder, or without a table of items in it."""
    if any(_in_folder(place, options) for place in places):
        return _without_items(path)
    parents = dict.fromkeys(_parent(place).lstrip("/") for place in places)
    folder = options.settings["folder"].strip("/")
    return DatasetError(
        f"{path} has no folder {folder!r}; give one of {', '.join(parents)} with --folder"
    )


def _without_items(path: Path) -> DatasetError:
    return DatasetError(
        f"{path} has no table of items ({ITEMS} in an archive); give it with --items"
    )


OPEN_BANDIT = import_of_ads(
    name="open-bandit",
    help="Open Bandit's impressions and clicks, with its table of items, as published",
    file_format=NamedColumns(
        role_columns=_IMPRESSION,
        selects=lambda place, options: _in_folder(place, options) and not _is_table(place, options),
        refusal=_refusal,
    ),
    transform=_transform,
    settings=(
        QUOTES_SETTING,
        Setting(
            name="folder",
            default="random/all",
            help="Folder of an archive to read: policy/campaign of the shop.",
        ),
        Setting(
            name="items",
            default="",
            file=True,
            help=f"Table of items, if it is not {ITEMS} in the same archive.",
        ),
        Setting.choice(
            name="campaign",
            choices=ITEM_FEATURES,
            default="item_feature_1",
            help="The item's feature to use as its campaign.",
        ),
        Setting.choice(
            name="location",
            choices=USER_FEATURES,
            default="user_feature_2",
            help="The user's feature to use as the location.",
        ),
    ),
)
