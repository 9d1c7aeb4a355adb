"""Finds all damage in a dataset's folder; `integrity` stops at the first."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.errors import DamagedError, DatasetError
from streamlab.workloads.datasets.integrity import check_dictionary, check_stream
from streamlab.workloads.datasets.oracle_cache import cached_answers, is_intact
from streamlab.workloads.datasets.remedy import rebuild_command


def damages(folder: Path) -> Iterator[str]:
    """Yield each damage in a dataset's folder, with its remedy.

    A damaged oracle answer does no harm: it is never used, and is replaced when next needed.
    """
    try:
        dataset = manifest.read(folder)
    except DatasetError as error:
        yield str(error)
        return
    checks: list[Callable[[], object]]
    checks = [partial(check_stream, stream) for stream in dataset.streams]
    checks += [partial(check_dictionary, part) for part in dataset.dictionaries]
    for check in checks:
        try:
            check()
        except DamagedError as error:
            yield f"{error}; {rebuild_command(dataset)}"
    for path in cached_answers(folder):
        if not is_intact(path):
            yield f"{path} (an oracle's answer) is damaged; remove it, runs compute it anew"
