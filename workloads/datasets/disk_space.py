"""Refuses a dataset that the disk has no room for, before anything of it is made."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import StreamSpec

_TS_BYTES = 8
SMALLEST_SHARE = 10
"""Generated streams take a tenth or more of their columns' size (Snappy; 0.12 was the least)."""


def check_room(specs: Iterable[StreamSpec], folder: Path) -> None:
    """Refuse streams that cannot fit on the disk of a folder, which need not exist yet.

    The size is a lower bound (tags and lists are not counted, and compression is taken to be better
    than it is): what passes may still fill the disk.

    Raises:
        DatasetError: there is no room; names both sizes.
    """
    specs = tuple(specs)
    whole = sum(spec.events * (_TS_BYTES + spec.fields.itemsize) for spec in specs)
    needed = whole // SMALLEST_SHARE
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed > free:
        events = sum(spec.events for spec in specs)
        raise DatasetError(
            f"{events:,} events take at least {_shown(needed)} on disk ({_shown(whole)} in "
            f"memory), and {place} has {_shown(free)} free; ask for fewer"
        )


def _shown(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:,.1f} GB"
