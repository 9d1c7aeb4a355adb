"""Stores datasets in folders named by content, with an index from recipes to datasets.

    <root>/<first 16 hex digits of the id>/dataset.json, one Parquet file per stream, ...
    <root>/recipes/<SHA-256 of a recipe>.json     {"recipe": ..., "dataset": "<id>"}
    <root>/.building-<host>-<process>-<random>/   a dataset under construction; removed at the end
    <root>/.building-.../recipe                   the SHA-256 of the recipe, for a generated dataset

A dataset is made in its own folder and renamed into place when complete. So readers see all of it or nothing, and two
processes can make the same dataset at once.

A killed process leaves its folder. The next process on the same host takes over a left folder that has its own recipe,
including the finished files. It keeps folders with other recipes for a week, and removes folders without a recipe.
"""

import errno
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import psutil

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DamagedError, DatasetError
from streamlab.workloads.datasets.integrity import check_dictionary, check_stream, verify
from streamlab.workloads.datasets.oracle_cache import cached_answers, is_intact
from streamlab.workloads.datasets.remedy import rebuild_command
from streamlab.workloads.default_folders import ROOT_VARIABLE, catalogue, check_text
from streamlab.workloads.name_suggestions import suggest_names

LARGEST_SEED = 2**63 - 1
"""Results store seeds as signed 64-bit numbers, and NumPy accepts no negative seed."""
_BUILDING = ".building-"
_RECIPE = "recipe"
_ADOPTABLE_S = 7 * 24 * 3600
"""Age at which a staging folder with a recipe is removed: a week."""
_SHORTEST_PREFIX = 4
"""Minimum number of digits that must be given of a dataset id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The values that determine a generated dataset.

    Attributes:
        workload: name of the input.
        params: every parameter of the generator.
        seed: seed of the generator.
        events: requested number of events.
        generator_version: declared version of the generator.
        code: hash of the generator's code; empty if only `generator_version` identifies it.
    """

    workload: str
    params: Mapping[str, object]
    seed: int
    events: int
    generator_version: int
    code: str = ""

    def key(self) -> str:
        """Return the SHA-256 of the recipe, in hex."""
        content = {name: value for name, value in asdict(self).items() if name != "code" or value}
        return sha256(manifest.canonical(content).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The content of the catalogue.

    Attributes:
        datasets: sorted by workload, number of events and id.
        damaged: the errors of unusable entries.
    """

    datasets: tuple[Dataset, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The datasets below one folder, which need not exist yet."""

    root: Path

    @classmethod
    def default(cls) -> "Catalog":
        """Return the default catalogue; see `streamlab.workloads.default_folders`."""
        return cls(root=catalogue().path.absolute())

    def folder(self, dataset_id: str) -> Path:
        """Return the folder of the dataset with this id, whether or not it exists."""
        return self.root / dataset_id[: manifest.ID_SHOWN]

    def find(self, recipe: Recipe) -> Dataset | None:
        """Return a recipe's dataset, after checking its content; None if it is missing or damaged (see `damage`)."""
        dataset_id = self._indexed_id(recipe)
        try:
            return None if dataset_id is None else verify(manifest.read(self.folder(dataset_id)))
        except DatasetError:
            return None

    def has(self, recipe: Recipe) -> bool:
        """Return whether the catalogue has a recipe's dataset, without checking its content."""
        dataset_id = self._indexed_id(recipe)
        return dataset_id is not None and self.folder(dataset_id).is_dir()

    def damage(self, recipe: Recipe) -> tuple[str, str] | None:
        """Return the id of a recipe's damaged dataset and the error of its check; None if it is missing or intact."""
        dataset_id = self._indexed_id(recipe)
        if dataset_id is None or not self.folder(dataset_id).exists():
            return None
        try:
            verify(manifest.read(self.folder(dataset_id)))
        except DatasetError as error:
            return dataset_id, str(error)
        return None

    def origin(self, recipe: Recipe) -> Mapping[str, object] | None:
        """Return the facts about the import (as `Dataset.origin`) in a recipe's index entry; None if it has none.

        The dataset's own record may have other facts, because it describes the last import of this content.
        """
        origin = self._index_entry(recipe).get("origin")
        return origin if isinstance(origin, dict) else None

    def _indexed_id(self, recipe: Recipe) -> str | None:
        """Return the dataset id in a recipe's index entry; None without a valid id."""
        dataset_id = self._index_entry(recipe).get("dataset")
        return dataset_id if isinstance(dataset_id, str) and manifest.is_id(dataset_id) else None

    def _index_entry(self, recipe: Recipe) -> Mapping[str, object]:
        """Return a recipe's index entry; empty if missing or damaged."""
        try:
            entry = json.loads(self._index_path(recipe).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return entry if isinstance(entry, dict) else {}

    def get(self, prefix: str) -> Dataset:
        """Return the dataset whose id starts with `prefix`, at least 4 hex digits.

        Raises:
            DatasetError: no dataset or several match, or the dataset is damaged.
        """
        dataset = manifest.read(self.entry(prefix))
        if not dataset.id.startswith(prefix):
            raise DatasetError(f"no dataset {prefix!r} in {self.root}; there is {dataset.id}")
        return dataset

    def entry(self, prefix: str) -> Path:
        """Return the folder of the dataset whose id starts with `prefix`, even if damaged.

        Raises:
            DatasetError: no dataset or several match.
        """
        if len(prefix) < _SHORTEST_PREFIX:
            raise DatasetError(f"dataset id {prefix!r} is too short; give 4 or more digits of it")
        shown = prefix[: manifest.ID_SHOWN]
        matching = [folder for folder in self.entries() if folder.name.startswith(shown)]
        if not matching:
            raise DatasetError(
                f"no dataset {prefix!r} in {self.root}; "
                f"{suggest_names(prefix, (path.name for path in self.entries()), 'lab data list')}, "
                f"and {ROOT_VARIABLE} sets the folder"
            )
        if len(matching) > 1:
            names = ", ".join(folder.name for folder in matching)
            raise DatasetError(f"dataset id {prefix!r} is ambiguous: {names}; give more digits")
        return matching[0]

    def list(self) -> Listing:
        """Return all entries of the catalogue, damaged entries as messages.

        Reads the records and checks the sizes of the files, but not their content.
        """
        datasets, damaged = [], []
        for folder in self.entries():
            try:
                datasets.append(manifest.read(folder))
            except DatasetError as error:
                damaged.append(str(error))
        datasets.sort(key=lambda dataset: (dataset.workload, dataset.events, dataset.id))
        return Listing(datasets=tuple(datasets), damaged=tuple(damaged))

    @contextmanager
    def staging(self, recipe: Recipe | None = None) -> Iterator[Path]:
        """Yield a folder next to the datasets, and remove it afterwards in any case.

        The folder is empty, or has the files of a killed process with the same recipe.

        Raises:
            DatasetError: the catalogue's folder cannot be created or written.
        """
        check_text(self.root)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._sweep()
            prefix = f"{_BUILDING}{platform.node()}-{os.getpid()}-"
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self.root))
            if recipe is not None:
                self._adopt(folder, recipe)
                (folder / _RECIPE).write_text(recipe.key(), encoding="ascii")
        except OSError as error:
            raise DatasetError(
                f"the catalogue {self.root} cannot be written ({error.strerror}); "
                f"name another folder with {ROOT_VARIABLE}"
            ) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(
        self, folder: Path, content: manifest.Content, recipe: Recipe | None = None
    ) -> Dataset:
        """Move a folder with all its stream files into the catalogue and return the dataset.

        If the catalogue already has an equal dataset, return that and leave `folder` in place. The caller then updates
        the dataset's source, licence and origin with `restate`.
        """
        for pattern in ("*.done", "*.written", "*.new"):
            for report in folder.glob(pattern):
                report.unlink()
        dataset_id = manifest.write(folder, content)
        folder.chmod(0o755)
        target = self.folder(dataset_id)
        self._move(folder, target)
        dataset = manifest.read(target)
        if recipe is not None:
            self._remember(recipe, dataset_id, content.origin)
        return dataset

    def restate(
        self,
        dataset: Dataset,
        source: str | None,
        licence: str | None,
        origin: Mapping[str, object] | None = None,
    ) -> Dataset:
        """Return a dataset with the source, licence and origin of its last import, and update its record.

        None leaves a value unchanged. The last import may have had other files with equal content.

        Raises:
            DatasetError: the record cannot be written.
        """
        stated = replace(
            dataset,
            source=source or dataset.source,
            licence=licence or dataset.licence,
            origin=dict(origin or dataset.origin),
        )
        if _statement(stated) == _statement(dataset):
            return dataset
        try:
            manifest.restate(
                self.folder(dataset.id),
                source=stated.source,
                licence=stated.licence,
                origin=stated.origin,
            )
        except OSError as error:
            if (stated.source, stated.licence) == (dataset.source, dataset.licence):
                return stated
            raise DatasetError(
                f"{self.folder(dataset.id)} cannot be written ({error.strerror}), and its record has "
                f"source {dataset.source}, licence {dataset.licence}; omit source and licence to use it"
            ) from error
        return stated

    def _move(self, folder: Path, target: Path) -> None:
        """Rename `folder` to `target`, unless `target` is an intact dataset; move a damaged one away first."""
        for _ in range(2):
            try:
                folder.rename(target)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            try:
                verify(manifest.read(target))
                return
            except (
                DatasetError
            ):  # the target is damaged: move it into the staging folder, which is removed
                with suppress(OSError):
                    target.rename(folder.parent / f"damaged-{target.name}")
        raise DatasetError(f"{target} is damaged and cannot be replaced; remove it")

    def _remember(self, recipe: Recipe, dataset_id: str, origin: Mapping[str, object]) -> None:
        """Write the index entry of a recipe, atomically."""
        index = self._index_path(recipe)
        index.parent.mkdir(exist_ok=True)
        entry = {"recipe": asdict(recipe), "dataset": dataset_id, "origin": dict(origin)}
        with tempfile.NamedTemporaryFile(dir=index.parent, delete=False) as new:
            new.write(f"{json.dumps(entry, indent=2)}\n".encode())
        Path(new.name).chmod(0o644)
        Path(new.name).replace(index)

    def _index_path(self, recipe: Recipe) -> Path:
        return self.root / "recipes" / f"{recipe.key()}.json"

    def entries(self) -> tuple[Path, ...]:
        """Return the paths that are named like dataset folders, whatever they contain.

        Raises:
            DatasetError: the catalogue cannot be read.
        """
        try:
            paths = sorted(self.root.iterdir())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise DatasetError(
                f"the catalogue {self.root} cannot be read ({error.strerror}); name another folder "
                f"with {ROOT_VARIABLE}"
            ) from error
        return tuple(path for path in paths if manifest.is_folder_name(path.name))

    def _sweep(self) -> None:
        """Remove the abandoned staging folders, except those that `_adopt` may take over."""
        for folder in self._abandoned_folders():
            with suppress(OSError):
                age_s = time.time() - folder.stat().st_mtime
                if (folder / _RECIPE).is_file() and age_s < _ADOPTABLE_S:
                    continue
            shutil.rmtree(folder, ignore_errors=True)

    def _adopt(self, target: Path, recipe: Recipe) -> None:
        """Replace the empty folder `target` by the folder that a killed process left for the same recipe, if any."""
        for folder in self._abandoned_folders():
            with suppress(OSError):
                if (folder / _RECIPE).read_text(encoding="ascii") == recipe.key():
                    folder.rename(target)  # fails if another process was first
                    return

    def _abandoned_folders(self) -> Iterator[Path]:
        """Yield the staging folders that ended processes of this host left."""
        prefix = f"{_BUILDING}{platform.node()}-"
        for folder in self.root.glob(f"{_BUILDING}*"):
            process = folder.name.removeprefix(prefix).split("-")[0]
            is_of_host = folder.name.startswith(prefix) and process.isdigit()
            if is_of_host and not psutil.pid_exists(int(process)):
                yield folder


def damages(folder: Path) -> Iterator[str]:
    """Yield a message for each damaged file of a dataset, with its remedy. In contrast, `verify` stops at the first.

    A damaged oracle answer does no harm: it is never used, and the next run that needs it replaces it.
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
            yield f"{path} (an oracle's answer) is damaged; remove it, the next run computes it again"


def _statement(dataset: Dataset) -> str:
    """Return source, licence and origin as text that is equal for equal values."""
    return manifest.canonical([dataset.source, dataset.licence, dict(dataset.origin)])
