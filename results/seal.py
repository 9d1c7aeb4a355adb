"""Seals the files of a run with SHA-256, and refuses to read a file that has changed.

`SHA256SUMS` in the run directory lists every file that the lab wrote, in the format of `sha256sum`.
`sha256sum --check SHA256SUMS` verifies a run without the lab.
The lab appends a line before it moves the file into place. A kill in between leaves an extra line, but
never a file without a line.
While a session is open, a file may have several lines and may match any of them; `compact` keeps one.
Runs of older labs have no `SHA256SUMS` and are read without a check.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamlab.results.errors import ResultsError

SEALS = "SHA256SUMS"
_ROOT_FILES = ("run.json", "trials.parquet")
_WRITTEN_BY_LAB = ("trials", "searches", "outputs")
_WRITTEN_BY_TRIALS = ("series", "logs")
_SUFFIXES = (".reconfigurations.parquet", ".parquet", ".hlog", ".log")
"""Sealed files, folders of sealed files by their writer, and suffixes of the files of one trial.

Reports and drawings have no seal: the lab can make them again from sealed files."""

_LINE = re.compile(rb"([0-9a-f]{64})  ([^\n]+)")
_LONGEST_LINE = 1 << 13
"""Longest line: a digest and a path; Linux paths have at most 4,096 bytes."""


def write_sealed(run_dir: Path, path: Path, content: bytes) -> None:
    """Write a file of a run atomically, with its seal.

    Raises:
        OSError: the write failed; an existing file of this name is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _append_seal(run_dir, path, hashlib.sha256(content).hexdigest())
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # the error of a full disk names no file
        with suppress(OSError):  # a partial file would keep the disk full
            partial.unlink()
        raise


def seal_files(run_dir: Path, *paths: Path) -> None:
    """Seal files that another process wrote; skips missing files."""
    for path in paths:
        if path.is_file():
            _append_seal(run_dir, path, _digest(path))


def move_sealed(run_dir: Path, source: Path, target: Path) -> None:
    """Seal a file under its new name, then move it there."""
    _append_seal(run_dir, target, _digest(source))
    source.replace(target)


def seal_old_run(run_dir: Path) -> None:
    """Seal the current files of a run that has no seals."""
    if not (run_dir / SEALS).exists():
        _replace_seals(
            run_dir, (_line(_name(run_dir, path), _digest(path)) for path in _files(run_dir))
        )


def compact(run_dir: Path) -> None:
    """Rewrite SHA256SUMS with one line per file, ordered by name."""
    seals = load_seals(run_dir)
    if not seals.sealed:
        return
    lines = []
    for name, digests in sorted(seals.digests.items()):
        path = run_dir / os.fsdecode(name)
        if path.is_file():
            fitting = digests if len(digests) == 1 else {_digest(path)} & digests
            lines += [_line(name, digest) for digest in fitting or digests]
    _replace_seals(run_dir, lines)


def read_sealed(run_dir: Path, path: Path, seals: "Seals | None" = None) -> bytes:
    """Read a file of a run and check it against its seal.

    Callers that read many files pass `seals` from `load_seals`.

    Raises:
        OSError: the file cannot be read.
        ResultsError: the file has changed, or has no seal.
    """
    content = path.read_bytes()
    seals = load_seals(run_dir) if seals is None else seals
    if seals.sealed:
        _check_digest(run_dir, path, hashlib.sha256(content).hexdigest(), seals)
    return content


def verify_run(run_dir: Path) -> None:
    """Check all files of a run, also files that no report reads.

    Skips series and logs without a trial record: interrupted trials leave such files, and the log of an
    oracle grows with each session.

    Raises:
        ResultsError: a file has changed or has no seal; the message names it.
    """
    seals = load_seals(run_dir)
    for path in _files(run_dir) if seals.sealed else ():
        is_trial_file = path.parent.name in _WRITTEN_BY_TRIALS
        if not is_trial_file or _record_of(run_dir, path).exists():
            _check_digest(run_dir, path, _digest(path), seals)


def _files(run_dir: Path) -> Iterator[Path]:
    yield from (path for name in _ROOT_FILES if (path := run_dir / name).is_file())
    for folder in (*_WRITTEN_BY_LAB, *_WRITTEN_BY_TRIALS):
        for path in sorted((run_dir / folder).glob("*")):
            if path.is_file() and path.suffix not in (".partial", ".attempt"):
                yield path


@dataclass(frozen=True, slots=True, kw_only=True)
class Seals:
    """The seals of a run.

    Attributes:
        digests: digests of each sealed file, by name; a file may have several while a session is open.
        sealed: whether the run has seals; False for a run of an older lab.
    """

    digests: Mapping[bytes, set[str]]
    sealed: bool = True


def load_seals(run_dir: Path) -> Seals:
    """Return the seals of a run.

    Raises:
        ResultsError: a line of SHA256SUMS is damaged.
    """
    try:
        content = (run_dir / SEALS).read_bytes()
    except FileNotFoundError:
        return Seals(digests={}, sealed=False)
    seals: dict[bytes, set[str]] = {}
    # A kill may leave a partial line at the end.
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        match = _LINE.fullmatch(line)
        if match is None or not _is_run_file(match[2]):
            raise ResultsError(
                f"{run_dir / SEALS} is damaged: line {number} is not a SHA-256 and a file of a "
                f"run; take it from a copy, or remove {SEALS} and the run is read unverified"
            )
        seals.setdefault(match[2], set()).add(match[1].decode())
    return Seals(digests=seals)


def _is_run_file(name: bytes) -> bool:
    folder, slash, _ = os.fsdecode(name).partition("/")
    return folder in (*_WRITTEN_BY_LAB, *_WRITTEN_BY_TRIALS) if slash else folder in _ROOT_FILES


def _check_digest(run_dir: Path, path: Path, digest: str, seals: Seals) -> None:
    digests = seals.digests.get(_name(run_dir, path))
    if digests is None:
        raise ResultsError(
            f"{path} has no line in {SEALS}, so it may not be what the lab wrote; "
            f"{remedy(run_dir, path)}"
        )
    if digest not in digests:
        raise ResultsError(
            f"{path} is damaged: its SHA-256 is {digest[:12]}..., {SEALS} has "
            f"{', '.join(sorted(sealed[:12] for sealed in digests))}...; {remedy(run_dir, path)}"
        )


def remedy(run_dir: Path, path: Path) -> str:
    """Return advice on how to restore a damaged file of a run."""
    if path.name == "run.json" and path.parent == run_dir:
        return "take it from a copy of the run, or run the matrix again"
    if path.name == "trials.parquet" and path.parent == run_dir:
        return f"remove it, and `lab run --resume {run_dir}` writes it again"
    if path.parent.name == "outputs":
        return "take it from a copy of the run, or remove it"
    if path.parent.name in _WRITTEN_BY_LAB:
        return f"remove it, and `lab run --resume {run_dir}` makes it again"
    return (
        f"take it from a copy of the run, or remove it and trials/{_record_of(run_dir, path).name}"
        f", and `lab run --resume {run_dir}` repeats the trial"
    )


def _record_of(run_dir: Path, path: Path) -> Path:
    """Return the path of the trial record that belongs to a series or a log."""
    suffix = next((suffix for suffix in _SUFFIXES if path.name.endswith(suffix)), path.suffix)
    return run_dir / "trials" / f"{path.name.removesuffix(suffix)}.json"


def _append_seal(run_dir: Path, path: Path, digest: str) -> None:
    """Append a seal durably, after removing a partial line that a kill left."""
    line = _line(_name(run_dir, path), digest)
    file = os.open(run_dir / SEALS, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        size = os.lseek(file, 0, os.SEEK_END)
        tail = os.pread(file, min(size, _LONGEST_LINE), max(0, size - _LONGEST_LINE))
        end = size - (len(tail) - 1 - tail.rfind(b"\n"))
        os.ftruncate(file, end)
        os.pwrite(file, line, end)
        os.fsync(file)
    finally:
        os.close(file)


def _replace_seals(run_dir: Path, lines: Iterable[bytes]) -> None:
    partial = run_dir / f"{SEALS}.partial"
    with partial.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(run_dir / SEALS)


def _line(name: bytes, digest: str) -> bytes:
    return digest.encode() + b"  " + name + b"\n"


def _name(run_dir: Path, path: Path) -> bytes:
    return os.fsencode(path.relative_to(run_dir))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
