"""Refuses to make a dataset that does not fit on the disk, before writing anything."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.model import StreamSpec

_TS_BYTES = 8
SMALLEST_SHARE = 10
"""Generated streams take at least a tenth of their columns' size (Snappy; the measured minimum was 0.12)."""


def check_room(specs: Iterable[StreamSpec], folder: Path) -> None:
    """Refuse streams that cannot fit on the disk of a folder, which need not exist yet.

    The estimate is a lower bound: it omits tags and lists and assumes the best compression. Streams that pass
    may still fill the disk.

    Raises:
        DatasetError: the disk is too small; the message has both sizes.
    """
    specs = tuple(specs)
    in_memory = sum(spec.events * (_TS_BYTES + spec.fields.itemsize) for spec in specs)
    needed = in_memory // SMALLEST_SHARE
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed > free:
        events = sum(spec.events for spec in specs)
        raise DatasetError(
            f"{events:,} events take at least {_shown(needed)} on disk ({_shown(in_memory)} in "
            f"memory), and {place} has {_shown(free)} free; ask for fewer"
        )


def _shown(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:,.1f} GB"
