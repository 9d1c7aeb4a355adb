"""Makes a run from files of another tool: one unchecked trial per process."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlab.results.errors import ResultsError
from streamlab.results.exchange.external_file import ExternalFile, ExternalTrial
from streamlab.results.exchange.readers import find_files, read_external
from streamlab.results.fingerprints import fingerprint
from streamlab.results.machines import compare_machines
from streamlab.results.meta import Revision, RunMeta, SessionRecord
from streamlab.results.row_conversion import escape_text
from streamlab.results.schema import CRASH, IMPORTED, UNCHECKED, TrialRow
from streamlab.results.store import make_row


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalRun:
    """A run to store; its cells are the benchmarks."""

    meta: RunMeta
    rows: tuple[TrialRow, ...]


def read_external_run(sources: Sequence[Path], *, now: str, name: str | None) -> ExternalRun:
    """Read files of one tool and one machine as a run; several files are several processes.

    `now` is the time of the import, ISO 8601; `name` is the run's name, by default the name of the tool.

    Raises:
        ResultsError: a file cannot be read, or the files differ in tool, machine or commit.
    """
    paths = [file for source in sources for file in find_files(source)]
    files = [read_external(path) for path in paths]
    _check_same_source(paths, files)
    for path, file in zip(paths, files, strict=True):
        if not any(file.trials.values()):
            raise ResultsError(f"{path}: it has no benchmark; run the benchmarks again")
    first = files[0]
    rows = tuple(_make_rows(first.tool, files))
    return ExternalRun(
        meta=RunMeta(
            name=first.tool if name is None else name,
            vcs=Revision(
                commit=first.commit,
                reason=None if first.commit else f"the file of {first.tool} has no commit",
            ),
            host=first.host,
            cells={row.cell: {"tool": first.tool} for row in rows},
            sessions=[SessionRecord(started_at=first.started_at or now, interrupted=False)],
            complete=True,
            imported={"tool": first.tool, "files": [escape_text(p.name) for p in paths], "at": now},
        ),
        rows=rows,
    )


def _check_same_source(paths: Sequence[Path], files: Sequence[ExternalFile]) -> None:
    first = files[0]
    for path, file in zip(paths, files, strict=True):
        unlike = compare_machines(first.host, file.host).decisive
        differences = [
            (name, old, new)
            for name, old, new in (
                ("tool", first.tool, file.tool),
                ("commit", first.commit, file.commit),
                *((f"host.{field.name}", field.old, field.new) for field in unlike),
            )
            if old != new
        ]
        for name, old, new in differences:
            raise ResultsError(
                f"{name} is {old!r} in {paths[0]}, {new!r} in {path}: one import makes one run; "
                "import them one by one"
            )


def _make_rows(tool: str, files: Sequence[ExternalFile]) -> Iterator[TrialRow]:
    repetitions: dict[str, int] = {}
    order = 0
    for file in files:
        for name, trials in file.trials.items():
            for trial in trials:
                repetitions[name] = repetitions.get(name, 0) + 1
                columns = {
                    "cell": escape_text(name),
                    "workload": escape_text(name),
                    "engine": tool,
                    "variant": "",
                    "workers": 1,
                    "repetition": repetitions[name],
                    "order_index": order,
                    "checked_by": UNCHECKED,
                    "fingerprint": fingerprint({"tool": tool, "benchmark": name}),
                    **_measured_columns(trial),
                }
                yield make_row(name, columns)
                order += 1


def _measured_columns(trial: ExternalTrial) -> Mapping[str, object]:
    if trial.seconds is None:
        return {"status": CRASH, "reason": escape_text(trial.failure)}
    return {
        "status": IMPORTED,
        "events": trial.events,
        "duration_s": trial.seconds,
        "throughput_eps": trial.events / trial.seconds,
        "cpu_s": trial.cpu_s,
        "peak_rss_bytes": trial.peak_rss_bytes,
        "latency_p50_ns": trial.latency_p50_ns,
        "latency_p99_ns": trial.latency_p99_ns,
    }
