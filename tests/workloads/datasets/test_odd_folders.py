"""Whatever lies in a catalogue, `lab data list` tells it in a line and lists the rest."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.workloads.datasets import manifest
from streamlab.workloads.datasets.catalog import Catalog
from tests.workloads.datasets.small_datasets import edit, publish

ODD = "0123456789abcdef"


def file(path: Path) -> None:
    path.write_text("")


def link_loop(path: Path) -> None:
    path.symlink_to(path)


def record_is_a_folder(path: Path) -> None:
    (path / manifest.NAME).mkdir(parents=True)


def record_is_a_loop(path: Path) -> None:
    path.mkdir()
    link_loop(path / manifest.NAME)


def record_is_not_text(path: Path) -> None:
    path.mkdir()
    (path / manifest.NAME).write_bytes(b"\xff\xfe\x00")


def text(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.mkdir()
        (path / manifest.NAME).write_text(content)

    return write


@pytest.mark.parametrize(
    "make",
    [
        file,
        link_loop,
        record_is_a_folder,
        record_is_a_loop,
        record_is_not_text,
        *map(text, ["", "5", "[]", "null", '{"format": [1]}', "[" * 100_000, "9" * 5000]),
    ],
)
@pytest.mark.parametrize("command", ["list", "verify"])
def test_an_odd_entry_is_reported_in_a_line(capsys, catalog: Catalog, make: Any, command: str):
    made = publish(catalog, [1, 2])
    make(catalog.root / ODD)
    code = call(["data", command, "--root", str(catalog.root)])
    printed = capsys.readouterr()
    assert code == (EXIT_OK if command == "list" else EXIT_USER_ERROR)
    assert made.id[:16] in printed.out
    lines = [line for line in (printed.out + printed.err).splitlines() if f"{ODD}/" in line]
    assert len(lines) == 1, printed
    assert len(lines[0]) < 1000 and "Traceback" not in lines[0]


WRONG: list[Any] = [None, 5, -1, 1.5, "x", "\ud800", [], [5], ["a", "a"], {}, {"a": 5}, True]


def places(record: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a record."""
    found = [path] if path else []
    inside: Any = enumerate(record) if isinstance(record, list) else ()
    for key, value in record.items() if isinstance(record, dict) else inside:
        found += places(value, (*path, key))
    return found


@pytest.mark.some(1)
@pytest.mark.parametrize("sealed", [True, False])
def test_wrong_types_anywhere_in_a_record_are_reported_or_harmless(
    capsys, catalog: Catalog, sealed: bool
):
    """Also when the checksum belongs to them: another tool may have written the record."""
    made = publish(catalog, [1, 2])
    folder = catalog.folder(made.id)
    whole = (folder / manifest.NAME).read_text()
    record = json.loads(whole)
    record["origin"] = {"import": "tweets", "files": [{"name": "a"}], "params": {"a": 1}}
    for path in places(record):
        for value in WRONG:

            def change(record, path=path, value=value):
                record["origin"] = {"import": "tweets", "files": [{"name": "a"}], "params": {}}
                record["origin"]["params"]["a"] = 1
                for key in path[:-1]:
                    record = record[key]
                record[path[-1]] = value

            edit(folder, change, sealed=sealed)
            for command in ("list", "verify", "show"):
                given = [made.id] if command == "show" else []
                code = call(["data", command, *given, "--root", str(catalog.root)])
                assert code in (EXIT_OK, EXIT_USER_ERROR), (path, value, command)
            capsys.readouterr()
            (folder / manifest.NAME).write_text(whole)


def test_a_name_that_is_no_utf_8_is_listed(tmp_path: Path, catalog: Catalog):
    """In a process of its own: its streams are strict, a test's are not."""
    made = publish(catalog, [1, 2])
    named = catalog.root.with_name(os.fsdecode(b"data-\xff"))
    catalog.root.rename(named)
    record = named / made.id[:16] / manifest.NAME

    def change(record):
        record["origin"] = {"import": "tweets", "files": [{"name": os.fsdecode(b"\xfe.csv")}]}

    edit(record.parent, change, sealed=True)
    (named / ODD).mkdir()
    for command in ("list", "verify", "show"):
        given = [made.id[:8]] if command == "show" else []
        lab = [sys.executable, "-m", "streamlab", "data"]
        done = subprocess.run(
            [*lab, command, *given, "--root", os.fsencode(named)],
            capture_output=True,
            text=True,
            errors="strict",
            env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == (EXIT_USER_ERROR if command == "verify" else EXIT_OK)
        assert made.id[:16] in done.stdout


@pytest.mark.parametrize("which", ["entry", "root"])
def test_a_folder_without_read_permission_is_reported(
    capsys, monkeypatch, catalog: Catalog, which: str
):
    made = publish(catalog, [1, 2])
    monkeypatch.setenv("LAB_DATA", str(catalog.root))
    folder = catalog.root / ODD if which == "entry" else catalog.root
    folder.mkdir(exist_ok=True)
    folder.chmod(0)
    try:
        if os.access(folder, os.R_OK):
            pytest.skip("UNREADABLE FOLDERS ARE NOT TESTED: this user may read everything")
        code = call(["data", "list"])
    finally:
        folder.chmod(0o755)
    printed = capsys.readouterr()
    assert "Permission denied" in printed.err
    assert code == (EXIT_OK if which == "entry" else EXIT_USER_ERROR)
    assert (made.id[:16] in printed.out) == (which == "entry")
