"""Runs made with the real writer of results, in every shape that a report must bear."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from results.store import Row, write_meta, write_table, write_trial

META = {
    "name": "sample",
    "lab_version": "0.1.0",
    "started_at": "2026-11-21T08:00:00+00:00",
    "matrix_text": '[[workload]]\nname = "event_window"\nevents = 40_000_000\n',
    "complete": True,
    "host": {"cpu_model": "Sample CPU <2.6 GHz>", "cores_usable": 2, "loadavg": [0.1, 0.2, 0.3]},
    "software": {"python": "3.13.1", "packages": {"pyspark": "4.3.0"}},
    "vcs": {"commit": "0123456789abcdef", "dirty_diff_sha256": None, "reason": None},
    "datasets": {
        "event_window": {
            "id": "ab" * 32,
            "workload": "event_window",
            "origin": {"generator": "event_window", "seed": 7, "params": {"streams": 2}},
        }
    },
    "sessions": [{"started_at": "2026-11-21T08:00:00+00:00", "interrupted": False}],
}

Maker = Callable[..., Path]


def trial(
    engine: str = "multicore",
    workload: str = "event_window",
    *,
    variant: str = "dgs",
    workers: int = 1,
    batch: int | None = 4096,
    repetition: int = 1,
    status: str = "ok",
    reason: str | None = None,
    eps: float = 2e8,
    latency_ns: tuple[int, int] | None = (40_000, 900_000),
    **more: object,
) -> Row:
    """One row of the trial table, with believable numbers where the trial is ok."""
    events = 40_000_000
    name = f"{workload}/{engine}/{variant}/w{workers}" + (f"/b{batch}" if batch else "")
    row: Row = {
        "cell": name,
        "workload": workload,
        "engine": engine,
        "variant": variant,
        "workers": workers,
        "batch": batch,
        "repetition": repetition,
        "attempt": 1,
        "status": status,
        "reason": reason,
        "dataset": "ab" * 32,
        "seed": 7,
        "oversubscribed": workers > 2,
        "properties": json.dumps(
            {
                "PIP1": {"holds": engine != "spark", "why": "the program names no worker"},
                "PIP2": {"holds": True, "why": "input may be split at will"},
                "PIP3": {"holds": True, "why": "public interface only"},
            }
        ),
    }
    if status == "ok":
        row |= {
            "events": events,
            "outputs": 4_000,
            "throughput_eps": eps,
            "duration_s": events / eps,
            "cpu_s": workers * events / eps * 0.97,
            "peak_rss_bytes": 1 << 30,
            "startup_s": 0.4,
            "prepare_s": 1.1,
            "plan": f"root: barrier\n  {workers} leaves",
        }
        if latency_ns is not None:
            p50, p99 = latency_ns
            row |= {
                "latency_p50_ns": p50,
                "latency_p90_ns": (p50 + p99) // 2,
                "latency_p99_ns": p99,
                "latency_max_ns": p99 * 3,
                "latency_count": 4_000,
                "latency_definition": f"{engine}: barrier handed over to output in the sink",
            }
    return row | more


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Write a run with the given rows and return its directory."""

    def make(rows: list[Row], name: str = "sample", meta: dict[str, object] | None = None) -> Path:
        run_dir = tmp_path / name
        write_meta(run_dir, META if meta is None else meta)
        for index, row in enumerate(rows):
            write_trial(run_dir, f"{index:04d}", row | {"order_index": index})
        write_table(run_dir)
        return run_dir

    return make


def typical() -> list[Row]:
    """Three engines, three workloads, several worker counts, and one cell of every failure."""
    rows: list[Row] = []
    speed = {"event_window": 2.1e8, "page_view_join": 0.8e8, "fraud_detection": 1.1e8}
    for workload, eps in speed.items():
        for n in range(1, 4):
            jitter = 1 + 0.04 * (n - 2)
            for workers in (1, 2, 4):
                scale = min(workers, 2) * 0.93
                for batch, part in ((1, 0.06), (4096, 1.0)):
                    rate = eps * scale * part * jitter
                    many = {"workers": workers, "batch": batch, "repetition": n}
                    late = (int(2_000 + 9 * batch), int(30_000 + 200 * batch * jitter))
                    rows.append(trial("multicore", workload, eps=rate, latency_ns=late, **many))
            for workers in (1, 2):
                for variant, part in (("streaming", 0.006), ("batch", 0.02)):
                    many = {"workers": workers, "batch": None, "repetition": n}
                    rows.append(
                        trial(
                            "spark",
                            workload,
                            variant=variant,
                            eps=eps * part * workers**0.4 * jitter,
                            latency_ns=(900_000_000, 2_300_000_000)
                            if variant == "streaming"
                            else None,
                            **many,
                        )
                    )
            rows.append(
                trial(
                    "reference",
                    workload,
                    variant="sequential",
                    batch=None,
                    repetition=n,
                    eps=6e5 * jitter,
                    latency_ns=None,
                )
            )
    for status in ("wrong_output", "unsupported", "timeout", "crash", "oom", "invalid"):
        rows.append(
            trial(
                "fake",
                variant=status,
                batch=None,
                status=status,
                reason=f"reason of {status}: expected <b>1</b> & got 2",
            )
        )
    return rows


@pytest.fixture(name="trial")
def trial_fixture() -> Callable[..., Row]:
    """Give tests the maker of rows; test files cannot import this one."""
    return trial


@pytest.fixture(name="typical")
def typical_fixture() -> list[Row]:
    """Give tests the rows of a typical run."""
    return typical()
