"""Runs made with the real writer of results, in every shape that a report must bear."""

import json
import re
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from streamlab.reports.page import write_report
from streamlab.results.schema import VERIFIED
from streamlab.results.seal import write_sealed
from streamlab.results.store import write_table
from tests.results.records import store_meta, store_trial

META = {
    "name": "sample",
    "lab_version": "0.1.0",
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


def started(at: str) -> dict[str, Any]:
    """Return the part of a run's meta with its start."""
    return {"sessions": [{"started_at": at}]}


Maker = Callable[..., Path]
Row = dict[str, Any]
"""Columns of a row; all others are None."""


STREAMED = ("micro-batch", "file", "reading, decoding, Python, start-up")
CONDITIONS = {
    "dgs": ("block", "memory", "nothing"),
    "sequential": ("record", "memory", "Python"),
    "streaming": STREAMED,
    "batch": ("whole input", "file", "reading, decoding"),
    "cached": ("whole input", "memory", "nothing"),
    "numpy": ("whole input", "memory", "nothing"),
    "polars": ("whole input", "memory", "nothing"),
}


def conditions(variant: str, batch: int | None) -> Row:
    """Return the conditions that a variant of the lab's engines declares."""
    unit, origin, also_timed = CONDITIONS.get(variant, ("whole input", "memory", "nothing"))
    if unit == "block":
        unit = "whole input" if batch is None else "record" if batch == 1 else "block"
    return {"unit": unit, "origin": origin, "also_timed": also_timed}


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
        **conditions(variant, batch),
        "properties": json.dumps(
            {
                "PIP1": {"holds": engine != "spark", "why": "the program names no worker"},
                "PIP2": {"holds": True, "why": "input may be split at will"},
                "PIP3": {"holds": True, "why": "public interface only"},
            }
        ),
    }
    if status in VERIFIED:
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


def offered(
    engine: str = "multicore",
    *,
    rate_eps: float = 20_000.0,
    status: str = "ok",
    label: str | None = None,
    window_s: float = 60.0,
    objective: str | None = None,
    **more: object,
) -> Row:
    """One row of a trial under an offered load; numbers are there as the lab leaves them."""
    label = label or f"poisson-{rate_eps:g}"
    row = trial(engine, status=status, latency_ns=None, **more)  # type: ignore[arg-type]
    row["cell"] += f"/{label}"
    load = {
        "arrival": "poisson",
        "rate_eps": rate_eps,
        "warm_up_s": 10.0,
        "window_s": window_s,
        "seed": 1,
        "params": {},
        "objective": objective,
    }
    row |= {
        "throughput_eps": None,
        "load": json.dumps(load),
        "load_label": label,
        "arrival": "poisson",
        "warm_up_s": 10.0,
        "window_s": window_s,
        "purpose": "cell",
        "events": 1_200_000,
        "offered_eps": rate_eps * 1.001,
        "emitted_share": 0.99995,
        "send_lag_p99_ns": 23_400,
        "send_lag_max_ns": 98_700,
        "generator_ceiling_eps": 1e9,
        "backlog_slope_eps": 1.25,
        "backlog_max": 321,
        "drain_s": 0.00456,
        "latency_p50_ns": 51_200,
        "latency_p90_ns": 102_000,
        "latency_p99_ns": 613_000,
        "latency_p999_ns": 2_740_000,
        "latency_max_ns": 8_190_000,
        "latency_definition": "from the due time of the latest input to the output",
        "service_p50_ns": 1_910,
        "service_p99_ns": 7_770,
        "service_max_ns": 345_000,
    }
    return row | more


def searched(
    engine: str = "multicore",
    *,
    purpose: str,
    probe: int,
    vote: int = 1,
    rate_eps: float,
    status: str = "ok",
    **more: object,
) -> Row:
    """One row of a trial of a search."""
    return offered(
        engine,
        rate_eps=rate_eps,
        status=status,
        label="sustainable",
        purpose=purpose,
        probe=probe,
        vote=vote,
        **more,  # type: ignore[arg-type]
    )


FAILS = "backlog grows by 900 events/s, 2.25% of the rate, above 1.0%"


def a_search(engine: str = "multicore") -> tuple[list[Row], dict[str, object]]:
    """Return rows of a search between 30 and 30.6 k events/s with levels, and its part of a run's meta."""
    planned = [
        ("double", 1, 20_000.0, "pass"),
        ("double", 2, 40_000.0, "fail"),
        ("bisect", 3, 30_000.0, "pass"),
        ("bisect", 4, 30_600.0, "fail"),
        ("confirm", 5, 30_000.0, "pass"),
        ("level", 6, 3_000.0, None),
        ("level", 7, 15_000.0, None),
        ("level", 8, 28_500.0, None),
    ]
    rows, probes = [], []
    for purpose, number, rate_eps, outcome in planned:
        failed = outcome == "fail"
        rows.append(
            searched(
                engine,
                purpose=purpose,
                probe=number,
                rate_eps=rate_eps,
                status="unsustained" if failed else "ok",
                reason=FAILS if failed else None,
                repetition=number,
                latency_p50_ns=int(2_000 * rate_eps**0.4),
                latency_p99_ns=int(9_000 * rate_eps**0.5),
            )
        )
        vote = {"verdict": "fail" if failed else "pass", "reason": FAILS if failed else None}
        probes.append(
            {
                "number": number,
                "purpose": purpose,
                "rate_eps": rate_eps,
                "votes": [vote],
                "outcome": outcome,
            }
        )
    bracket = {
        "r_pass_eps": 30_000.0,
        "r_fail_eps": 30_600.0,
        "confirmed": True,
        "refuted": False,
        "reason": None,
    }
    cell = rows[0]["cell"]
    settings = {"levels": [0.1, 0.5, 0.95], "tolerance": 0.02, "votes": 3, "confirmations": 1}
    return rows, {
        "cells": {cell: {"search": settings}},
        "searches": {cell: {"over": True, "bracket": bracket, "probes": probes}},
        "complete": True,
    }


def section(page: str, name: str) -> str:
    """The section of a page; empty if it has none."""
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    return found[0] if found else ""


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Write a run with the given rows and return its directory."""

    return partial(write_run, tmp_path)


def write_run(
    folder: Path, rows: list[Row], name: str = "sample", meta: dict[str, object] | None = None
) -> Path:
    """Write a run of that name with these rows into a folder, and return its directory."""
    run_dir = folder / name
    meta = dict(META if meta is None else meta)
    for number, (cell, record) in enumerate(meta.pop("searches", {}).items()):
        content = json.dumps({"cell": cell, **record}).encode()
        write_sealed(run_dir, run_dir / "searches" / f"{number}.json", content)
    store_meta(run_dir, meta)
    for index, row in enumerate(rows):
        store_trial(run_dir, f"{index:04d}", row | {"order_index": index})
    write_table(run_dir)
    return run_dir


@pytest.fixture(scope="session")
def page_of_run(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """The page of a run with the given rows, to be read only: equal runs have one page."""
    pages: dict[str, Path] = {}

    def make(rows: list[Row], **more: Any) -> Path:
        key = json.dumps([rows, more])
        if key not in pages:
            pages[key] = write_report(write_run(tmp_path_factory.mktemp("page"), rows, **more))
        return pages[key]

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
    """Give tests the maker of rows."""
    return trial


VOID = {"meta", "br", "link", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects tags, ids, links and text, and checks that elements nest."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.text = [], [], [], [], []
        self.tables = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append((tag, values))
        if tag not in VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        if "href" in values:
            self.links.append(values["href"])
        if tag == "table":
            self.tables.append({"caption": False, "unscoped": 0})
        elif tag == "caption":
            self.tables[-1]["caption"] = True
        elif tag == "th" and "scope" not in values:
            self.tables[-1]["unscoped"] += 1

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def parse(page):
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert outline.open == []
    return outline


def words(outline):
    return " ".join(" ".join(outline.text).split())


@pytest.fixture
def shown(make_run: Maker) -> Callable[..., tuple[str, str]]:
    """Write the report of rows; return the page, and the words in it with single spaces."""

    def show(rows: list[Row], **more: object) -> tuple[str, str]:
        page = write_report(make_run(rows, **more)).read_text(encoding="utf-8")
        return page, words(parse(page))

    return show


@pytest.fixture(name="offered")
def offered_fixture() -> Callable[..., Row]:
    """Give tests the maker of rows under an offered load."""
    return offered


@pytest.fixture(name="searched")
def searched_fixture() -> Callable[..., Row]:
    """Give tests the maker of rows of a search."""
    return searched


@pytest.fixture(name="a_search")
def a_search_fixture() -> Callable[..., tuple[list[Row], dict[str, object]]]:
    """Give tests a whole search."""
    return a_search


@pytest.fixture(name="typical")
def typical_fixture() -> list[Row]:
    """Give tests the rows of a typical run."""
    return typical()
