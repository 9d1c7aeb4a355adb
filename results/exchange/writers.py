"""Writes the verified cells of a run in the formats of other tools.

CSV has every trial. Other formats have one benchmark per cell, with the times of its fresh processes.
A time is the length of the timed part, and rates are in events/s. This time says nothing about a cell under a load:
Bencher's metric format has the latencies of such cells, and other formats leave such cells out.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean, median, quantiles, stdev

from streamlab.json_value import JsonObject, JsonValue
from streamlab.results.exchange.pytest_benchmark_file import FRESH_PROCESSES
from streamlab.results.query import CellSummary, Spread, by_cell
from streamlab.results.schema import MEASURED
from streamlab.results.stats.intervals import median_interval
from streamlab.results.store import Run
from streamlab.results.table import csv_of

_MS_PER_S = 1e3
_MEASURES = {
    "latency": "latency_p50_ns",
    "latency-p99": "latency_p99_ns",
    "peak-memory": "peak_rss_bytes",
}


def write_form(run: Run, form: str) -> tuple[bytes, list[str]]:
    """Return a run as a file in `csv` or one of FORMS, and the omitted cells with reasons."""
    cells = by_cell(run.rows)
    if form == "csv":
        return csv_of(run.rows), []
    make_content, needs_time = FORMS[form]
    left_out = {
        cell.cell: reason for cell in cells if (reason := _explain_omission(cell, needs_time))
    }
    exported = [cell for cell in cells if cell.cell not in left_out]
    content = json.dumps(make_content(run, exported), indent=1) + "\n"
    return content.encode(), [f"{cell}: {reason}" for cell, reason in left_out.items()]


def _explain_omission(cell: CellSummary, needs_time: bool) -> str | None:
    """Return why a cell is left out; None if the cell is exported."""
    if cell.status not in MEASURED:
        return cell.status
    if needs_time and cell.rows[0].load is not None:
        return "an offered load, whose time says nothing about the engine"
    return None if cell.spread("duration_s") else "no time"


def _bmf(run: Run, cells: Sequence[CellSummary]) -> JsonObject:
    """Return Bencher's metric format: medians with their 95 % interval, or their range for few processes."""
    content: dict[str, JsonValue] = {}
    for cell in cells:
        rate = None if cell.rows[0].load else cell.spread("throughput_eps")
        spreads = {"throughput": rate} | {
            measure: cell.spread(column) for measure, column in _MEASURES.items()
        }
        content[cell.cell] = {
            measure: _bmf_metric(spread) for measure, spread in spreads.items() if spread
        }
    return content


def _bmf_metric(spread: Spread) -> dict[str, float]:
    interval = median_interval(spread.values)
    low, high = (interval.low, interval.high) if interval else (spread.low, spread.high)
    return {"value": spread.median, "lower_value": low, "upper_value": high}


def _google_benchmark(run: Run, cells: Sequence[CellSummary]) -> JsonObject:
    """Return Google Benchmark's JSON: an entry per process."""
    benchmarks: list[JsonValue] = [
        {
            "name": cell.cell,
            "family_index": position,
            "per_family_instance_index": 0,
            "run_name": cell.cell,
            "run_type": "iteration",
            "repetitions": len(cell.rows),
            "repetition_index": index,
            "threads": cell.workers,
            "iterations": 1,
            "real_time": (row.duration_s or 0.0) * _MS_PER_S,
            "cpu_time": (row.cpu_s or 0.0) * _MS_PER_S,
            "time_unit": "ms",
            "fresh_process": 1.0,
            **({"items_per_second": row.throughput_eps} if row.throughput_eps else {}),
        }
        for position, cell in enumerate(cells)
        for index, row in enumerate(cell.rows)
    ]
    host = run.meta.host
    return {
        "context": {
            "date": _start(run),
            "host_name": "",
            "executable": f"stream-lab {run.meta.lab_version or ''}".strip(),
            "num_cpus": host.get("cores_usable") or 0,
            "mhz_per_cpu": 0,
            "cpu_scaling_enabled": False,
            "caches": [],
            "load_avg": host.get("loadavg") or [],
            "library_build_type": "release",
        },
        "benchmarks": benchmarks,
    }


def _hyperfine(run: Run, cells: Sequence[CellSummary]) -> JsonObject:
    """Return hyperfine's JSON: a result per cell."""
    results: list[JsonValue] = []
    for cell in cells:
        times = [row.duration_s for row in cell.rows if row.duration_s is not None]
        results.append(
            {
                "command": cell.cell,
                "mean": mean(times),
                "stddev": stdev(times) if len(times) > 1 else None,
                "median": median(times),
                "user": _mean(row.user_s for row in cell.rows),
                "system": _mean(row.system_s for row in cell.rows),
                "min": min(times),
                "max": max(times),
                "times": times,
                "memory_usage_byte": [row.peak_rss_bytes or 0 for row in cell.rows],
                "exit_codes": [0] * len(times),
            }
        )
    return {"results": results}


def _pytest_benchmark(run: Run, cells: Sequence[CellSummary]) -> JsonObject:
    """Return pytest-benchmark's JSON: a benchmark per cell, with fresh processes as rounds."""
    vcs, host = run.meta.vcs, run.meta.host
    return {
        "machine_info": {
            "node": "",
            "processor": "",
            "machine": host.get("architecture") or "",
            "python_implementation": run.meta.software.implementation or "",
            "python_version": run.meta.software.python or "",
            "system": host.get("os") or "",
            "cpu": {"brand_raw": host.get("cpu_model"), "count": host.get("cores_usable")},
        },
        "commit_info": {
            "id": vcs.commit,
            "time": None,
            "author_time": None,
            "dirty": vcs.dirty_diff_sha256 is not None,
            "project": "",
            "branch": "",
        },
        "benchmarks": [_pytest_entry(cell) for cell in cells],
        "datetime": _start(run),
        "version": "5.1.0",
    }


def _pytest_entry(cell: CellSummary) -> JsonObject:
    return {
        "group": cell.workload,
        "name": cell.cell,
        "fullname": cell.cell,
        "params": None,
        "param": None,
        "extra_info": {FRESH_PROCESSES: True},
        "options": {
            "disable_gc": False,
            "timer": "perf_counter",
            "min_rounds": len(cell.rows),
            "max_time": 0.0,
            "min_time": 0.0,
            "warmup": False,
        },
        "stats": _pytest_stats([row.duration_s for row in cell.rows if row.duration_s is not None]),
    }


def _pytest_stats(times: Sequence[float]) -> JsonObject:
    """Return the statistics that pytest-benchmark computes for rounds."""
    ordered = sorted(times)
    q1, _, q3 = quantiles(ordered, n=4, method="inclusive") if len(times) > 1 else ordered * 3
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    centre, spread = mean(times), stdev(times) if len(times) > 1 else 0.0
    beyond_sd = sum(abs(value - centre) > spread for value in times)
    beyond_fences = sum(not low <= value <= high for value in times)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": centre,
        "stddev": spread,
        "rounds": len(times),
        "median": median(times),
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": beyond_fences,
        "stddev_outliers": beyond_sd,
        "outliers": f"{beyond_sd};{beyond_fences}",
        "ld15iqr": min(value for value in ordered if value >= low),
        "hd15iqr": max(value for value in ordered if value <= high),
        "ops": 1 / centre,
        "total": sum(times),
        "data": list(times),
        "iterations": 1,
    }


def _mean(values: Iterable[float | None]) -> float:
    numbers = [value for value in values if value is not None]
    return mean(numbers) if numbers else 0.0


def _start(run: Run) -> str:
    return (run.meta.sessions[0].started_at if run.meta.sessions else None) or ""


FORMS: Mapping[str, tuple[Callable[[Run, Sequence[CellSummary]], JsonObject], bool]] = {
    "bmf": (_bmf, False),
    "google-benchmark": (_google_benchmark, True),
    "pytest-benchmark": (_pytest_benchmark, True),
    "hyperfine": (_hyperfine, True),
}
"""For each form, the function that makes its JSON, and whether the form needs a time for each cell."""
