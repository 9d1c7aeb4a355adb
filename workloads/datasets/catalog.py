"""The catalogue: datasets in folders named by content, and an index from recipes to them.

    <root>/<first 16 hex digits of the id>/dataset.json, one Parquet file per stream, ...
    <root>/recipes/<SHA-256 of a recipe>.json     {"recipe": ..., "dataset": "<id>"}
    <root>/.building-<host>-<process>-<random>/   being made; removed whatever happens

A dataset is made in a folder of its own and renamed into place when it is whole, so that readers
see all of it or nothing, and two processes that make the same one do not disturb each other. What a
killed process leaves behind is removed by the next one on the same host.
"""

import errno
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

import psutil

from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.integrity import verified
from streamlab.workloads.default_folders import ROOT_VARIABLE, catalogue, check_text
from streamlab.workloads.name_suggestions import meant

LARGEST_SEED = 2**63 - 1
"""Results keep seeds as signed 64-bit numbers, and NumPy takes none below 0."""
_BUILDING = ".building-"
_SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that a generated dataset is a function of; `params` holds every parameter.

    `code` is a hash of what generates it; empty where only `generator_version` tells.
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
    """What the catalogue holds: datasets by workload and id, and why other entries are unusable."""

    datasets: tuple[Dataset, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The datasets below one folder, which need not exist yet."""

    root: Path

    @classmethod
    def default(cls) -> "Catalog":
        """Return the usual catalogue; `streamlab.workloads.default_folders` says where it is, and why."""
        return cls(root=catalogue().path.absolute())

    def folder(self, dataset_id: str) -> Path:
        """Return where the dataset with that id is, or would be."""
        return self.root / dataset_id[: manifest.ID_SHOWN]

    def find(self, recipe: Recipe) -> Dataset | None:
        """Return the dataset that a recipe made, with its content checked.

        None when there is none or it is damaged (`damage`); then it can be built.
        """
        found = self._made_by(recipe)
        try:
            return None if found is None else verified(manifest.read(self.folder(found)))
        except DatasetError:
            return None

    def has(self, recipe: Recipe) -> bool:
        """Return whether there is a dataset that a recipe made; its content is not looked at."""
        found = self._made_by(recipe)
        return found is not None and self.folder(found).is_dir()

    def damage(self, recipe: Recipe) -> tuple[str, str] | None:
        """Return the id of the dataset that a recipe made and what is wrong with it.

        None when there is none, or nothing is wrong.
        """
        found = self._made_by(recipe)
        if found is None or not self.folder(found).exists():
            return None
        try:
            verified(manifest.read(self.folder(found)))
        except DatasetError as error:
            return found, str(error)
        return None

    def origin(self, recipe: Recipe) -> Mapping[str, object] | None:
        """Return the facts of the import of a recipe; None if the index has none.

        They may differ from those of its dataset, whose record has the last import of its content.
        """
        found = self._entry(recipe).get("origin")
        return found if isinstance(found, dict) else None

    def _made_by(self, recipe: Recipe) -> str | None:
        """Return the id that the index has for a recipe."""
        found = self._entry(recipe).get("dataset")
        return found if isinstance(found, str) and manifest.is_id(found) else None

    def _entry(self, recipe: Recipe) -> Mapping[str, object]:
        """Return the index entry of a recipe; empty if it is missing or damaged."""
        try:
            found = json.loads(self._index(recipe).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def get(self, prefix: str) -> Dataset:
        """Return the dataset whose id starts with `prefix`, at least 4 hex digits.

        Raises:
            DatasetError: none or several match, or it is damaged.
        """
        found = manifest.read(self.entry(prefix))
        if not found.id.startswith(prefix):
            raise DatasetError(f"no dataset {prefix!r} in {self.root}; there is {found.id}")
        return found

    def entry(self, prefix: str) -> Path:
        """Return the folder of the dataset whose id starts with `prefix`, whatever is in it.

        Raises:
            DatasetError: none or several match.
        """
        if len(prefix) < _SHORTEST_PREFIX:
            raise DatasetError(f"dataset id {prefix!r} is too short; give 4 or more digits of it")
        shown = prefix[: manifest.ID_SHOWN]
        matching = [folder for folder in self.entries() if folder.name.startswith(shown)]
        if not matching:
            raise DatasetError(
                f"no dataset {prefix!r} in {self.root}; "
                f"{meant(prefix, (path.name for path in self.entries()), 'lab data list')}, "
                f"and {ROOT_VARIABLE} says where to look"
            )
        if len(matching) > 1:
            names = ", ".join(folder.name for folder in matching)
            raise DatasetError(f"dataset id {prefix!r} is ambiguous: {names}; give more digits")
        return matching[0]

    def list(self) -> Listing:
        """Return everything in the catalogue; a damaged entry is told, not fatal.

        Records are read, files only looked for.
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
    def staging(self) -> Iterator[Path]:
        """Give an empty folder beside the datasets, removed at the end whatever happens.

        Raises:
            DatasetError: the catalogue's folder cannot be made or written.
        """
        check_text(self.root)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._sweep()
            prefix = f"{_BUILDING}{platform.node()}-{os.getpid()}-"
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self.root))
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

        When an equal dataset is there already, that one is returned, and `folder` stays; `restated`
        says of it what was said of this one.
        """
        dataset_id = manifest.write(folder, content)
        folder.chmod(0o755)
        target = self.folder(dataset_id)
        self._move(folder, target)
        dataset = manifest.read(target)
        if recipe is not None:
            self._remember(recipe, dataset_id, content.origin)
        return dataset

    def restated(
        self,
        dataset: Dataset,
        source: str | None,
        licence: str | None,
        origin: Mapping[str, object] | None = None,
    ) -> Dataset:
        """Return a dataset whose record says where it comes from as the last import says it.

        Args:
            dataset: in the catalogue.
            source: in a person's words; None: as it was.
            licence: likewise.
            origin: the facts of the import; None: as they were. Equal content may come from other
                files.

        Raises:
            DatasetError: the record cannot be written.
        """
        stated = replace(
            dataset,
            source=source or dataset.source,
            licence=licence or dataset.licence,
            origin=dataset.origin if origin is None else origin,
        )
        if manifest.canonical(_stated(stated)) == manifest.canonical(_stated(dataset)):
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
                f"{self.folder(dataset.id)} cannot be written ({error.strerror}), and its record "
                f"says source {dataset.source}, licence {dataset.licence}; leave both out to use it"
            ) from error
        return stated

    def _move(self, folder: Path, target: Path) -> None:
        for _ in range(2):
            try:
                folder.rename(target)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            try:
                verified(manifest.read(target))
                return
            except DatasetError:  # damaged: put it aside, to be removed with the staging folder
                with suppress(OSError):
                    target.rename(folder.parent / f"damaged-{target.name}")
        raise DatasetError(f"{target} is damaged and cannot be replaced; remove it")

    def _remember(self, recipe: Recipe, dataset_id: str, origin: Mapping[str, object]) -> None:
        index = self._index(recipe)
        index.parent.mkdir(exist_ok=True)
        entry = {"recipe": asdict(recipe), "dataset": dataset_id, "origin": dict(origin)}
        with tempfile.NamedTemporaryFile(dir=index.parent, delete=False) as new:
            new.write(f"{json.dumps(entry, indent=2)}\n".encode())
        Path(new.name).chmod(0o644)
        Path(new.name).replace(index)

    def _index(self, recipe: Recipe) -> Path:
        return self.root / "recipes" / f"{recipe.key()}.json"

    def entries(self) -> tuple[Path, ...]:
        """Return what has a name as folders of datasets have, whatever it is.

        Raises:
            DatasetError: the catalogue cannot be read.
        """
        try:
            inside = sorted(self.root.iterdir())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise DatasetError(
                f"the catalogue {self.root} cannot be read ({error.strerror}); name another folder "
                f"with {ROOT_VARIABLE}"
            ) from error
        return tuple(path for path in inside if manifest.names_a_folder(path.name))

    def _sweep(self) -> None:
        """Remove the staging folders of processes of this host that are gone."""
        prefix = f"{_BUILDING}{platform.node()}-"
        for folder in self.root.glob(f"{_BUILDING}*"):
            process = folder.name.removeprefix(prefix).split("-")[0]
            ours = folder.name.startswith(prefix) and process.isdigit()
            if ours and not psutil.pid_exists(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def _stated(dataset: Dataset) -> list[object]:
    return [dataset.source, dataset.licence, dict(dataset.origin)]
